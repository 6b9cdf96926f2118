"""Names that have to be right to the letter: issues, commits, branches, URLs, versions, ports, amounts.

They are taken from what people and the agent wrote and from the arguments of calls; of a result only from its start and
its end. A table of shapes; at one place the earlier one decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from offturn_engine.ledger.found import Fact
from offturn_engine.messages import Message, TextPart, ToolCallPart, ToolResultPart
from offturn_engine.search import searchable

MOST = 40  # identifiers taken from one part
LOOKED = 20_000  # characters of a spoken text or of arguments
RESULT_LOOKED = 1_500  # characters of a result, from its start and from its end
LONGEST = 200
HEX_RUN = "\x00"
"""Stands among the signs for seven hexadecimal digits in a row."""

CAPITAL = "\x01"
"""Stands among them for a digit and a capital that the code of a currency starts with."""


class Shape(NamedTuple):
    """How a family's names look: a bounded pattern with one group, the name itself.

    A text with a match holds one of these `signs` (characters), and one of each group of `words`; any digit is a 0 there.
    So few texts have to be searched. What must stand before a name is looked for behind its first characters: where a
    pattern starts with characters, `re` goes from one place that has them to the next.
    """

    family: str
    pattern: str
    signs: str
    words: tuple[tuple[str, ...], ...] = ()


_BRANCH = r"([A-Za-z0-9][\w.]{0,60}[/-][\w./-]{1,80}|main\b|master\b|develop\b)"
_BEFORE_BRANCH = ("branch", "checkout", "switch", "merge", "rebase", "origin", "rama")
_BRANCH_TYPES = "feat|feature|fix|bugfix|hotfix|release|chore|spike|docs|refactor"
_BEFORE_ISSUE = ("ssue", "ssues", "ull", "PR", "pr", "icket")

SHAPES = (
    Shape("url", r"\b(https?://[^\s<>\"'`\\\uff0c\u3002\uff09)\]}]{4,200})", ":", (("://",),)),
    Shape(
        "commit",
        r"([0-9a-f](?<=\b.)(?<!-.)(?:(?<=\d)(?=\d{0,38}[a-f])|(?<=[a-f])(?=[a-f]{0,38}\d))[0-9a-f]{6,39})\b(?!-)",
        HEX_RUN,
    ),
    Shape(
        "branch",
        rf"\b(?:{'|'.join(_BEFORE_BRANCH)})(?: -[bcB])?[ /]{_BRANCH}",
        " /",
        (
            ("/", "-", "main", "master", "develop"),
            _BEFORE_BRANCH,
            tuple(f"{word}{mark}" for word in _BEFORE_BRANCH for mark in " /"),
        ),
    ),
    Shape("branch", rf"分支 ?{_BRANCH}", "分"),
    Shape(
        "branch",
        rf"\b((?:{_BRANCH_TYPES})/[\w./-]{{2,80}})",
        "/",
        (tuple(f"{t}/" for t in _BRANCH_TYPES.split("|") if not t.endswith("fix") or t == "fix"),),
    ),
    Shape("issue", r"(?<![\w&#])(?<![Tt]ask )(#\d{1,7})\b(?!;)", "#", (("#0",),)),
    Shape("issue", r"\b([\w.-]{1,40}/[\w.-]{1,60}#\d{1,7})\b", "#", (("/",), ("#0",))),
    Shape("issue", r"([A-Z](?<=\b.)[A-Z0-9]{1,9}-\d{1,6})\b", "-", (("-0",),)),
    Shape(
        "issue",
        r"\b((?:[Ii]ssues?|[Pp]ull|PR|pr|[Tt]icket) #?\d{1,7})\b",
        " ",
        ((" 0", " #0"), tuple(f"{word} {mark}0" for mark in ("", "#") for word in _BEFORE_ISSUE)),
    ),
    Shape(
        "port",
        r"(?:\b(?:localhost:|127\.0\.0\.1:|0\.0\.0\.0:|[Pp]ort[ =]|[Pp]uerto )|--port |端口 ?)(\d{2,5})\b",
        "0",
        (("localhost:00", ".0.0.0:00", "ort 00", "ort=00", "uerto 00", "端口"),),
    ),
    Shape(
        "version",
        r"(?:V(?<=\b.)ersi[oó]n |v(?<=\b.)(?:ersi[oó]n )?|==|>=|~=|@|版本 ?)(\d{1,4}\.\d{1,4}(?:\.\d{1,5}){0,2}(?:-?(?:rc|alpha|beta|dev)\.?\d{0,4})?)\b",
        ".",
        (("0.0",), ("ersion 0", "ersión 0", "v0", "=0", "@0", "版本")),
    ),
    Shape(
        "version",
        r"(\d(?<![\w.].)\d{0,2}\.\d{1,3}\.\d{1,4})(?![\w.])",
        ".",
        (("0.0",), ("0.0.0", "0.00.0", "0.000.0")),
    ),
    Shape(
        "amount",
        r"(?<![\w.])([$€£¥\uffe5] ?\d[\d.,]{0,14}\d?(?:[kKmM]\b)?)",
        "$€£¥\uffe5",
        (("$0", "$ 0", *"€£¥\uffe5"),),
    ),
    Shape("amount", r"\b(\d[\d.,]{0,14} ?(?:USD|EUR|GBP|CNY|RMB))\b", CAPITAL, (("USD", "EUR", "GBP", "CNY", "RMB"),)),
    Shape("amount", r"\b(\d[\d.,]{0,14} ?(?:dollars|euros|dólares))\b", "0", (("dollars", "euros", "dólares"),)),
    Shape("amount", r"(\d[\d.,]{0,14} ?(?:元|美元|欧元))", "元"),
)
"""In the order in which they decide."""

_COMPILED = tuple((shape, re.compile(shape.pattern)) for shape in SHAPES)
_SIGNS = "".join(
    dict.fromkeys(
        sign
        for shape in SHAPES
        for sign in (*shape.signs, *(one for words in shape.words for word in words for one in word))
        if sign not in (HEX_RUN, CAPITAL) and not (sign.isascii() and sign.isalpha())
    )
)
"""Characters that are asked for first: each costs a fiftieth of a word."""
_PLAIN_SIGNS = "".join(sign for sign in _SIGNS if sign.isascii())
_DIGITS = bytes(ord("0") if chr(byte).isdigit() else byte for byte in range(128)) + bytes(range(128, 256))
_HEX = bytes(ord(HEX_RUN) if chr(byte) in "0123456789abcdef" else ord(" ") for byte in range(256))
_HEX_RUN = 7 * HEX_RUN.encode()
_OTHER_DIGIT = re.compile(r"\d(?<![0-9])")
_BLANK = re.compile(r"\s")
_TEMPLATE = re.compile(r"[$%]\d{1,2}\b")


def identifiers(message: Message) -> Iterator[Fact]:
    """One item per identifier of the message: key as written, text its family."""
    found: dict[str, str] = {}
    for at, part in enumerate(message.parts):
        text = _text(message, at, part)
        if text and (shapes := possible(text)):
            found.update(_of(text, shapes))
    for name, family in found.items():
        yield Fact("identifier", name, family, message.seq)


def _text(message: Message, at: int, part: object) -> str:
    """What is looked at of a part."""
    if isinstance(part, ToolResultPart):
        text = part.text
        short = len(text) <= 2 * RESULT_LOOKED
        return text if short else f"{_start(text, RESULT_LOOKED)}\n{_end(text, RESULT_LOOKED)}"
    if isinstance(part, ToolCallPart):
        return _start(searchable(message, at), RESULT_LOOKED)
    if isinstance(part, TextPart) and message.origin in ("human", "assistant"):
        return _start(part.text, LOOKED)
    return ""


def _start(text: str, most: int) -> str:
    """Without the name that the cut goes through: half of it is another name."""
    if len(text) <= most:
        return text
    blank = max(text.rfind(one, most - LONGEST, most + 1) for one in " \n\t")
    return text[: blank if blank >= 0 else most]


def _end(text: str, most: int) -> str:
    blank = _BLANK.search(text, len(text) - most - 1, len(text) - most + LONGEST)
    return text[blank.end() if blank else -most :]


def _of(text: str, shapes: Sequence[tuple[str, re.Pattern[str]]]) -> dict[str, str]:
    """Name -> family, at most `MOST` in the order they stand; of two at one place that of the earlier pattern."""
    found: dict[int, tuple[int, str, str]] = {}
    taken: list[tuple[int, int]] = []
    for family, shape in shapes:
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


def possible(text: str) -> list[tuple[str, re.Pattern[str]]]:
    """The families and patterns that may have a match in the text."""
    plain = text.isascii()
    data = (text if plain else _OTHER_DIGIT.sub("0", text)).encode("utf-8", "surrogatepass")
    told = data.translate(_DIGITS).decode("utf-8", "surrogatepass")
    there = [sign for sign in (_PLAIN_SIGNS if plain else _SIGNS) if sign in told]
    if "0" in there:
        if _HEX_RUN in data.translate(_HEX):
            there.append(HEX_RUN)
        if "E" in told or "R" in told or "C" in told or "U" in told or "G" in told:
            there.append(CAPITAL)
    found: list[tuple[str, re.Pattern[str]]] = []
    for family, pattern, words in _with("".join(there)):
        for group in words:
            for word in group:  # a loop costs a third of `any`, and this runs for every text there is
                if word in told:
                    break
            else:
                break
        else:
            found.append((family, pattern))
    return found


@lru_cache(maxsize=4_096)
def _with(there: str) -> tuple[tuple[str, re.Pattern[str], tuple[tuple[str, ...], ...]], ...]:
    """The shapes for which one of these signs is enough, and of their words those without a sign that is not there."""
    missing = {*_SIGNS}.difference(there)
    left = (
        (s.family, pattern, tuple(tuple(w for w in words if missing.isdisjoint(w)) for words in s.words))
        for s, pattern in _COMPILED
        if not {*there}.isdisjoint(s.signs)
    )
    return tuple(shape for shape in left if all(shape[2]))
