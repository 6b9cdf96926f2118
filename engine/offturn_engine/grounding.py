"""Is what a summary names in its source? Paths, URLs, amounts and identifiers are looked up; prose is not judged.

One linear pass over each text. A wrong refusal costs a paid call, so forms a careful writer may change are equal: case,
thousands separators, a path's leading folders, an abbreviated hash, a rounded decimal, a number in words,
with `k` or in a smaller unit.
Counts below ten and list numbers are never looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(r"[A-Za-z0-9_./\\~@+%#:=?&$-]+")
_PIECE = re.compile(r"[A-Za-z0-9_.\-]+")
_ATOM = re.compile(r"[A-Za-z0-9]+")
_SPLIT = re.compile(r"[:=?&#@%+$]+")
_SEPARATOR = re.compile(r"[._-]")
_WORD_NUMBER = re.compile(r"([a-z]+)(\d+)")
_STEM = re.compile(r"([^\W\d_]{4})[^\W\d_]*|(?<=[\u3040-\u9fff\uac00-\ud7af])([\u3040-\u9fff\uac00-\ud7af])")
_DIGITS = re.compile(r"\d+")
_THOUSANDS = re.compile(r"(?<=\d)[,_'\u00a0\u202f](?=\d{3}(?!\d))")
_SMALL_RANGE = re.compile(r"\d(?:-\d)+")
_THOUSANDTHS = re.compile(
    r"(?i)(?<=\d)[^\S\n](?=(?:s|secs?|seconds?|segundos?|sekunden|[kmg]b|k|thousand|million|mil|millones|tausend|millionen)\b)"
)
_TIMES = re.compile(
    r"(?<![\w.])(\d{1,6}(?:\.\d{1,3})?)[^\S\n]?(k|thousand|mil|tausend|m|millions?|mill[oó]n(?:es)?|million(?:en)?|[千万萬亿億])(?![a-z])"
)
_ONES = "\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d"
_PERCENT = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d)?)[^\S\n]?%")
_PM = re.compile(r"(?<![\w.])(1[01]|[1-9])(?::\d\d)?[^\S\n]?p\.?m\b")
_SPAN = re.compile(
    r"(?<![\w.])(\d{1,6})[^\S\n]?(?:(s|secs?|seconds?|segundos?|sekunden?|\u79d2|[gm]b)|(min|mins|minutes?|minutos?|minuten?|\u5206\u949f)"
    r"|(h|hours?|horas?|stunden?|\u5c0f\u65f6)|(days?|d[i\u00ed]as?|tagen?|\u5929)|(weeks?|semanas?|wochen?|\u5468))(?![a-z])"
)
_SMALLER = ((1_000, 1_024), (60, 60_000), (60, 3_600), (24,), (7,))
"""By what a span or a size of each group of `_SPAN` is multiplied in a smaller unit."""
_SPELLED = re.compile(rf"[a-z\u00e0-\u017f]{{3,}}|\u4e00[\u767e\u5343]|[{_ONES}]?\u5341[{_ONES}]?")
_LIST_NUMBER = re.compile(r"^[^\S\n]*(?:[-*+][^\S\n]+)?\d{1,3}(?:\.\d{1,2})?[.):](?=\s)", re.MULTILINE)
_ESCAPES = re.compile(r"\\[nrt\"]")

_NUMBER = re.compile(r"v?(\d+(?:\.\d+)*)")
_MEASURE = re.compile(r"(\d+(?:\.\d+)?)-?([A-Za-z%]{1,12}(?:-[A-Za-z]+)*)")
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*\.([A-Za-z][A-Za-z0-9]{0,9})")
_SNAKE = re.compile(r"_*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*")
_CAMEL = re.compile(r"[a-z]{2,}[A-Z][a-z][A-Za-z0-9]*|(?:[A-Z][a-z]+){3,}|[A-Z][A-Za-z]+(?:Error|Exception|Warning)")
_HEX = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_TICKET = re.compile(r"([A-Z][A-Z0-9]+)-(\d+)")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_IN_WORDS = {
    word: str(value)
    for value, words in (
        (10, "ten diez zehn \u5341"),
        (11, "eleven elf \u5341\u4e00"),
        (12, "twelve dozen doce docena zw\u00f6lf dutzend \u5341\u4e8c"),
        (13, "thirteen trece dreizehn"),
        (14, "fourteen catorce vierzehn"),
        (15, "fifteen quince f\u00fcnfzehn \u5341\u4e94"),
        (16, "sixteen diecis\u00e9is sechzehn"),
        (17, "seventeen diecisiete siebzehn"),
        (18, "eighteen dieciocho achtzehn"),
        (19, "nineteen diecinueve neunzehn"),
        (20, "twenty veinte zwanzig \u4e8c\u5341"),
        (30, "thirty treinta drei\u00dfig \u4e09\u5341"),
        (40, "forty cuarenta vierzig \u56db\u5341"),
        (50, "fifty cincuenta f\u00fcnfzig \u4e94\u5341"),
        (60, "sixty sesenta sechzig \u516d\u5341"),
        (70, "seventy setenta siebzig"),
        (80, "eighty ochenta achtzig \u516b\u5341"),
        (90, "ninety noventa neunzig"),
        (100, "hundred cien hundert \u4e00\u767e"),
        (1_000, "thousand tausend \u4e00\u5343"),
    )
    for word in words.split()
}
_FACTOR = {
    "k": 1_000,
    "t": 1_000,
    "mil": 1_000,
    "m": 1_000_000,
    "\u5343": 1_000,
    "\u4e07": 10_000,
    "\u842c": 10_000,
    "\u4ebf": 10**8,
    "\u5104": 10**8,
}
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


@dataclass(slots=True)
class _Known:
    """Every form of the source a summary's anchor is compared with."""

    pieces: set[str] = field(default_factory=set)  # between slashes, colons and the like: `app.py`, `PAY-482`
    atoms: set[str] = field(default_factory=set)  # letters and digits only: `app`, `py`
    numbers: set[str] = field(default_factory=set)
    scaled: set[str] = field(default_factory=set)  # of large numbers, in thousands and millions
    hexes: set[str] = field(default_factory=set)  # starts of hashes
    pairs: set[str] = field(default_factory=set)  # a name with the folder it stands in: `src/app.py`
    bare: set[str] = field(default_factory=set)  # a name that stands in no folder, as a listing shows it


def anchors(text: str) -> set[str]:
    """What a text names that must have a source: paths, URLs, versions, numbers from ten up, identifiers."""
    return set(_anchors(text))


def ungrounded(summary: str, source: str) -> list[str]:
    """The summary's anchors that the source does not hold, in order, at most 50. Data: never for logs or errors."""
    known = _known(source)
    found: dict[str, None] = {}
    for anchor in _anchors(summary):
        if anchor not in found and not _grounded(anchor, known):
            found[anchor] = None
            if len(found) == _MOST:
                break
    return list(found)


def familiar(summary: str, source: str) -> float:
    """The share of the summary's words, by their first letters, that the source holds too; 1.0 without words."""
    words = _stems(summary)
    return len(words & _stems(source)) / len(words) if words else 1.0


def _stems(text: str) -> set[str]:
    return {match[1] or match[2] for match in _STEM.finditer(text.lower())}


def _anchors(text: str) -> Iterator[str]:
    plain = _THOUSANDTHS.sub("", _THOUSANDS.sub("", _LIST_NUMBER.sub(" ", text)))
    for match in _TOKEN.finditer(plain):
        token = match[0].rstrip(".:=?&#%+-$\\")
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
        return "." in measure[1] or float(measure[1][:6]) >= 10
    shapes = (_SNAKE, _CAMEL, _HEX, _TICKET)
    if _is_file(piece) or any(shape.fullmatch(piece) for shape in shapes):
        return True
    runs = _DIGITS.findall(piece)
    return len(runs) > 1 or any(len(run) > 1 for run in runs)


def _grounded(anchor: str, known: _Known) -> bool:
    lowered = anchor.lower()
    if "/" in anchor or "\\" in anchor:
        return _path_grounded(lowered, known)
    if anchor.startswith("--"):
        return lowered[2:] in known.pieces
    if lowered in known.pieces or lowered in known.hexes or _SEPARATOR.sub("", lowered) in known.pieces:
        return True
    if number := _NUMBER.fullmatch(lowered):
        return number[1] in known.numbers
    if measure := _MEASURE.fullmatch(lowered):
        return measure[1] in known.numbers or measure[1] in known.scaled
    if _is_file(anchor) or _SNAKE.fullmatch(anchor) or _HEX.fullmatch(anchor):
        return False
    return all(_atom_known(atom, known) for atom in _ATOM.findall(lowered))


def _atom_known(atom: str, known: _Known) -> bool:
    if atom in known.atoms or atom in known.numbers:
        return True
    split = _WORD_NUMBER.fullmatch(atom)
    return split is not None and split[1] in known.atoms and split[2] in known.numbers


def _path_grounded(path: str, known: _Known) -> bool:
    """A file by its name in the folder it is said to be in, anything else by every component."""
    parts = [part.strip(".-") for part in _PIECE.findall(path.split("://", 1)[-1])]
    parts = [part for part in parts if part]
    if "://" not in path and parts and _is_file(parts[-1]):
        name = parts[-1]
        placed = len(parts) < 2 or "/".join(parts[-2:]) in known.pairs
        return name in known.pieces and (placed or (name in known.bare and parts[-2] in known.pieces))
    return all(part in known.pieces or part in known.numbers for part in parts)


def _known(source: str) -> _Known:
    known = _Known()
    plain = source.lower()
    known.numbers.update(_IN_WORDS[word] for word in set(_SPELLED.findall(plain)) & _IN_WORDS.keys())
    known.numbers.update(str(int(hour) + 12) for hour in _PM.findall(plain))
    for value, *units in _SPAN.findall(_THOUSANDS.sub("", plain)):
        smaller = next(factors for unit, factors in zip(units, _SMALLER, strict=True) if unit)
        known.numbers.update(str(int(value) * factor) for factor in smaller)
    known.numbers.update(f"{float(percent) / 100:g}" for percent in _PERCENT.findall(plain))
    for match in _TIMES.finditer(_THOUSANDS.sub("", plain)):
        unit = match[2]
        known.numbers.add(f"{float(match[1]) * (_FACTOR.get(unit) or _FACTOR[unit[0]]):.0f}")
    # `[10,200]` is two numbers, `10,200` one; a line break escaped inside JSON glues its letter to the next word
    for text in dict.fromkeys((plain, _THOUSANDS.sub("", plain), _ESCAPES.sub(" ", plain))):
        folder = ""
        end = -1
        for match in _PIECE.finditer(text):
            piece = match[0].strip(".-")
            _learn(piece, known)
            inside = match.start() == end + 1 and text[end] in "/\\"
            if inside:
                known.pairs.add(f"{folder}/{piece}")
            else:
                known.bare.add(piece)
            folder, end = piece, match.end()
    return known


def _learn(piece: str, known: _Known) -> None:
    if piece in known.pieces:
        return
    fields = piece.split(".")[:8]
    known.pieces.update((piece, _SEPARATOR.sub("", piece), *fields))
    known.pieces.update(".".join(fields[start:]) for start in range(1, len(fields)))
    known.atoms.update(_ATOM.findall(piece))
    for digits in _DIGITS.findall(piece):
        _learn_number(digits, known)
    for match in _NUMBER.finditer(piece):
        _learn_decimal(match[1], known)
    if _HEX.fullmatch(piece):
        known.hexes.update(piece[:end] for end in range(7, min(len(piece), 16)))


def _learn_number(digits: str, known: _Known) -> None:
    known.numbers.update((digits, digits.lstrip("0") or "0"))
    if 4 <= len(digits) <= 12:
        value = int(digits)
        for unit in (1_000, 1_000_000):
            known.scaled.update((f"{value / unit:.0f}", f"{value / unit:.1f}"))


def _learn_decimal(text: str, known: _Known) -> None:
    """A dotted number with its starts (`3.11` of `3.11.4`), and a decimal's roundings."""
    fields = text.split(".")[:8]
    known.numbers.update(".".join(fields[:end]) for end in range(1, len(fields) + 1))
    if len(fields) == 2 and len(text) <= 16:
        value = float(text)
        known.numbers.update((f"{value:.0f}", f"{value:.1f}", f"{value:.2f}"))
        if value <= 1:
            known.numbers.add(f"{value * 100:.0f}")
