"""What follows from a tally: of 40 tests 3 failed, so 37 passed; 37 passed and 3 failed, so there are 40.

A tally is a row of numbers that each have an outcome beside them, with a number of the whole before or behind it or
without. Only sums over the whole row are taken, so that no other number follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_OUTCOME = (
    r"(?:(?:pass(?:ed|es|ing)?|succe\w{2,7}|fail(?:ed|s|ing|ures?)?|errors?|errored|broken?|skip(?:ped|s)?|x?failed|flaky|missing|remain\w{0,3}"
    r"|pending|open|left|done|completed?|fallan?|fallaron|fall\u00f3|pasan?|pasaron|pas\u00f3|errores|omitid[oa]s?|pendientes?|faltan?|quedan?"
    r"|bestanden|fehlgeschlagen|fehler|\u00fcbersprungen|offen|erledigt)(?![^\W\d_])|\u901a\u8fc7|\u901a\u904e|\u5931\u8d25|\u5931\u6557|\u6210\u529f|\u51fa\u9519|\u8df3\u8fc7|\u5b8c\u6210|\u5269)"
)
_NUMBER = r"(?<![A-Za-z0-9_.,:/$\u20ac#-])\d{1,6}(?![A-Za-z0-9_:/%]|[.,]\d)"
_FEW = r"[^\d\n.,;:()\uff0c\u3002\uff1b|]"  # between a number and its outcome
_WHOLE_BEFORE = re.compile(
    rf"(?<!\bin )(?<!\ben )(?<!cross )(?P<whole>{_NUMBER})(?=[^\S\n]?[^\W\d_])[^\d\n|]{{0,40}}\n?[^\d\n|]{{0,20}}\Z"
)
_WHOLE_BEHIND = re.compile(
    rf"\s?[,;(\uff0c\u3001\u2014-]?\s?(?:(?:of|out of|de|von)\s)?(?P<whole>{_NUMBER})[^\S\n]?(?:tests?\s|pruebas?\s)?(?:in\s)?(?:total|all|insgesamt|en total|\u603b)",
    re.IGNORECASE,
)
_PART = re.compile(
    rf"(?P<part>{_NUMBER})(?:[^\S\n]?(?:/|of|out of|de(?: l[ao]s)?|von)[^\S\n]?(?:the |these |den )?(?P<of>\d{{1,6}})(?![\w.]))?"
    rf"(?:(?! y | and | und ){_FEW}){{0,24}}?(?<![^\W\d_\u4e00-\u9fff]){_OUTCOME}"
    rf"|(?<![^\W\d_]){_OUTCOME}:?{_FEW}{{0,12}}?(?P<after>{_NUMBER})",
    re.IGNORECASE,
)
_TO_THE_END = re.compile(r"\d.*")  # of a line
_BETWEEN = 12  # characters between two numbers of one row
_BEFORE = 80  # characters in which the whole stands before it


def derived(text: str) -> Iterator[int]:
    """The numbers that follow from the tallies of a text."""
    row: list[int] = []
    whole: int | None = None
    start = end = 0
    for match in _parts(text):
        if row and match.start() - end > _BETWEEN:
            yield from _sums(text, start, end, row, whole)
            row, whole = [], None
        if not row:
            start = match.start()
        row.append(int(match["part"] or match["after"]))
        whole = int(match["of"]) if match["of"] else whole
        end = match.end()
    if row:
        yield from _sums(text, start, end, row, whole)


def _parts(text: str) -> Iterator[re.Match[str]]:
    """Where `_PART` stands: in lines with a digit, and of most texts these are few."""
    for digit in _TO_THE_END.finditer(text):
        yield from _PART.finditer(text, text.rfind("\n", 0, digit.start()) + 1, digit.end())


def _sums(text: str, start: int, end: int, row: list[int], whole: int | None) -> Iterator[int]:
    if whole is None and (
        match := _WHOLE_BEHIND.match(text, end) or _WHOLE_BEFORE.search(text[max(0, start - _BEFORE) : start])
    ):
        whole = int(match["whole"])
    if whole is None:
        if len(row) > 1:
            yield sum(row)
    elif whole > sum(row):
        yield whole - sum(row)
