"""What a sentence says of what: the specific values in it, by shape, and the words that are left when they are taken out.

Two sentences with a value of one shape and mostly the same other words speak of the same thing; the later one holds.
Shapes are a table; words compare by their first letters, in scripts without spaces by pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache

from offturn_engine.cues import words_in

LONGEST = 400  # characters of a sentence that are looked at
REMEMBERED = 4_096  # sentences: a ledger is shown several times, and its statements are in the next one too

_MONTHS = (
    "january|february|march|april|june|july|august|september|october|november|december"
    "|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
_DAYS = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    "|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo"
)
_REFERRING = "id|code|number|reference|confirmation|tracking"
_DATE = r"\b\d{4}[-/]\d{1,2}[-/]\d{1,2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|(?:\d{2,4}年)?\d{1,2}月\d{1,2}[日号號]"
_DAY = r"(?:星期|周|週|礼拜|禮拜)[一二三四五六日天]"

SHAPES: Mapping[str, str] = {
    "url": r"\b[a-z][a-z0-9+.-]{1,10}://[^\s<>\"'`\uff0c\u3002\uff09)]{3,200}",
    "email": r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b",
    "reference": rf"\b(?i:{_REFERRING})\b"
    r"(?i: is|:)? [*`'\"#]{0,3}(?=[A-Z0-9_-]{0,20}[A-Z0-9])[A-Z0-9][A-Z0-9_-]{4,20}\b",
    "quoted": r"`[^`\n]{1,80}`|\u201c[^\u201d\n]{1,60}\u201d|\u300c[^\u300d\n]{1,60}\u300d|\u00ab[^\u00bb\n]{1,60}\u00bb|(?<!\w)\"[^\"\n]{1,60}\"",
    "money": r"[$€£¥\uffe5]\s?\d[\d.,]{0,15}\d?(?:\s?(?:k|m|million|thousand)\b)?|\b\d[\d.,]{0,15}\s?(?i:usd|eur|gbp|cny|rmb|dollars?|euros?|d[oó]lares)\b|\d[\d.,]{0,15}\s?(?:元|美元|欧元|块|塊)",
    "date": rf"{_DATE}|\b(?i:{_MONTHS})\s\d{{1,2}}\b|\b\d{{1,2}}\s(?:de\s)?(?i:{_MONTHS})\b",
    "weekday": rf"\b(?i:{_DAYS})s?\b|{_DAY}",
    "time": r"\b\d{1,2}:\d{2}(?::\d{2})?\b(?:\s?[ap]m\b)?|\b\d{1,2}\s?[ap]m\b",
    "part": r"(?i:\b\d{1,4}(?:-\d{1,4})? (?:of|de|out of|/) \d{1,4}\b)|第\d{1,4}",
    "version": r"\bv?\d{1,4}\.\d{1,4}(?:\.\d{1,5}){0,2}(?:-?(?:rc|alpha|beta|dev)\.?\d{0,4})?\b",
    "percent": r"\d[\d.,]{0,10}\s?%",
    "issue": r"(?<![\w&])#\d{1,7}\b",
    "address": r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b|\b(?i:port|puerto)\s\d{2,5}\b|端口\s?\d{2,5}|\blocalhost:\d{2,5}\b",
    "host": r"\b(?:[a-z0-9-]{1,63}\.){1,5}(?:com|net|org|io|dev|app|ai|co|de|es|cn|eu|uk|internal|local|lan|cloud|test)\b(?::\d{2,5})?",
    "hash": r"\b(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}\b",
    "path": r"(?<![\w/])(?:~?/|\.{1,2}/)?[\w.@+-]{1,80}(?:/[\w.@+-]{1,80}){1,12}/?|\b[\w-]{1,60}\.(?:py|js|tsx?|jsx|go|rs|java|rb|php|c|h|cpp|cs|md|rst|txt|json|ya?ml|toml|ini|cfg|sh|sql|html?|css|csv|log|lock|env|xml|conf)\b",
    "code": r"\b(?!\d{1,6}-?[a-z]{1,12}\b)(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Za-z])[A-Za-z0-9]{1,30}(?:[-_][A-Za-z0-9]{1,30}){0,6}\b",
    "symbol": r"\b[a-z]{1,30}(?:_[a-z0-9]{1,30}){1,8}\b|\b[a-zA-Z][a-z0-9]{0,30}[A-Z]\w{1,40}\b",
    "capitals": r"\b[A-Z][A-Z]{2,30}\b",
    "number": r"(?<![\w.])\d[\d.,]{0,14}(?![\w.])",
    "name": r"(?<=[\w\"'\u2019,:;)] )(?:[A-ZÀ-Þ][\w'\u2019-]{1,30})(?: [A-ZÀ-Þ][\w'\u2019-]{1,30}){0,3}|^(?:[A-ZÀ-Þ][\w'\u2019-]{1,30})(?: [A-ZÀ-Þ][\w'\u2019-]{1,30}){1,3}",
}
"""Shapes in the order they are tried at each place; `name` is a capital where no sentence starts."""

WEAK = frozenset({"number", "path", "quoted", "time", "percent", "capitals", "symbol"})
"""Shapes that a sentence of anything may hold; they alone make no statement worth keeping."""

SURE = frozenset({"url", "email", "reference", "money", "date", "issue", "address", "host", "hash", "code"})
"""Shapes for which also what the agent tells is kept."""

_STARTS = r"(?=\S)(?:(?<!\w)|(?![A-Za-z_]))"
"""No value starts at a blank or inside a word: there none of the many shapes is tried."""


def _shapes(table: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile(f"{_STARTS}(?:{'|'.join(f'(?P<{name}>{pattern})' for name, pattern in table.items())})")


_SHAPE = _shapes(SHAPES)
_UNNAMED = _shapes({name: p for name, p in {**SHAPES, "date": _DATE, "weekday": _DAY}.items() if name != "reference"})
"""The same without what takes a month, a day of the week or a word that refers, and most of the time."""

_NAMING = frozenset(
    word
    for names in (_MONTHS, _DAYS, _REFERRING)
    for name in names.split("|")
    for spelled in (name.replace("[eé]", "e").replace("[aá]", "a"), name.replace("[eé]", "é").replace("[aá]", "á"))
    for word in (spelled, f"{spelled}s")
)
_PLAIN = re.compile(r"[A-Za-z][a-z ,;:!?()'-]*\.{0,3}")
"""A sentence of words alone. In such a one `_UNNAMED` finds nothing, and takes twenty times as long for it."""

_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isalpha() else ord(" ") for code in range(128)) + bytes(128)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")
STEM = 5
SAME = 0.4  # of the words of two sentences, in common

EMPTY_WORDS = """
a an the this that these those of to in on at by for from with without and or nor but not no never ever always only
just is are was were be been being am it its he she they them their we us our you your yours i me my mine who whom
which what when where why how if then else so as than too very may might must shall should can could will would do
does did done has have had having let lets please now later after before until while during under over into onto about
above below up out user users customer client all any each every some none nobody anyone anybody everyone someone both
either neither one ones other another same such per there here also again still yet more most less least own need
needs needed want wants get gets got go goes make makes made use uses used using keep keeps kept stay stays
circumstances ok okay actually currently current instead el la los las un una unos unas de del al en con sin por para
y o u ni pero nunca siempre solo sólo es son está están fue era ser estar hay lo le les se su sus mi mis tu tus que
qué quien cual como cuando donde si más menos muy ya también todo toda todos todas cada este esta estos estas ese esa
eso debe deben debes usar usa usamos ahora antes después
"""
"""Words that say nothing of what a sentence is about: English, Spanish."""

_STOP = frozenset(EMPTY_WORDS.split())
_STOP_CJK = re.compile(
    r"[的了改是在为為和与與把被请請要不必须須应應该該会會都就也還还这這那个個我你他她它们們用只将將已从從到时時]"
)


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence taken apart. values: (shape, text as written), in order; words: stems of what is left; shapes: of the values."""

    values: tuple[tuple[str, str], ...]
    words: frozenset[str]
    shapes: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shapes", frozenset(shape for shape, _ in self.values))

    @property
    def strong(self) -> bool:
        """Is there a value that is worth keeping the sentence for?"""
        return not self.shapes <= WEAK

    @property
    def sure(self) -> bool:
        """Is there one that nobody writes by the way?"""
        return not self.shapes.isdisjoint(SURE)


def may_be_sure(sentence: str, words: AbstractSet[str]) -> bool:
    """May it hold a value that nobody writes by the way? `words`: its words, in lower case."""
    if "@" in sentence or "://" in sentence or "." in sentence.rstrip(".") or _DIGIT.search(sentence):
        return True
    return not _NAMING.isdisjoint(words)


def taken_apart(sentence: str) -> Said:
    """The values of a sentence and the stems of its other words."""
    return _taken_apart(sentence[:LONGEST])


@lru_cache(maxsize=REMEMBERED)
def _taken_apart(text: str) -> Said:
    values: list[tuple[str, str]] = []
    rest: list[str] = []
    at = 0
    named = not _NAMING.isdisjoint(words_in(text))
    bare = not named and _PLAIN.fullmatch(text) is not None
    for match in () if bare else (_SHAPE if named else _UNNAMED).finditer(text):
        shape = match.lastgroup or ""
        values.append((shape, match[0].strip(' .,;:`"\u201c\u201d\u300c\u300d')))
        rest.append(text[at : match.start()])
        at = match.end()
    rest.append(text[at:])
    return Said(tuple(values), words_of(" ".join(rest)))


def words_of(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning."""
    if text.isascii():
        words = text.encode().translate(_LETTERS).decode().split()
        return frozenset([w[:STEM] for w in words if len(w) > 1 and w not in _STOP])
    found = {w[:STEM] for w in _WORD.findall(text.lower()) if w not in _STOP and not _CJK.match(w)}
    for run in _CJK.findall(text):
        for piece in _STOP_CJK.split(run):
            found.update(piece[i : i + 2] for i in range(max(1, len(piece) - 1)) if piece)
    return frozenset(found)


def same_matter(one: Said, other: Said, share: float = SAME) -> bool:
    """Do both speak of one thing: a value of one shape, and at least `share` of all their other words in common?"""
    common = len(one.words & other.words)
    if common < share * (len(one.words) + len(other.words) - common):
        return False
    return (common > 1 or one.words == other.words) and not one.shapes.isdisjoint(other.shapes)


def changed(old: Said, new: Said) -> str:
    """The old value of the first shape whose values differ; "" where none does."""
    for shape, value in old.values:
        now = [v.lower() for s, v in new.values if s == shape]
        if now and value.lower() not in now:
            return value
    return ""
