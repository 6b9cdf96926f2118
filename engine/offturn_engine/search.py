"""Search: which parts of a log hold some words, the best first. No index is kept: every search reads the texts anew.

A query is words, and phrases in quotes. Words are matched anywhere in a text, whatever their case and accents, so that
`config` finds `parse_config` and no language needs its words told apart; of scripts without spaces every two characters
next to each other are a word. Places rank by BM25 over them. A place that holds more of the quoted phrases ranks before
all that hold fewer; of these one that holds them just as they were typed, and of these a tool's result, because results
are what views leave out. Without quotes the whole query is looked for as one phrase, too.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from offturn_engine.handles import handle, text_behind
from offturn_engine.messages import Json, Message, Origin, Part, Role, ToolCallPart, ToolResultPart

LONGEST_QUERY = 1_000  # characters
MOST_WORDS = 32  # of a query; the rarest ones decide anyhow
SNIPPET = 240  # characters of a hit's text
BEFORE = 80  # of them before what was found
PIECE = 50_000  # characters that are folded in one go, while no other thread runs
K1, B = 1.2, 0.75  # the usual constants of BM25

_QUOTED = re.compile(r'"([^"]+)"|\u201c([^\u201d]+)\u201d|\u00ab([^\u00bb]+)\u00bb|\u300c([^\u300d]+)\u300d')
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORDS = re.compile(f"[{_SPACELESS}]+|[^\\W{_SPACELESS}]+")
_SPACELESS_RUN = re.compile(f"[{_SPACELESS}]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One place that was found. `handle` names it for `recall`; `seq` is its message's.

    `snippet`: what stands around the first word or phrase found, on one line, at most `SNIPPET` characters and two `…`;
    `at`: about where in the part's text that is, in characters.
    `score`: of this search alone, higher is better. `on_path`: the session still shows the message, or accounts for it.
    """

    handle: str
    seq: int
    role: Role
    origin: Origin
    snippet: str
    score: float
    at: int = 0
    on_path: bool = True


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for, folded: `phrases` were quoted, `whole` is an unquoted query of several words.

    `literal`: phrases and whole as they were typed.
    """

    phrases: tuple[str, ...]
    whole: str
    words: tuple[str, ...]
    literal: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Query:
        """From what was typed."""
        quoted = tuple(next(filter(None, groups)) for groups in _QUOTED.findall(text))
        phrases = tuple(p for p in dict.fromkeys(_plain(q) for q in quoted) if p)
        rest = _plain(_QUOTED.sub(" ", text))
        words = tuple(dict.fromkeys(_split(rest)))[:MOST_WORDS]
        whole = rest if not phrases and len(words) > 1 else ""
        literal = quoted or ((text.strip(),) if whole else ())
        return cls(phrases, whole, words or (() if phrases or not rest else (rest,)), literal)

    @property
    def terms(self) -> tuple[str, ...]:
        """All that is counted."""
        return (*self.phrases, *((self.whole,) if self.whole else ()), *self.words)


@dataclass(frozen=True, slots=True)
class _Place:
    message: Message
    part: int
    counts: tuple[int, ...]
    length: int


def search(
    log: Sequence[Message],
    text: str,
    *,
    limit: int = 10,
    skip: Collection[int] = (),
    path: Collection[int] | None = None,
    without: str = "",
) -> list[Hit]:
    """The best places, at most `limit`. Nothing is found for a text without a word.

    skip: seqs that are left out. path: seqs the session shows; None: all of the log. without: the name of a tool whose
    calls and results are left out.
    """
    query = Query.read(text)
    if not query.terms:
        return []
    matchers = [_counter(term) for term in query.terms]
    found: list[_Place] = []
    total = size = 0
    for message, part in _places(log, skip, without):
        words = _fold(searchable(message, part))
        total, size = total + 1, size + len(words)
        counts = tuple(count(words) for count in matchers)
        if any(counts):
            found.append(_Place(message, part, counts, len(words)))
    scored = _scored(found, total, size / total if total else 1.0)
    ranked = sorted(scored, key=lambda pair: _rank(query, *pair), reverse=True)
    return [_hit(query, place, score, path) for place, score in ranked[:limit]]


def searchable(message: Message, part: int) -> str:
    """The text of a part as it is searched: of a call the values it was given, not their JSON, whose escapes hide words."""
    body = message.parts[part]
    if isinstance(body, ToolCallPart) and body.arguments is not None:
        return "\n".join([body.name, *_leaves(body.arguments)])
    return text_behind(message, part)


def _places(log: Iterable[Message], skip: Collection[int], without: str) -> Iterable[tuple[Message, int]]:
    own: set[str] = set()
    for message in log:
        if message.seq in skip:
            continue
        for part, body in enumerate(message.parts):
            if without and _is_of(body, without, own):
                continue
            yield message, part


def _is_of(body: Part, tool: str, calls: set[str]) -> bool:
    """Is this a call of the tool, or the result of one? `calls` are the ids of its calls that nobody has answered yet."""
    if isinstance(body, ToolCallPart):
        calls.discard(body.id)
        if asks := body.name == tool or _command(body) == tool:
            calls.add(body.id)
        return asks
    return isinstance(body, ToolResultPart) and body.call_id in calls


def _command(call: ToolCallPart) -> str:
    """The first word of a shell's command: where tools are called by text, a model may call one so."""
    command = call.arguments.get("command") if isinstance(call.arguments, dict) else None
    return next(iter(command.split(maxsplit=1)), "") if isinstance(command, str) else ""


def _leaves(value: Json) -> Iterable[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value if isinstance(value, str) else str(value)


def _scored(found: Sequence[_Place], total: int, mean: float) -> list[tuple[_Place, float]]:
    terms = len(found[0].counts) if found else 0
    holding = [sum(1 for place in found if place.counts[i]) for i in range(terms)]
    weights = [math.log(1 + (total - n + 0.5) / (n + 0.5)) for n in holding]

    def score(place: _Place) -> float:
        damp = K1 * (1 - B + B * place.length / max(mean, 1.0))
        return sum(w * n * (K1 + 1) / (n + damp) for w, n in zip(weights, place.counts, strict=True) if n)

    return [(place, score(place)) for place in found]


def _rank(query: Query, place: _Place, score: float) -> tuple[int, int, bool, float, int]:
    exact = sum(1 for n in place.counts[: len(query.phrases) + bool(query.whole)] if n)
    if not exact:
        return 0, 0, False, score, place.message.seq
    text = searchable(place.message, place.part)
    typed = sum(1 for phrase in query.literal if phrase in text)
    return exact, typed, isinstance(place.message.parts[place.part], ToolResultPart), score, place.message.seq


def _hit(query: Query, place: _Place, score: float, path: Collection[int] | None) -> Hit:
    message, part = place.message, place.part
    term = next(term for term, n in zip(query.terms, place.counts, strict=True) if n)
    text = searchable(message, part)
    at = _position(text, term)
    return Hit(
        handle=handle(message.seq, part if len(message.parts) > 1 else None),
        seq=message.seq,
        role=message.role,
        origin=message.origin,
        snippet=_snippet(text, at),
        score=round(score, 4),
        at=at,
        on_path=path is None or message.seq in path,
    )


def _position(text: str, term: str) -> int:
    folded = _fold(text)
    match = _pattern(term).search(folded)
    at = match.start() if match else 0
    same = len(folded) == len(text)  # else a letter became two, or two became one
    return at if same else at * len(text) // max(len(folded), 1)


def _snippet(text: str, at: int) -> str:
    low = max(0, at - BEFORE)
    line = " ".join(text[low : low + 4 * SNIPPET].split())[:SNIPPET]
    more = low + SNIPPET < len(text)
    return f"{'…' if low else ''}{line}{'…' if more else ''}"


def _plain(text: str) -> str:
    return " ".join(_fold(text).split())


def _fold(text: str) -> str:
    """Without case and accents."""
    if text.isascii():
        return text.lower()
    pieces = (text[i : i + PIECE] for i in range(0, len(text), PIECE))
    bare = (_ACCENTS.sub("", unicodedata.normalize("NFKD", piece.casefold())) for piece in pieces)
    return "".join(unicodedata.normalize("NFKC", piece) for piece in bare)


def _split(text: str) -> Iterable[str]:
    """Words, and what stands between blanks where that is more: `12.4`, `src/app.py`."""
    for piece in text.split():
        runs = _WORDS.findall(piece)
        bare = piece[piece.find(runs[0]) : piece.rfind(runs[-1]) + len(runs[-1])] if runs else ""
        if len(runs) > 1 and not _SPACELESS_RUN.search(bare):
            yield bare
        for run in runs:
            if len(run) > 2 and _SPACELESS_RUN.fullmatch(run):
                yield from (run[i : i + 2] for i in range(len(run) - 1))
            else:
                yield run


def _pattern(term: str) -> re.Pattern[str]:
    """The term, whatever white space stands where it has a space."""
    return re.compile(r"\s+".join(re.escape(word) for word in term.split(" ")))


def _counter(term: str) -> Callable[[str], int]:
    """How often a folded text holds the term."""
    if " " not in term:
        return lambda text: text.count(term)
    words, pattern = term.split(" "), _pattern(term)

    def count(text: str) -> int:
        return len(pattern.findall(text)) if all(word in text for word in words) else 0

    return count
