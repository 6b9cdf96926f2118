"""Assignments to names that say they hold a secret: env files, JSON, YAML, code, flags, XML, plain sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from offturn_engine.mask_rules import Find
from offturn_engine.mask_texts import Texts
from offturn_engine.mask_values import is_code, is_password, is_placeholder, is_random, telling

PASSWORDS = r"passw(?:or)?d|passphrase|passcode|(?<=[_.-])pass|pwd|contrase(?:ñ|n)a|\bclave|密码|密碼|口令"
KEYS = (
    r"secret|token|api[_ -]?key|apikey|(?:access|secret|private|signing|encryption|master|account|auth|service|"
    r"subscription|storage|license|hmac|webhook|deploy|role|shared[_-]?access)[_-]?key(?:[_-]id(?=\W*A[KS]IA))?|credentials?|"
    r"secret[_-]key[_-]base|phpsessid|jsessionid|(?-i:sessionid)(?==)|connect\.sid|session[_-]?cookie|secreto|密钥|密鑰|令牌"
)
NOT_SECRET = re.compile(
    r"(?i)(?:next|page|continuation|cancel\w*|pad|eos|bos|unk|sep|mask|cls|stop|start|end|last|first|prev|special|sync|csv|"
    r"num|max|min|per|cost|hash\w*|encrypted|sealed|digest|public|foreign|primary|partition|sort|cache|lexer|peek|current|"
    r"bad|wrong|invalid)[_.-]?$"
)
_SUFFIX = r"(?:[_-]?(?:\d{1,2}|v\d|prod|production|dev|staging|test|live|old|new|value|base64|b64|plain|raw|hex|default|primary|secondary))?"
_QUOTE = r"\\{0,4}[\"'`]"
_MARK = r"(?<!\[masked: )(?<!\[masked: access )"  # what a mark of ours calls the secret it stands for is no name of one
_NAMED = re.compile(
    rf"(?i){_MARK}(?:(?P<password>{PASSWORDS})|(?P<key>{KEYS})){_SUFFIX}(?![A-Za-z0-9_-])"
    rf"(?:(?P<value>(?:{_QUOTE})?\s{{0,8}}(?:,\s{{0,4}}|[\r\n]\s{{0,12}}|\s)(?:{_QUOTE})?value(?:{_QUOTE})?\s{{0,4}}[:=]\s{{0,8}})"
    rf"|(?P<comma>{_QUOTE}\s{{0,4}},\s{{0,4}}(?={_QUOTE}))"
    rf"|(?P<said>\s{{1,3}}(?:is|es|was|era)\s{{1,3}}:?\s{{0,3}}|\s{{0,3}}[是为為]\s{{0,3}}[:\uff1a]?\s{{0,3}})"
    r"|(?P<tag>>)"
    rf"|(?P<set>(?:{_QUOTE})?[\])]{{0,2}}\s{{0,8}}(?:\?\?=|\|\|=|=>|:=|={{1,3}}(?![=~>])|:(?![:=])|\uff1a)\s{{0,8}})"
    r"|(?P<flag>[ ]{1,3}))"
)
_STARTS = (b"pass", b"pwd", b"contrase", b"clave", b"secret", b"token", b"credential", b"connect.sid")
_STARTS_ELSEWHERE = tuple(word.encode() for word in ("密码", "密碼", "口令", "密钥", "密鑰", "令牌"))
"""How the telling words begin, but for those that end in `key` and those of sessions."""
_KEYS_OF = (
    *(b"api", b"access", b"secret", b"private", b"signing", b"encryption", b"master", b"account", b"auth", b"service"),
    *(b"subscription", b"storage", b"license", b"hmac", b"webhook", b"deploy", b"role"),
)
_SHARED = (b"shared", b"shared_", b"shared-")
_SESSIONS = (b"sessionid", b"sessid", b"sessioncookie", b"session_cookie", b"session-cookie")
_BEFORE_SESSION = (b"", b"j", b"php")
_TYPE = re.compile(r"[A-Za-z][\w.]{0,30}(?:\[[\w, ]{0,30}\])?(?: ?\| ?None)?\s{0,2}=\s{0,4}(?=[fbru]?[\"'`])")
_NAME = re.compile(r"[\w.$-]*+")
_OPEN = re.compile(rf"[fbru]{{0,2}}({_QUOTE}|「|“)")
_CLOSING = {"「": "」", "“": "”"}
_BARE = re.compile(r"(?:[^\s\"'`,;&|<>\\\uff0c。\uff1b、]{1,200}+|\\(?![nrt\"'])){1,3}")
_WHOLE = re.compile(r"(?:[^\s\"'`\\]{1,200}+|\\(?![nrt\"'])){1,3}")
_REST = re.compile(r"[^\s\"'`,;&<>\\]*+")
_DIGIT = re.compile(r"\d")
_TAG = re.compile(r"[^<>\n]{1,500}")
_LONGEST = 2_000
_NAME_LONGEST = 40


@dataclass(frozen=True, slots=True)
class _Value:
    start: int
    end: int
    literal: bool


def assignments(held: Texts) -> Iterator[tuple[int, Find]]:
    """Values that look like secrets, given to names that say so, and in which text."""
    last, done = -1, 0
    for index, match in _named(held):
        text = held.texts[index]
        if index == last and match.start() < done:
            continue
        if match["flag"] and "--" not in text[max(0, match.start() - _NAME_LONGEST) : match.start()]:
            continue  # most matches are no more than the word and a blank
        name = _name(text, match)
        if NOT_SECRET.search(name):
            continue
        if (match["flag"] and not name.startswith("--")) or (match["tag"] and not _opens_tag(text, match, name)):
            continue
        value = _value(text, match, name)
        if value is not None and _accepts(text[value.start : value.end], match, value.literal, _is_env(match, name)):
            rest = None if value.literal else _REST.match(text, value.end)
            last, done = index, rest.end() if rest else value.end
            yield index, Find(_kind(match), value.start, done)


def _named(held: Texts) -> Iterator[tuple[int, re.Match[str]]]:
    """The matches of `_NAMED`. It is tried only where a telling word may begin: at every place it would take most of the time."""
    last, end = -1, 0
    for place in sorted(_starts(held)):
        index, start = held.at(place)
        if (index != last or start >= end) and (match := _NAMED.match(held.texts[index], start)):
            last, end = index, match.end()
            yield index, match


def _starts(held: Texts) -> set[int]:
    """The places where a telling word may begin."""
    lower = held.lower
    words = _STARTS if lower.isascii() else _STARTS + _STARTS_ELSEWHERE
    found = {place for word in words if word in lower for place in held.places(word)}
    for place in held.places(b"key"):
        low = place - 1 if lower[place - 1 : place] in (b"_", b"-", b" ") else place
        for word in _KEYS_OF if lower.endswith(_KEYS_OF, 0, low) else ():
            if lower.endswith(word, 0, low):
                found.add(low - len(word))
                found |= {low - len(word) - len(one) for one in _SHARED if lower.endswith(one, 0, low - len(word))}
    for place in held.places(b"sessi"):
        if lower.startswith(_SESSIONS, place):
            found |= {place - len(before) for before in _BEFORE_SESSION if lower.endswith(before, 0, place)}
    return found


def _name(text: str, match: re.Match[str]) -> str:
    """What stands before the telling word in the same name, at most `_NAME_LONGEST` characters."""
    before = text[max(0, match.start() - _NAME_LONGEST) : match.start()]
    found = _NAME.match(before[::-1])
    name = found[0][::-1] if found else ""
    at = len(before) - len(name)
    return name[1:] if at and before[at - 1] == "\\" and name[:1] in ("n", "r", "t") else name


def _opens_tag(text: str, match: re.Match[str], name: str) -> bool:
    at = match.start() - len(name) - 1
    return at >= 0 and text[at] == "<"


def _is_env(match: re.Match[str], name: str) -> bool:
    """`DB_PASSWORD=value`, as in env files, shells and Dockerfiles: no blanks, capitals."""
    whole = name + (match["password"] or match["key"])
    return match["set"] == "=" and whole.isupper() and whole.isascii()


def _value(text: str, match: re.Match[str], name: str) -> _Value | None:
    start = match.end()
    if match["tag"]:
        return _span(_TAG.match(text, start))
    if match["set"] and ":" in match["set"] and (annotated := _TYPE.match(text, start)):
        start = annotated.end()
    if opened := _OPEN.match(text, start):
        low = opened.end()
        closing = _CLOSING.get(opened[1], opened[1])
        high = _close(text, low, closing)
        if high > low:
            return _Value(low, high, literal=True)
        start = low
    return _span((_WHOLE if _is_env(match, name) else _BARE).match(text, start))


def _close(text: str, low: int, closing: str) -> int:
    """Where the literal ends on its line; `low` or less where it does not. A closing quote may be escaped."""
    line = text.find("\n", low, low + _LONGEST)
    limit = line if line >= 0 else low + _LONGEST
    high = text.find(closing, low, limit)
    while len(closing) == 1 and high > low and text[high - 1] == "\\" and text[high - 2] != "\\":
        high = text.find(closing, high + 1, limit)
    return high


def _span(match: re.Match[str] | None) -> _Value | None:
    return None if match is None else _Value(match.start(), match.end(), literal=False)


def _accepts(value: str, match: re.Match[str], literal: bool, env: bool) -> bool:
    if is_placeholder(value) or (not literal and is_code(value)):
        return False
    if match["said"]:
        value = value.rstrip(".!?:)")
        return (len(value) >= 6 and is_random(value)) or (
            match["password"] is not None and len(value) >= 6 and _mixed(value)
        )
    if match["password"]:
        if literal or env or match["tag"] or match["flag"] or match["value"]:
            return is_password(value, literal=True)
        return len(value) >= 6 and is_password(value, literal=False) and _mixed(value)
    if len(value.split()) > 1 or is_code(value):
        return False
    return len(value) >= 8 and (
        telling(value) or (env and len(value) >= 10 and value.isalnum() and not value.isdecimal())
    )


def _mixed(value: str) -> bool:
    """A digit with a letter, or only digits: nothing a sentence or a name would hold there."""
    return _DIGIT.search(value) is not None and not (value.isidentifier() and "password" in value.lower())


def _kind(match: re.Match[str]) -> str:
    if match["password"]:
        return "password"
    word = match["key"].lower()
    if "sess" in word or "sid" in word:
        return "cookie"
    return "token" if "token" in word or "令牌" in word else "secret" if "key" not in word else "key"
