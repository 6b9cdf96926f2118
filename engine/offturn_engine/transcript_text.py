"""The transcript as text for a summarizer: labelled records, one per message, put inside a fence.

A record starts with its handle, `[m12 human]`; calls and results carry `m13.1`, message and part, so that parallel
calls stay apart. Text inside a record cannot open a record of its own, and no text can close the fence around it.
Media and base64 stand there by their names, kind, size and digest: the same picture twice has one name.
Secrets are masked before a long part is cut and before blocks are split, so that no half of one is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from offturn_engine.groups import Pairs, pair, spans
from offturn_engine.mask import Masked, mask
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
from offturn_engine.tokens import estimate_text

NAMED = 20  # images and documents of one result
LONGEST = 12_000
"""Characters of one part that are shown; of a longer one the first two thirds and the last third of this."""

_LABEL = re.compile(r"^([^\w\n\[]*)(?=\[m\d|(?:call|result) (?:m\d|of an ))", re.MULTILINE)
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
) -> list[Block]:
    """One block per unit (a lone message, or calls with their results). `edits` by (seq, part): shown as edited.

    result_characters: of one result, at most `LONGEST`.
    """
    pairs = pair(messages)
    most = LONGEST if result_characters is None else min(result_characters, LONGEST)
    records = [_record(messages, i, pairs, edits, most) for i in range(len(messages))]
    return [_block(messages[low:high], records[low:high]) for low, high in spans(messages, pairs)]


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
    return "\n".join(_UNSENDABLE.sub("\N{REPLACEMENT CHARACTER}", text).splitlines())


def _mark(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _block(messages: Sequence[Message], records: Sequence[Masked]) -> Block:
    text = "".join(record.text for record in records)
    seqs = [message.seq for message in messages]
    masked = sum(record.count for record in records)
    return Block(min(seqs), max(seqs) + 1, text, estimate_text(text), masked, len(messages))


def _record(
    messages: Sequence[Message], index: int, pairs: Pairs, edits: Mapping[tuple[int, int], Edit], results: int
) -> Masked:
    message = messages[index]
    count = 0
    lines = [f"[m{message.seq} {message.origin}]"]
    for i, part in enumerate(message.parts):
        shown = mask(clean(_shown(part, edits.get((message.seq, i)))))
        count += shown.count
        text = _clip(shown.text, results if isinstance(part, ToolResultPart) else LONGEST)
        lines.append(_head(messages, (index, i), part, pairs) + _LABEL.sub(r"\1\\", text))
    return Masked("\n".join(line for line in lines if line) + "\n\n", count)


def _head(messages: Sequence[Message], place: tuple[int, int], part: Part, pairs: Pairs) -> str:
    """What precedes a part's text: which call, or whose result."""
    if isinstance(part, ToolCallPart):
        return f"call {_handle(messages, place)} {_name(part)} "
    if not isinstance(part, ToolResultPart):
        return ""
    call = pairs.call_of.get(place)
    status = _STATUS[part.is_error]
    if call is None:
        return f"result of an unknown call{status}:\n"
    made = messages[call[0]].parts[call[1]]
    name = _name(made) if isinstance(made, ToolCallPart) else "call"
    return f"result {_handle(messages, call)} {name}{status}:\n"


def _handle(messages: Sequence[Message], place: tuple[int, int]) -> str:
    return f"m{messages[place[0]].seq}.{place[1]}"


def _name(call: ToolCallPart) -> str:
    """The tool's name on one line: it is the model's text, so it may hold anything."""
    return " ".join(clean(call.name).split())[:80]


def _shown(part: Part, edit: Edit | None) -> str:
    match part:
        case TextPart(text):
            return without_encoded(text if edit is None or edit.text is None else edit.text)
        case ToolResultPart():
            text = without_encoded(part.text if edit is None or edit.text is None else edit.text)
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
    text = call.source if value is None else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return without_encoded(text)


def _clip(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n(... {len(text) - head - tail} characters omitted ...)\n{text[len(text) - tail :]}"
