"""The telling parts of a tool result (rule F4), as data: of a failure its error and its end, of a search its titles and
conclusions, of anything else its first and last lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from offturn_config.groups import Prune
from offturn_engine.media import without_encoded
from offturn_engine.messages import ToolCallPart, ToolResultPart
from offturn_engine.results import LINE_LOOK, failed, lines_of
from offturn_engine.stubs import excerpt, failure_of, headline
from offturn_engine.tools import family_of

TITLES: Mapping[str, str] = {
    "heading": r"^#{1,6}\s+\S",
    "numbered": r"^(?:\[\d{1,3}\]|\d{1,3}[.)])\s+\S",
    "field": r"(?i)^[\"'*-]{0,3}\s?(?:title|headline|name|url|link|source|標題|标题|题目|t[ií]tulo)[\"'*]{0,2}\s?[:\uff1a=]",
    "address": r"^<?https?://\S+>?$",
    "file": r"^(?:\./|/)?[\w@.+-]{1,80}(?:/[\w@.+-]{1,80}){0,20}:?$",
}
"""A line that names one thing a search found."""

CONCLUSIONS: Mapping[str, str] = {
    "english": r"(?i)^\W{0,4}(?:in )?(?:conclusions?|summary|results?|answer|total|found|overall|therefore|in short|tl;dr"
    r"|verdict|no (?:matches|results|files))\b",
    "spanish": r"(?i)^\W{0,4}(?:en )?(?:conclusi[oó]n|resumen|resultados?|respuesta|total|se encontraron|por lo tanto)\b",
    "chinese": r"^\W{0,4}(?:结论|結論|总结|總結|总之|總之|结果|結果|因此|答案|共找到|综上)",
}
"""A line that says what came out of it."""

_HIT = re.compile(r"^((?:[A-Za-z]:)?[^:\s][^:\n]{0,300}):\d{1,7}[:-]")
_TITLE = re.compile("|".join(f"(?:{p})" for p in TITLES.values()).replace("(?i)", ""), re.IGNORECASE)
_CONCLUSION = re.compile("|".join(f"(?:{p})" for p in CONCLUSIONS.values()).replace("(?i)", ""), re.IGNORECASE)


def telling(call: ToolCallPart, result: ToolResultPart, seq: int, part: int | None, policy: Prune) -> str:
    """`[reduced: <tool> <target> · ... · recall m181]` and the telling lines under it, `policy.failure_lines` of each kind."""
    count = policy.failure_lines
    return "\n".join([headline("reduced", call, result, seq, part), *_lines(call, result, count)])


def _lines(call: ToolCallPart, result: ToolResultPart, count: int) -> list[str]:
    if failed(result, call):
        return failure_of(result, count)
    lines = lines_of(without_encoded(result.text))
    found = _found(lines, count) if family_of(call) in ("search", "web") else []
    return excerpt(lines, found or _ends(lines, count))


def _ends(lines: Sequence[str], count: int) -> list[int]:
    visible = [i for i, line in enumerate(lines) if line.strip()]
    return sorted({*visible[:count], *visible[max(0, len(visible) - count) :]})


def _found(lines: Sequence[str], count: int) -> list[int]:
    """The first titles, counting the first hit in each file as one, and the last conclusions."""
    titles: list[int] = []
    conclusions: list[int] = []
    files = set[str]()
    for i, line in enumerate(lines):
        look = line.strip()[:LINE_LOOK]
        hit = _HIT.match(look)
        if _CONCLUSION.match(look):
            conclusions.append(i)
        elif (hit and hit.group(1) not in files) or (not hit and _TITLE.match(look)):
            titles.append(i)
        if hit:
            files.add(hit.group(1))
    return sorted({*titles[:count], *conclusions[max(0, len(conclusions) - count) :]})
