"""What a bad answer looks like: one predicate per rule that is judged by the answer's text alone.

Each is linear in the text. Inline code is not looked at where markup is the symptom: a session about role tags may
name them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from offturn_engine.draft import FACTS_TITLE, HUMAN_TITLE, SUMMARY_END, SUMMARY_HEAD
from offturn_engine.headings import is_nothing
from offturn_engine.templates import TEMPLATES

_CODE_SPAN = re.compile(r"`[^`\n]*`")
_BULLET = re.compile(r"^[\s>]*(?:[-*+\u2022]|\d{1,3}[.)])?\s*")
_MARKED = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])")

_ROLE = r"(?:human|user|assistant|system|tool|tool[ _](?:result|call|use)|function|developer|ai|bot|model|host)"
_ROLE_TAG = re.compile(
    rf"^[ \t>*+-]{{0,8}}[\[<]/?(?:m\d+ )?{_ROLE}(?:[\s:#][^\]>\n]{{0,40}})?[\]>]", re.IGNORECASE | re.MULTILINE
)
_ROLE_LINE = re.compile(
    r"^[ \t*#]{0,6}(?:(human|user|usuario|用户|ユーザー)|(?:assistant|system|tool|ai|asistente|助手))[ \t*]{0,4}[:\uff1a]",
    re.IGNORECASE | re.MULTILINE,
)
_SAYS = re.compile(  # not a setting such as `User: app`, not a label over a list
    r"^[ \t*#>]{0,6}(?:human|user|usuario|用户|ユーザー|assistant|asistente|助手)[ \t*]{0,4}[:\uff1a]"
    r"[ \t*]{0,8}(?:[^\s*]\S{0,99}[ \t]{1,8}\S|[^\x00-\x7f]|\n(?![ \t]*[-*+\u2022\d\n]))",
    re.IGNORECASE | re.MULTILINE,
)


def _loosely(mark: str) -> str:
    """A pattern for the words of a mark, whatever stands between them."""
    return r"[\W_]{1,4}".join(re.findall(r"\w+", mark))


_BRACKETED = rf"\[[\W_]{{0,4}}(?:{_loosely(SUMMARY_HEAD)}|{_loosely(SUMMARY_END)})\b"
_BRACKET = re.compile(_BRACKETED, re.IGNORECASE)
_MARK_LINE = re.compile(
    rf"^(?:[^\w\n<]|[\d_]|</?[a-z]{{1,10}}[1-6]?>){{0,99}}?(?:{_BRACKETED}|{_loosely(HUMAN_TITLE)}|{_loosely(FACTS_TITLE)})",
    re.IGNORECASE | re.MULTILINE,
)
_RECORD = re.compile(r"^(?:\[m\d+ \w+\]|(?:call|result) m\d+\.\d+ )", re.MULTILINE)
_TOOL_CALL = re.compile(
    r"</?(?:tool_call|tool_use|tool_result|tool_response|function_call|function_calls|function_results|invoke|antml)\b"
    r"|\"tool_calls\"\s{0,4}:|\"(?:name|tool|function)\"\s{0,4}:\s{0,4}\"[^\"\n]{1,80}\"\s{0,4},\s{0,4}\"(?:arguments|parameters|input|args)\"\s{0,4}:",
    re.IGNORECASE,
)

_CONTROL = re.compile(
    r"<\|[\w ]{1,40}\|>|<\uff5c[^\n>]{1,40}\uff5c>|\[/?INST\]|<</?SYS>>|</s>|<(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>"
    r"|<<<(?:transcript|record|note|focus) [0-9a-f]{16}|[0-9a-f]{16} (?:transcript|record|note|focus)>>>"
)
_PLACEHOLDER = re.compile(r"(?:\[(?![ xX]\])[^\]\n]*\]|<[^<>:\n]+>|\{[\w ,.'/-]*\}|\.\.\.|\u2026)[.:]?")

_REFUSAL = re.compile(
    r"(?:i['\u2019]?m|i am) (?:sorry|unable|not able|not comfortable)|\bi (?:can['\u2019]?t|cannot|can not|won['\u2019]?t|must decline)\b"
    r"|\bas an? (?:ai|language model)|against (?:my|our) (?:polic|guideline)|lo siento|no puedo (?:ayud|asist|cumpl|resum|proporcion|continu)"
    r"|抱歉|对不起|對不起|无法(?:协助|提供|完成|帮助|满足)|je suis désolé|je ne peux pas|es tut mir leid|desculpe|sinto muito|申し訳",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"error code: ?\d{3}|\b[45]\d\d (?:bad request|unauthorized|payment required|forbidden|not found|too many requests"
    r"|internal server error|bad gateway|service unavailable|gateway time-?out)|traceback \(most recent call last\)"
    r"|\"type\"\s{0,4}:\s{0,4}\"(?:error|\w{1,40}_error)\"|\{\s{0,8}\"error\"\s{0,4}:|rate.?limit (?:exceeded|reached)|overloaded_error|insufficient_quota"
    r"|\b(?:api(?:connection|timeout|status)?|ratelimit|authentication|badrequest|internalserver)error\b|invalid_request_error|maximum context length"
    r"|connection (?:error|refused|reset|timed out)|(?:request|read) timed out|<!doctype html|<html|^\s{1,12}at \S{1,200} \(\S{1,200}:\d{1,7}:\d{1,7}\)",
    re.IGNORECASE | re.MULTILINE,
)
_RAW_ERROR = re.compile(
    r"[\s>*`-]{0,8}(?:traceback \(most recent|\{\s{0,8}\"(?:error|type)\"|error code: ?\d{3})", re.IGNORECASE
)
_CHAT = re.compile(
    r"(?:how|what) (?:can|may) i (?:help|assist|do for)|(?:happy|glad) to (?:help|assist)|let me know (?:if|how|what)"
    r"|is there anything else|would you like me to|do you want me to|shall i |i hope this helps|here to help"
    r"|en qué puedo ayudar|puedo ayudarte|avísame si|si necesitas (?:algo|más)|quieres que |有什么(?:可以|能)帮|需要我(?:帮|继续)|请告诉我|如果您(?:需要|还有)",
    re.IGNORECASE,
)
_CHAT_LINE = re.compile(
    rf"^[ \t>*+\u2022-]*(?:sure|of course|certainly|i|i['\u2019]m|i am|i['\u2019]d be|i would be|please|claro|\u00bf|[,.! ])*(?:{_CHAT.pattern})",
    re.IGNORECASE | re.MULTILINE,
)

_LOOP_LINES = 6  # repeated lines below this prove nothing
_SHINGLE = 12
_TELLING = 20  # a shorter line may well stand in several sections, unless it is all they hold


def impersonates(text: str) -> bool:
    """Does it speak as somebody in the session: role tags, record labels, tool calls, marks of ours?"""
    text = "\n".join(text.splitlines())
    if imitates(text):
        return True
    bare = _CODE_SPAN.sub("``", text)
    if _ROLE_TAG.search(bare) or _RECORD.search(bare) or _TOOL_CALL.search(bare) or _SAYS.search(bare):
        return True
    sides = {bool(match[1]) for match in _ROLE_LINE.finditer(bare)}
    return len(sides) == 2 or _ROLE_LINE.match(bare.lstrip()) is not None


def imitates(text: str) -> bool:
    """Does it hold a heading or a bracketed line that only code writes? At the start of a line inline code counts too."""
    return _MARK_LINE.search(text) is not None or _BRACKET.search(_CODE_SPAN.sub("``", text)) is not None


def leaks(text: str, bodies: Mapping[str, str]) -> bool:
    """Control tokens, fence lines, the template's own guidance, or sections that are mostly bracketed placeholders."""
    if _CONTROL.search(_CODE_SPAN.sub("``", text)):
        return True
    if any(sentence in text for template in TEMPLATES.values() for sentence in template.guidance):
        return True
    return any(_placeholders(body) for body in bodies.values())


def loops(text: str) -> bool:
    """Lines that come again and again, or hardly any new run of characters."""
    lines = [line for line in _lines(text) if not is_nothing(line)]
    repeated = len(lines) - len(set(lines))
    if repeated >= _LOOP_LINES and repeated * 3 >= len(lines):
        return True
    flat = " ".join(text.split())
    shingles = len(flat) - _SHINGLE + 1
    return shingles >= 400 and len({flat[i : i + _SHINGLE] for i in range(shingles)}) < shingles * 0.3


def copies(bodies: Mapping[str, str]) -> bool:
    """The same line in three sections or more, or most lines in two."""
    homes: dict[str, set[str]] = defaultdict(set)
    for title, body in bodies.items():
        lines = _lines(body)
        for line in lines:
            if (len(line) >= _TELLING or len(lines) == 1) and not is_nothing(line):
                homes[line].add(title)
    shared = Counter(min(len(titles), 3) for titles in homes.values())
    return shared[3] > 0 or (shared[2] >= 3 and shared[2] * 2 > shared.total())


def refuses(text: str, within: int) -> bool:
    """Does it decline, beginning in its first `within` characters?"""
    found = _REFUSAL.search(text[: within + 80])
    return found is not None and found.start() <= within


def is_error(text: str) -> bool:
    """Does it open like a provider's error or a stack trace?"""
    return _ERROR.search(text[:2000]) is not None


def is_raw_error(text: str) -> bool:
    """Does it start with what no summary starts with: a stack trace or an error's JSON?"""
    return _RAW_ERROR.match(text) is not None


def chats(text: str) -> bool:
    """Does it talk to a reader, anywhere?"""
    return _CHAT.search(text) is not None


def chats_in_line(body: str) -> bool:
    """Does a line of it open by talking to a reader? Reported speech does not count: it names its speaker first."""
    return _CHAT_LINE.search(body) is not None


def without_closing(body: str) -> str:
    """A body without a polite last line outside the bullets."""
    lines = body.split("\n")
    polite = len(lines) > 1 and chats(lines[-1]) and not _MARKED.match(lines[-1])
    return "\n".join(lines[:-1]).rstrip() if polite else body


def is_cut(text: str) -> bool:
    """Does it end inside a code block or a JSON value?"""
    fences = sum(line.lstrip().startswith("```") for line in text.splitlines())
    return fences % 2 == 1 or (text.startswith("{") and not text.endswith("}"))


def _lines(text: str) -> list[str]:
    """Lines without bullets, numbers and case; blank ones left out."""
    bare = (_BULLET.sub("", line).strip().lower() for line in text.splitlines())
    return [line for line in bare if line]


def _placeholders(body: str) -> bool:
    lines: Sequence[str] = _lines(body)
    return 0 < len(lines) <= 2 * sum(_PLACEHOLDER.fullmatch(line) is not None for line in lines)
