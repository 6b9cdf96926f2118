"""Names that have to be right to the letter: issues, commits, branches, URLs, versions, ports, amounts.

They are taken from what people and the agent wrote and from the arguments of calls; of a result only from its start and
its end. A table of shapes; at one place the earlier one decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from offturn_engine.compaction import LedgerItem
from offturn_engine.messages import Message, TextPart, ToolCallPart, ToolResultPart
from offturn_engine.search import searchable

MOST = 40  # identifiers taken from one part
LOOKED = 20_000  # characters of a spoken text or of arguments
RESULT_LOOKED = 1_500  # characters of a result, from its start and from its end
LONGEST = 200

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "url": (r"\b(https?://[^\s<>\"'`\\\uff0c\u3002\uff09)\]}]{4,200})",),
    "commit": (r"\b(?<!-)((?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,40})\b(?!-)",),
    "branch": (
        r"\b(?:branch|checkout|switch|merge|rebase|origin|rama)(?: -[bcB])?[ /]([A-Za-z0-9][\w.]{0,60}[/-][\w./-]{1,80}|main\b|master\b|develop\b)",
        r"分支 ?([A-Za-z0-9][\w.]{0,60}[/-][\w./-]{1,80}|main\b|master\b|develop\b)",
        r"\b((?:feat|feature|fix|bugfix|hotfix|release|chore|spike|docs|refactor)/[\w./-]{2,80})",
    ),
    "issue": (
        r"(?<![\w&#])(#\d{1,7})\b(?!;)",
        r"\b([\w.-]{1,40}/[\w.-]{1,60}#\d{1,7})\b",
        r"\b([A-Z][A-Z0-9]{1,9}-\d{1,6})\b",
        r"\b((?:[Ii]ssues?|[Pp]ull|PR|pr|[Tt]icket) #?\d{1,7})\b",
    ),
    "port": (r"(?:\b(?:localhost:|127\.0\.0\.1:|0\.0\.0\.0:|[Pp]ort[ =]|[Pp]uerto )|--port |端口 ?)(\d{2,5})\b",),
    "version": (
        r"(?:\b(?:[Vv]ersi[oó]n |v)|[=>~]=|@|版本 ?)(\d{1,4}\.\d{1,4}(?:\.\d{1,5}){0,2}(?:-?(?:rc|alpha|beta|dev)\.?\d{0,4})?)\b",
        r"(?<![\w.])(\d{1,3}\.\d{1,3}\.\d{1,4})(?![\w.])",
    ),
    "amount": (
        r"(?<![\w.])([$€£¥\uffe5] ?\d[\d.,]{0,14}\d?(?:[kKmM]\b)?)",
        r"\b(\d[\d.,]{0,14} ?(?:USD|EUR|GBP|CNY|RMB|dollars|euros|dólares))\b",
        r"(\d[\d.,]{0,14} ?(?:元|美元|欧元))",
    ),
}
"""Patterns by family, each with one group: the name itself. Every one is bounded."""

_SHAPES = tuple((family, re.compile(pattern)) for family, patterns in FAMILIES.items() for pattern in patterns)
_BLANK = re.compile(r"\s")
_TEMPLATE = re.compile(r"[$%]\d{1,2}\b")


def identifiers(message: Message) -> Iterator[LedgerItem]:
    """One item per identifier of the message: key as written, text its family."""
    found: dict[str, str] = {}
    for at, part in enumerate(message.parts):
        for text in _texts(message, at, part):
            found.update(_of(text))
    for name, family in found.items():
        yield LedgerItem(kind="identifier", key=name, text=family, seq=message.seq)


def _texts(message: Message, at: int, part: object) -> Iterator[str]:
    match part:
        case TextPart(text=text) if message.origin in ("human", "assistant"):
            yield _start(text, LOOKED)
        case ToolCallPart():
            yield _start(searchable(message, at), RESULT_LOOKED)
        case ToolResultPart(text=text):
            short = len(text) <= 2 * RESULT_LOOKED
            yield text if short else f"{_start(text, RESULT_LOOKED)}\n{_end(text, RESULT_LOOKED)}"


def _start(text: str, most: int) -> str:
    """Without the name that the cut goes through: half of it is another name."""
    if len(text) <= most:
        return text
    blank = max(text.rfind(one, most - LONGEST, most + 1) for one in " \n\t")
    return text[: blank if blank >= 0 else most]


def _end(text: str, most: int) -> str:
    blank = _BLANK.search(text, len(text) - most - 1, len(text) - most + LONGEST)
    return text[blank.end() if blank else -most :]


def _of(text: str) -> dict[str, str]:
    """Name -> family, at most `MOST` in the order they stand; of two at one place that of the earlier pattern."""
    found: dict[int, tuple[int, str, str]] = {}
    taken: list[tuple[int, int]] = []
    for family, shape in _SHAPES:
        for match in islice(shape.finditer(text), MOST):
            start, end = match.span(1)
            if family == "url":
                taken.append((start, end))
            elif start in found or any(low <= start < high for low, high in taken):
                continue
            name = match[1].strip(" `'\".,;:)")
            if 1 < len(name) <= LONGEST and not _TEMPLATE.fullmatch(name):
                found[start] = (start, name, family)
    return {name: family for _, name, family in sorted(found.values())[:MOST]}
