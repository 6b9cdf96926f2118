"""The transcript as text for a summarizer: labelled records, one per message, put inside a fence.

A record starts with its handle, `[m12 human]`; calls and results carry `m13.1`, message and part, so that parallel
calls stay apart. Text inside a record cannot open a record of its own, and no text can close the fence around it.
Media and base64 stand there by their names, kind, size and digest: the same picture twice has one name.
Secrets are masked before a long part is cut and before blocks are split, so that no half of one is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from offturn_engine.groups import Pairs, pair, spans
from offturn_engine.mask import Masked, mask_each
from offturn_engine.media import known, without_encoded
from offturn_engine.messages import (
    Edit,
    MediaPart,
    Message,
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from offturn_engine.path import Path
from offturn_engine.tokens import estimate_text

NAME = 80  # characters of a tool's name
NAMED = 20  # images and documents of one result
LONGEST = 12_000
"""Characters of one part that are shown; of a longer one the first two thirds and the last third of this."""

PAGE = 64 * 1024  # characters that are masked at once, and one unit more

_LABEL = re.compile(r"^([^\w\n\[]*)(?=\[m\d|(?:call|result) (?:m\d|of an ))", re.MULTILINE)
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(", ", ": ")
)  # one for all: made anew it costs more than it does
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")
_STATUS: Mapping[bool | None, str] = {True: " failed", False: " ok", None: ""}


@dataclass(frozen=True, slots=True)
class Block:
    """Records of one indivisible unit, seqs half-open. `text` ends in a line break; joined blocks are the text.

    `masked`: secrets taken out of it; `messages`: how many it holds.
    """

    seq_low: int
    seq_high: int
    text: str
    tokens: int
    masked: int = 0
    messages: int = 0


def serialise(
    messages: Sequence[Message], edits: Mapping[tuple[int, int], Edit], *, result_characters: int | None = None
) -> Iterator[Block]:
    """One block per unit (a lone message, or calls with their results). `edits` by (seq, part): shown as edited.

    result_characters: of one result, at most `LONGEST`. Made as they are asked for, a page of them at a time.
    """
    writer = _Writer(
        Path.of(messages), edits, LONGEST if result_characters is None else min(result_characters, LONGEST)
    )
    units: list[tuple[int, int]] = []
    texts: list[str] = []
    size = 0
    for low, high in spans(writer.messages):
        units.append((low, high))
        for text in writer.texts(low, high):
            texts.append(text)
            size += len(text)
        if size >= PAGE:
            yield from writer.blocks(units, texts)
            units, texts, size = [], [], 0
    yield from writer.blocks(units, texts)


def text_of(blocks: Iterable[Block]) -> str:
    """The text of a chunk."""
    return "".join(block.text for block in blocks)


def fence(kind: str, text: str) -> str:
    """The text between two lines that hold a hash of it: whoever wrote the text cannot have known them."""
    text = clean(text).rstrip("\n")
    mark = _mark(text)
    while mark in text:
        mark = _mark(mark + text)
    return f"<<<{kind} {mark}\n{text}\n{mark} {kind}>>>"


def clean(text: str) -> str:
    """The text with one kind of line break, without NUL and lone surrogates, which no provider accepts."""
    if "\0" in text or not (text.isascii() or _sendable(text)):
        text = _UNSENDABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return "\n".join(text.splitlines())


def _sendable(text: str) -> bool:
    """Has it no lone surrogate? To encode it says so many times as fast as `re`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mark(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


class _Writer:
    """Blocks of one list. `results`: characters of a result."""

    def __init__(self, messages: Path, edits: Mapping[tuple[int, int], Edit], results: int) -> None:
        self.messages = messages
        self._edits = edits
        self._results = results
        self._pairs: Pairs = pair(messages)

    def texts(self, low: int, high: int) -> Iterator[str]:
        """What the parts of one unit say, before it is masked."""
        for message in self.messages[low:high]:
            for i, part in enumerate(message.parts):
                yield clean(_shown(part, self._edits.get((message.seq, i))))

    def blocks(self, units: Sequence[tuple[int, int]], texts: Sequence[str]) -> Iterator[Block]:
        """One for each unit, of the texts of them all."""
        masked = iter(mask_each(texts))
        for low, high in units:
            records: list[str] = []
            count = 0
            for i in range(low, high):
                count += self._record(i, masked, records)
            text = "".join(records)
            seqs = [message.seq for message in self.messages[low:high]]
            yield Block(min(seqs), max(seqs) + 1, text, estimate_text(text), count, len(seqs))

    def _record(self, index: int, masked: Iterator[Masked], records: list[str]) -> int:
        """Add the record of one message; the secrets taken out of it."""
        message = self.messages[index]
        count = 0
        lines = [f"[m{message.seq} {message.origin}]"]
        for i, (part, shown) in enumerate(zip(message.parts, masked, strict=False)):  # those of the next come after
            count += shown.count
            text = shown.text
            if len(text) > (most := self._results if isinstance(part, ToolResultPart) else LONGEST):
                text = _clip(text, most)
            if "[m" in text or "call " in text or "result " in text:  # without these `_LABEL` finds nothing
                text = _LABEL.sub(r"\1\\", text)
            if isinstance(part, ToolCallPart | ToolResultPart):
                text = self._head((index, i), part) + text
            if text:
                lines.append(text)
        records.append("\n".join(lines) + "\n\n")
        return count

    def _head(self, place: tuple[int, int], part: ToolCallPart | ToolResultPart) -> str:
        """What precedes a part's text: which call, or whose result."""
        if isinstance(part, ToolCallPart):
            return f"call {self._handle(place)} {_name(part.name)} "
        call = self._pairs.call_of.get(place)
        status = _STATUS[part.is_error]
        if call is None:
            return f"result of an unknown call{status}:\n"
        made = self.messages[call[0]].parts[call[1]]
        name = _name(made.name) if isinstance(made, ToolCallPart) else "call"
        return f"result {self._handle(call)} {name}{status}:\n"

    def _handle(self, place: tuple[int, int]) -> str:
        return f"m{self.messages[place[0]].seq}.{place[1]}"


def _name(name: str) -> str:
    """A tool's name on one line: it is the model's text, so it may hold anything."""
    plain = len(name) <= NAME and name.isascii() and name.isidentifier()
    return name if plain else " ".join(clean(name).split())[:NAME]


def _shown(part: Part, edit: Edit | None) -> str:
    match part:
        case TextPart(text):
            return without_encoded(text if edit is None or edit.text is None else edit.text)
        case ToolResultPart():
            text = without_encoded(part.text if edit is None or edit.text is None else edit.text)
            if not part.media and not part.attached:
                return text
            named = [f"({known(one)})" for one in part.attached[:NAMED]] or ["(media)"] * min(part.media, NAMED)
            return "\n".join(filter(None, (text, " ".join(named))))
        case ToolCallPart():
            return _arguments(part, edit)
        case ThinkingPart():
            return "(reasoning not shown)"
        case MediaPart():
            return f"({known(part)})"
        case OpaquePart(kind):
            return f"({kind})"


def _arguments(call: ToolCallPart, edit: Edit | None) -> str:
    value = call.arguments if edit is None or edit.arguments is None else edit.arguments
    text = call.source if value is None else _ENCODER.encode(value)
    return without_encoded(text)


def _clip(text: str, most: int) -> str:
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n(... {len(text) - head - tail} characters omitted ...)\n{text[len(text) - tail :]}"
