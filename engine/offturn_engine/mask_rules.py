"""Where secrets stand, by their own shape: vendors' prefixes, tokens, headers, cookies, URLs, key blocks. Data.

Prefixes and lengths are those the vendors document. A pattern holds at most one unbounded run and holds it last, or the
run cannot hold the characters a match starts after: so no text is read more than a few times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from offturn_engine.mask_texts import Texts
from offturn_engine.mask_values import is_password, is_placeholder, is_random, telling


@dataclass(frozen=True, slots=True)
class Find:
    """A secret at `text[start:end]`."""

    kind: str
    start: int
    end: int


VENDORS: Mapping[str, tuple[str, ...]] = {
    "api key": (
        r"sk-(?:ant-|or-|proj-|svcacct-|admin-|lf-)?[\w-]{20,}+",
        r"(?:gsk|csk|pcsk|fw|hf|r8|nfp|ntn|lin_api|lin_oauth|sntrys|sntryu|phx|figd|e2b|pplx|xai|tvly|nvapi)[_-][\w-]{20,}+",
        r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{8,12}",
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}+",
        r"whsec_[\w+/=]{20,}+",
        r"SG\.[\w-]{16,64}\.[\w-]{32,}+",
        r"key-[0-9a-f]{32}",
        r"[0-9a-f]{32}-us\d{1,2}",
        r"SK[0-9a-f]{32}",
        r"sq0(?:atp|csp)-[\w-]{20,}+",
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
        r"NRAK-[A-Z0-9]{27}",
        r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
        r"tskey-[a-z]{3,8}-[\w-]{16,}+",
        r"fc-[0-9a-f]{32}",
        r"sb_secret_[\w-]{20,}+",
        r"sbp_[0-9a-f]{40}",
    ),
    "access token": (
        r"gh[pousr]_[A-Za-z0-9]{30,}+",
        r"github_pat_\w{40,}+",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)-[\w.-]{20,}+",
        r"xox[abeoprs](?:\.xox[bp])?-[\w-]{10,}+",
        r"xapp-\d-[\w-]{20,}+",
        r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+",
        r"\d{8,10}:AA[\w-]{32,}+",
        r"npm_[A-Za-z0-9]{36}",
        r"pypi-AgE[\w-]{40,}+",
        r"rubygems_[0-9a-f]{48}",
        r"dckr_(?:pat|oat)_[\w-]{20,}+",
        r"dapi[0-9a-f]{32}(?:-\d)?",
        r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
        r"AT(?:ATT|CTT)3[\w=-]{40,}+",
        r"do[opr]_v1_[0-9a-f]{64}",
        r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,}+",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}+",
        r"hv[sbr]\.[\w-]{24,}+",
        r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}+",
        r"pul-[0-9a-f]{40}",
        r"gl(?:sa|c)_[\w+/=]{32,}+",
        r"bkua_[0-9a-f]{40}",
        r"CCIPAT_\w{20,}+",
        r"fm2_[\w+/=-]{60,}+",
        r"sq[pau]_[0-9a-f]{40}",
        r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
        r"ops_eyJ[\w+/=-]{60,}+",
    ),
    "cloud key": (
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
        r"ABSK[A-Za-z0-9+/=]{80,}+",
        r"AIza[\w-]{35}",
        r"ya29\.[\w.-]{20,}+",
        r"GOCSPX-[\w-]{28}",
        r"1//0[\w-]{40,}+",
        r"[\w~.]{3}\dQ~[\w~.-]{31,34}",
        r"LTAI[A-Za-z0-9]{16,26}",
        r"AKID[A-Za-z0-9]{32}",
        r"[A-Za-z0-9+/]{86}==(?=;EndpointSuffix)",
    ),
    "private key": (r"AGE-SECRET-KEY-1[0-9A-Z]{58}",),
    "webhook": (
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{20,}+",
        r"discord(?:app)?\.com/api/webhooks/\d{15,22}/[\w-]{40,}+",
    ),
    "jwt": (r"eyJ[\w-]{10,}+(?:\.[\w-]{6,}+){2,4}",),
}
"""Kind to patterns. They start where no letter, digit, `_` or `-` stands before (an escaped line break may), and end before none."""


def _curl(text: str, match: re.Match[str]) -> bool:
    """`-u name:value` is a password for clients of HTTP; for `docker run` it is a user and group."""
    before = text[max(0, match.start() - 300) : match.start()]
    return any(word in before for word in ("curl", "http ", "wget")) and not is_placeholder(match["secret"])


def _real(_text: str, match: re.Match[str]) -> bool:
    return not is_placeholder(match["secret"])


def _random(_text: str, match: re.Match[str]) -> bool:
    return is_random(match["secret"])


def _chosen(_text: str, match: re.Match[str]) -> bool:
    return is_password(match["secret"], literal=False) and any(c.isdigit() for c in match["secret"])


def _telling(_text: str, match: re.Match[str]) -> bool:
    return telling(match["secret"])


@dataclass(frozen=True, slots=True)
class Rule:
    """What the group `secret` holds is a secret of this kind where `accepts` says so. `hints`: no match without one (lower case)."""

    kind: str
    hints: tuple[bytes, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str, re.Match[str]], bool]


_QUOTE = r"\\{0,3}[\"'`]"
_CLIENT = r"sshpass\s{1,3}-p\s{0,3}|(?:redis-cli\b[^\n|;]{0,100}?\s-a|docker login\b[^\n|;]{0,120}?\s-p)\s{1,3}|mysql(?:dump|admin)?\b[^\n|;]{0,100}?\s-p"
RULES = (
    Rule(
        "auth header",
        (b"authorization",),
        re.compile(
            rf"(?i)(?<![a-z0-9])authorization(?:{_QUOTE})?\]?\s{{0,4}}(?:=>|[:=,])\s{{0,4}}[fbru]?(?:{_QUOTE})?"
            r"(?:(?:bearer|basic|token|apikey|api-key|bot|negotiate)\s{1,4})?(?P<secret>[^\s\"'\\,;<>{}$`()\[\]]{8,}+)"
        ),
        _telling,
    ),
    Rule(
        "auth header",
        (b"bearer",),
        re.compile(r"(?i)(?<![a-z0-9])bearer\s{1,4}(?P<secret>[\w.~+/=-]{16,}+)"),
        _telling,
    ),
    Rule("auth header", (b"signature",), re.compile(r"(?i)signature=(?P<secret>[0-9a-f]{64})"), _real),
    Rule(
        "cookie",
        (b"cookie",),
        re.compile(
            rf"(?i)(?<![\w-])(?:set-)?cookie(?:{_QUOTE})?\s{{0,4}}:\s{{0,4}}(?:{_QUOTE})?"
            r"(?P<secret>[\w.!#$%&*+^|~-]{1,80}=[^\r\n\"'\\<>{}()\[\]]{8,4000}+)"
        ),
        _real,
    ),
    Rule(
        "password",
        (b"://",),
        re.compile(r"(?i)(?<=[a-z0-9])://[^\s/:@\"'<>`\\]{0,100}+:(?P<secret>[^\s/\"'<>`\\]{1,300})@(?=[\w.\[$%{*-])"),
        _real,
    ),
    Rule("cloud key", (b"sig=",), re.compile(r"[?&]sig=(?P<secret>[\w%+/=-]{20,}+)"), _random),
    Rule(
        "password",
        (b"curl", b"http ", b"wget"),
        re.compile(r"(?<=\s)(?:-u|--user)[ =]?[\"']?[\w.@+-]{1,100}+:(?P<secret>[^\s\"'@/$<{]{3,200})"),
        _curl,
    ),
    Rule(
        "password",
        (b"sshpass", b"redis-cli", b"docker login", b"mysql"),
        re.compile(rf"(?<![\w-])(?:{_CLIENT})[\"']?(?P<secret>[^\s\"'$<{{-][^\s\"']{{2,200}})"),
        _real,
    ),
    Rule(
        "password",
        (b"password",),
        re.compile(r"(?i)\blogin\s{1,4}\S{1,100}+\s{1,8}password\s{1,4}(?P<secret>\S{4,200})"),
        _real,
    ),
    Rule(
        "password",
        (b"identified",),
        re.compile(r"(?i)\bidentified\s{1,4}by\s{1,4}(?:password\s{1,4})?'(?P<secret>[^'\n]{3,200})'"),
        _real,
    ),
    Rule("password", (b"password",), re.compile(r"(?i)\bpassword\s{1,4}'(?P<secret>[^'\s]{6,200})'"), _chosen),
    Rule(
        "password", (b'"auth"',), re.compile(r"\"auth\"\s{0,4}:\s{0,4}\"(?P<secret>[A-Za-z0-9+/=]{12,}+)\""), _telling
    ),
)

_VENDOR = re.compile(
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))(?:"
    + "|".join(f"(?P<{kind.replace(' ', '_')}>{'|'.join(shapes)})" for kind, shapes in VENDORS.items())
    + ")(?![A-Za-z0-9_])"
)
_SHORTEST, _SHORTEST_OF_ALL = 20, 15  # characters of a vendor's token: of Slack's (`xox`) fewer than of the others
_BEHIND = 20  # characters behind a token that tell its end, or what it is
_TOKEN = bytes(97 if b > 127 or chr(b).isalnum() or chr(b) in "_-./+=:~?" else 32 for b in range(256))
"""Signs of tokens, and all outside ASCII, to `a`, all others to a blank."""

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"(?:[^-]|-(?!----))*+")
_END = re.compile(r"-----END (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_TAIL = re.compile(r"[A-Za-z0-9+/=]{32,}+")
_LINES = re.compile(r"(?:(?:\s|\\[nrt]|\d{1,6}[\t\u2192|:]|[\"'+,>])*+[A-Za-z0-9+/=]{16,}+)++")
_BASE64 = "".join((*map(chr, range(48, 58)), *map(chr, range(65, 91)), *map(chr, range(97, 123)), "+/=\\ \t\r\n"))
_LONGEST_TAIL = 8_000


def patterns(held: Texts) -> Iterator[tuple[int, Find]]:
    """What is a secret by its own shape, or by the words right before it, and in which text."""
    for index, match in _tokens(held):
        kind = (match.lastgroup or "").replace("_", " ")
        if kind in ("webhook", "cloud key", "jwt", "private key") or is_random(match[0]):
            yield index, Find(kind, match.start(), match.end())
    for rule in RULES:
        for index in held.holding(rule.hints):
            text = held.texts[index]
            for match in rule.pattern.finditer(text):
                if rule.accepts(text, match):
                    yield index, Find(rule.kind, match.start("secret"), match.end("secret"))


def _tokens(held: Texts) -> Iterator[tuple[int, re.Match[str]]]:
    """Each match of a vendor's shape, and in which text."""
    for index, low, high in _unbroken(held):
        for match in _VENDOR.finditer(held.texts[index], low, high + _BEHIND):
            if (
                match.start() < high
            ):  # what begins behind is cut off there, and has a turn of its own where it is long enough
                yield index, match


def _unbroken(held: Texts) -> Iterator[tuple[int, int, int]]:
    """Runs of signs that a vendor's token may be in. Translated bytes find them much faster than `re`."""
    run = b"a" * (_SHORTEST_OF_ALL if b"xox" in held.lower else _SHORTEST)
    flat = held.lower.translate(_TOKEN)
    place = flat.find(run)
    while place >= 0:
        end = flat.find(b" ", place)
        end = len(flat) if end < 0 else end
        index, low = held.at(place)
        high = held.at(end)[1]
        if high - low >= _SHORTEST or (high - low >= _SHORTEST_OF_ALL and "xox" in held.texts[index]):
            yield index, low, high
        place = flat.find(run, end)


def keys_of_blocks(held: Texts) -> Iterator[tuple[int, Find]]:
    """Private key blocks: whole ones, those whose end was cut off, and those whose start was."""
    for index in held.holding([b"private key"]):
        for find in _keys(held.texts[index]):
            yield index, find


def _keys(text: str) -> Iterator[Find]:
    done = 0
    for begin in _BEGIN.finditer(text):
        body = _BODY.match(text, begin.end())
        stop = body.end() if body else begin.end()
        end = _END.match(text, stop)
        if end and _TAIL.search(text, begin.end(), stop):
            done = end.end()
            yield Find("private key", begin.start(), done)
        elif not end and (lines := _LINES.match(text, begin.end())):
            yield Find("private key", begin.start(), lines.end())
    for end in _END.finditer(text):
        low = max(done, end.start() - _LONGEST_TAIL)
        before = text[low : end.start()]
        if run := _TAIL.search(before, len(before.rstrip(_BASE64))):
            yield Find("private key", low + run.start(), end.end())
        done = end.end()
