"""Names that have to be right to the letter: issues, commits, branches, URLs, versions, ports, amounts.

They are taken from what people and the agent wrote and from the arguments of calls; of a result only from its start and
its end. A table of shapes; the first that matches at a place decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from offturn_engine.compaction import LedgerItem
from offturn_engine.messages import Message, TextPart, ToolCallPart, ToolResultPart

MOST = 40  # identifiers taken from one part
LOOKED = 20_000  # characters of a spoken text or of arguments
RESULT_LOOKED = 1_500  # characters of a result, from its start and from its end
LONGEST = 200

FAMILIES: Mapping[str, str] = {
    "url": r"\bhttps?://[^\s<>\"'`\\\uff0c。\uff09)\]}]{4,200}",
    "commit": r"(?<![\w-])(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}(?![\w-])",
    "branch": r"(?:(?<=\bbranch )|(?<=\bcheckout )|(?<=\bcheckout -b )|(?<=\bswitch )|(?<=\bswitch -c )|(?<=\bmerge )|(?<=\brebase )|(?<=\borigin )|(?<=\borigin/)|(?<=\brama )|(?<=分支 )|(?<=分支))"
    r"[`'\"]?(?:[A-Za-z0-9][\w.]{0,60}[/-][\w./-]{1,80}|main|master|develop)\b"
    r"|\b(?:feat|feature|fix|bugfix|hotfix|release|chore|spike|docs|refactor)/[\w./-]{2,80}",
    "issue": r"(?<![\w&/#])(?:[\w.-]{1,40}/[\w.-]{1,60})?#\d{1,7}\b(?!;)|\b[A-Z][A-Z0-9]{1,9}-\d{1,6}\b|\b(?i:issues?|pull|pr|ticket) #?\d{1,7}\b",
    "port": r"(?:(?<=\blocalhost:)|(?<=\b127\.0\.0\.1:)|(?<=\b0\.0\.0\.0:)|(?<=\bport )|(?<=\bport=)|(?<=--port )|(?<=\bpuerto )|(?<=端口)|(?<=端口 ))\d{2,5}\b",
    "version": r"(?:(?<=\bversion )|(?<===)|(?<=>=)|(?<=~=)|(?<=@)|(?<=\bv)|(?<=版本)|(?<=版本 )|(?<=\bversión ))\d{1,4}\.\d{1,4}(?:\.\d{1,5}){0,2}(?:-?(?:rc|alpha|beta|dev)\.?\d{0,4})?\b"
    r"|(?<![\w.])\d{1,3}\.\d{1,3}\.\d{1,4}(?![\w.])",
    "amount": r"(?<![\w.])[$€£¥\uffe5] ?\d[\d.,]{0,14}\d?(?:[kKmM]\b)?|\b\d[\d.,]{0,14} ?(?:USD|EUR|GBP|CNY|RMB|dollars|euros|dólares)\b|\d[\d.,]{0,14} ?(?:元|美元|欧元)",
}
"""Pattern by family; each is bounded."""

_SHAPE = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in FAMILIES.items()))
_TEMPLATE = re.compile(r"[$%]\d{1,2}\b")


def identifiers(message: Message) -> Iterator[LedgerItem]:
    """One item per identifier of the message: key as written, text its family."""
    found: dict[str, str] = {}
    for part in message.parts:
        for text in _texts(message, part):
            found.update(_of(text))
    for name, family in found.items():
        yield LedgerItem(kind="identifier", key=name, text=family, seq=message.seq)


def _texts(message: Message, part: object) -> Iterator[str]:
    match part:
        case TextPart(text=text) if message.origin in ("human", "assistant"):
            yield text[:LOOKED]
        case ToolCallPart(source=source):
            yield source[:RESULT_LOOKED]
        case ToolResultPart(text=text):
            yield text if len(text) <= 2 * RESULT_LOOKED else f"{text[:RESULT_LOOKED]}\n{text[-RESULT_LOOKED:]}"


def _of(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in _SHAPE.finditer(text):
        name = match[0].strip(" `'\".,;:)")
        if 1 < len(name) <= LONGEST and not _TEMPLATE.fullmatch(name):
            found[name] = match.lastgroup or ""
            if len(found) == MOST:
                break
    return found
