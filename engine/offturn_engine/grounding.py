"""Is what a summary names in its source? Paths, URLs, amounts and identifiers are looked up; prose is not judged.

One linear pass over each text. A wrong refusal costs a paid call, so forms a careful writer may change are equal: case,
thousands separators, a path's leading folders, an abbreviated hash, a rounded decimal, a number in words,
with `k` or in a smaller unit.
Counts below ten and list numbers are never looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from offturn_engine.amounts import (
    DECIMAL_COMMA,
    JOINED,
    THOUSANDS,
    Amount,
    amounts,
    in_latin,
    written,
)
from offturn_engine.runs import Words
from offturn_engine.source_forms import Known

_TOKEN = re.compile(r"[A-Za-z0-9_./\\~@+%#:=?&$-]+")
_PIECE = re.compile(r"[A-Za-z0-9_.\-]+")
_ATOM = re.compile(r"[A-Za-z0-9]+")
_NAMING = re.compile(r"[\d_/\\]|\.[A-Za-z]|--|[A-Za-z][A-Z]")
"""Without one of these a text names nothing."""
_SPLIT = re.compile(r"[:=?&#@%+$]+")
_SEPARATOR = re.compile(r"[._-]")
_STEM = re.compile(r"([^\W\d_]{4})[^\W\d_]*|(?<=[\u3040-\u9fff\uac00-\ud7af])([\u3040-\u9fff\uac00-\ud7af])")
_DIGITS = re.compile(r"\d+")
_SMALL_RANGE = re.compile(r"\d(?:-\d)+")
_POINTS = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{3}){2,4}(?![\w.]*\d)")
_LIST_NUMBER = re.compile(r"^[^\S\n]*(?:[-*+][^\S\n]+)?\d{1,3}(?:\.\d{1,2})?[.):](?=\s)", re.MULTILINE)

_NUMBER = re.compile(r"v?(\d+(?:\.\d+)*)")
_MEASURE = re.compile(r"(\d+(?:\.\d+)?)-?([A-Za-z%]{1,12}(?:-[A-Za-z]+)*)")
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*\.([A-Za-z][A-Za-z0-9]{0,9})")
_SNAKE = re.compile(r"_*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*")
_CAMEL = re.compile(r"[a-z]{2,}[A-Z][a-z][A-Za-z0-9]*|(?:[A-Z][a-z]+){3,}|[A-Z][A-Za-z]+(?:Error|Exception|Warning)")
_HEX = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_TICKET = re.compile(r"([A-Z][A-Z0-9]+)-(\d+)")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_EXTENSIONS = _set(
    "py pyi js jsx ts tsx mjs cjs json jsonl yaml yml toml ini cfg conf env md rst txt log csv tsv xml html htm css scss "
    "sh bash zsh ps1 bat sql db sqlite go rs c h cc cpp hpp java kt swift rb php pl lua ipynb lock mod sum gradle "
    "dockerfile tf proto vue svelte png jpg jpeg gif svg webp pdf doc docx xls xlsx ppt pptx zip tar gz tgz whl exe so "
    "dll bin wasm patch diff pem key crt service plist properties ex exs erl hs scala dart cs fs vb com org"
)
_COMMON = _set(
    "node.js next.js vue.js nuxt.js react.js three.js d3.js express.js e2e i18n l10n a11y k8s utf8 utf16 sha1 sha256 "
    "sha512 md5 base64 base32 x86 x64 amd64 arm64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 "
    "float64 win32 oauth2 http2 http3 ipv4 ipv6 mp3 mp4 s3 ec2 p50 p90 p95 p99 ed25519"
)
_MOST = 50


def anchors(text: str) -> set[str]:
    """What a text names that must have a source: paths, URLs, versions, numbers from ten up, identifiers."""
    return set(_anchors(text))


def ungrounded(summary: str, source: str) -> list[str]:
    """The summary's anchors that the source does not hold, in order, at most 50. Data: never for logs or errors."""
    known = Known(source)
    found: dict[str, None] = {}
    for anchor in _anchors(summary):
        if anchor not in found and not _grounded(anchor, known):
            found[anchor] = None
            if len(found) == _MOST:
                break
    return list(found)


def familiar(summary: str, source: Words) -> float:
    """The share of the summary's words, by their first letters, that the source holds too; 1.0 without words."""
    words = _stems(Words(summary))
    return len(words & _stems(source)) / len(words) if words else 1.0


def _stems(text: Words) -> set[str]:
    found = {word[:4] for word in text.plain if len(word) >= 4}
    found.update(match[1] or match[2] for match in _STEM.finditer(text.other))
    return found


def _anchors(text: str) -> Iterator[str]:
    if _NAMING.search(text) is None:
        return
    plain = DECIMAL_COMMA.sub(".", THOUSANDS.sub("", _LIST_NUMBER.sub(" ", text)))
    plain = _POINTS.sub(lambda match: match[0].replace(".", ""), plain)
    plain = JOINED.sub("", in_latin(plain))
    for match in _TOKEN.finditer(plain):
        token = match[0].rstrip(".:=?&#%+-$\\")
        if token.islower() and token.isalpha():  # most are, and none of these is a name
            continue
        if "://" in token:
            yield token
        else:
            for word in _SPLIT.split(token):
                yield from _word_anchors(word.rstrip(".-"))


def _word_anchors(word: str) -> Iterator[str]:
    flag = word.startswith("--") and len(word) > 3 and "/" not in word
    if flag or _is_path(word):
        yield word
    else:
        for piece in re.split(r"[/\\~]+", word):
            yield from _piece_anchors(piece.strip(".-"))


def _piece_anchors(piece: str) -> Iterator[str]:
    """The piece as a whole where it is a number, a file or an identifier; else the dotted names it is made of."""
    if _is_anchor(piece):
        yield piece
    elif "." in piece:
        yield from filter(_is_anchor, piece.split("."))


def _is_path(token: str) -> bool:
    """Slashes alone do not make one: `and/or` and `CI/CD` are prose."""
    if "/" not in token and "\\" not in token:
        return False
    parts = [part for part in re.split(r"[/\\]+", token) if part]
    if not parts or max(map(len, parts)) < 2:
        return False
    if token.startswith(("/", "\\", "~/", "./", "../")):
        return True
    return any("_" in part or _is_file(part) for part in parts)


def _is_file(piece: str) -> bool:
    match = _FILE.fullmatch(piece)
    return match is not None and match[1].lower() in _EXTENSIONS


def _is_anchor(piece: str) -> bool:
    if len(piece) < 2 or piece.lower() in _COMMON or _SMALL_RANGE.fullmatch(piece):
        return False
    if number := _NUMBER.fullmatch(piece):
        return "." in number[1] or int(number[1][:6]) >= 10
    if measure := _MEASURE.fullmatch(piece):
        return "." in measure[1] or float(measure[1][:6]) >= 10 or any(one.scaled for one in amounts(piece))
    shapes = (_SNAKE, _CAMEL, _HEX, _TICKET)
    if _is_file(piece) or any(shape.fullmatch(piece) for shape in shapes):
        return True
    runs = _DIGITS.findall(piece)
    return len(runs) > 1 or any(len(run) > 1 for run in runs)


def _grounded(anchor: str, known: Known) -> bool:
    lowered = anchor.lower()
    if "/" in anchor or "\\" in anchor:
        return _path_grounded(lowered, known)
    if anchor.startswith("--"):
        return known.piece(lowered[2:])
    if known.piece(lowered) or known.hash(lowered) or known.piece(_SEPARATOR.sub("", lowered)):
        return True
    if number := _NUMBER.fullmatch(lowered):
        return known.number(number[1])
    if measure := _MEASURE.fullmatch(lowered):
        return _amount_known(measure[1], next(amounts(anchor), None), known)
    if _is_file(anchor) or _SNAKE.fullmatch(anchor) or _HEX.fullmatch(anchor):
        return False
    return all(map(known.atom, _ATOM.findall(lowered)))


def _amount_known(digits: str, amount: Amount | None, known: Known) -> bool:
    """An amount in whatever exact unit, one that was rounded, or the number alone where nothing multiplies it."""
    if amount is None or amount.bare:
        return known.number(digits) or any(known.scaled(power, digits) for power in (3, 6, 9))
    if known.gives(amount.readings) or any(known.number(written(n)) for n in (*amount.counts, *amount.counted)):
        return True
    powers = _powers(digits, amount)
    if known.number(digits) and (not amount.scaled or powers & known.apart):
        return True
    return any(known.scaled(power, digits) for power in powers)


def _powers(digits: str, amount: Amount) -> set[int]:
    """By which powers of ten a number may have been divided to have these digits: seconds are of milliseconds."""
    found: set[int] = set()
    for kind, value in amount.readings:
        factor = value / Decimal(digits) if Decimal(digits) else Decimal(1)
        found.update(power for power in (3, 6, 9) if factor * (1_000 if kind == "time" else 1) == 10**power)
    return found


def _path_grounded(path: str, known: Known) -> bool:
    """A file by its name in the folder it is said to be in, anything else by every component."""
    parts = [part.strip(".-") for part in _PIECE.findall(path.split("://", 1)[-1])]
    parts = [part for part in parts if part]
    if "://" not in path and parts and _is_file(parts[-1]):
        name = parts[-1]
        if not known.piece(name) or len(parts) < 2:
            return known.piece(name)
        return known.placed(parts[-2], name) or (known.bare(name) and known.piece(parts[-2]))
    return all(known.piece(part) or known.number(part) for part in parts)
