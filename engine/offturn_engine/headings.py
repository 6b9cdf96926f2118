"""A summarizer's answer taken apart: what surrounds it, and its sections by heading.

Tolerant of form, because models vary it: case, `&` for `and`, numbers, bold, colons, a preface, a code fence around
the whole, reasoning in tags. What a section says is judged elsewhere.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import pairwise

from offturn_engine.template import xml_sections

_THINK_OPEN = re.compile(r"<(think|thinking|reasoning|analysis)>", re.IGNORECASE)
_THINK_CLOSE = {tag: re.compile(f"</{tag}>", re.IGNORECASE) for tag in ("think", "thinking", "reasoning", "analysis")}
_WRAPPER = re.compile(r"```\w*|</?(?:summary|record|answer|output)>", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]+")
_HASHED = re.compile(r"\s{0,3}#{1,6}\s*(.*)")
_BOLD = re.compile(r"\s{0,3}(?:\d{1,2}[.)]\s*)?(?:\*\*|__)([^*_\n]+)(?:\*\*|__)(.*)")
_PLAIN = re.compile(r"\s{0,3}(?:\d{1,2}[.)]\s*)?([^-*:\uff1a\n][^:\uff1a\n]{2,40})[:\uff1a]\s*")
_NOTHING = re.compile(
    r"(?:none|nothing|nil|null|n\s?a|not applicable|no|empty|tbd|todo|ninguno|ninguna|nada|no aplica|nenhum|nenhuma|aucun|aucune|rien"
    r"|keine?|keiner|nichts|nessuno|nessuna|niente|geen|brak|yok|ingen|inga|無|无|暂无|沒有|没有|なし|特になし|없음|нет)"
    r"(?:\s+(?:yet|so far|at this time|at the moment|currently|known|por ahora|noch|pour le moment))?",
    re.IGNORECASE,
)
_EDGES = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Answer:
    """`bodies` by title, only of headings found; `preface` is what stands before the first of them."""

    text: str
    preface: str
    bodies: Mapping[str, str]


def answer(text: str, titles: Sequence[str]) -> Answer:
    """Take an answer apart. Without any known heading all of it is preface."""
    text = unwrapped(text)
    lines = text.splitlines()
    keys = {_key(title): title for title in titles}
    tagged = {title: _body([body]) for name, body in xml_sections(text) if (title := keys.get(_key(unescape(name))))}
    if tagged:
        return Answer(text, text[: text.index("<section")].strip(), tagged)
    marks = max((_marks(lines, keys, style) for style in (_hashed, _bold, _plain)), key=_distinct)
    starts = [*marks, len(lines)]
    bodies: dict[str, list[str]] = defaultdict(list)
    for start, end in pairwise(starts):
        title, rest = marks[start]
        bodies[title].append(_body([rest, *lines[start + 1 : end]]))
    return Answer(
        text, "\n".join(lines[: starts[0]]).strip(), {t: "\n".join(filter(None, b)) for t, b in bodies.items()}
    )


def unwrapped(text: str) -> str:
    """The text without reasoning in tags and without a code fence or tag around the whole."""
    lines = _without_reasoning(text).strip().split("\n")
    while len(lines) > 2 and _WRAPPER.fullmatch(lines[0].strip()) and _WRAPPER.fullmatch(lines[-1].strip()):
        lines = "\n".join(lines[1:-1]).strip().split("\n")
    return "\n".join(lines)


def is_nothing(body: str) -> bool:
    """Does a body (or one bullet) say that there is nothing, in whatever words, or hold no letter at all?"""
    bare = _EDGES.sub(" ", body).strip()
    return not _WORDS.search(bare) or _NOTHING.fullmatch(bare) is not None


def _without_reasoning(text: str) -> str:
    """One pass; an opening tag that is never closed is kept, so that nothing after it is lost."""
    kept: list[str] = []
    at = 0
    while opened := _THINK_OPEN.search(text, at):
        closed = _THINK_CLOSE[opened[1].lower()].search(text, opened.end())
        if closed is None:
            break
        kept.append(text[at : opened.start()])
        at = closed.end()
    return "".join([*kept, text[at:]])


_Style = Callable[[str], tuple[str, str] | None]


def _marks(lines: Sequence[str], keys: Mapping[str, str], style: _Style) -> dict[int, tuple[str, str]]:
    """Line number -> (title, rest of the line) of the headings in one style."""
    found: dict[int, tuple[str, str]] = {}
    for i, line in enumerate(lines):
        if len(line) < 2000 and (split := style(line)) is not None and (title := keys.get(_key(split[0]))) is not None:
            found[i] = (title, split[1])
    return found


def _distinct(marks: Mapping[int, tuple[str, str]]) -> int:
    return len({title for title, _ in marks.values()})


def _hashed(line: str) -> tuple[str, str] | None:
    match = _HASHED.match(line)
    if match is None:
        return None
    title, _, rest = match[1].replace("\uff1a", ":").partition(":")
    return title, rest.strip(" *_")


def _bold(line: str) -> tuple[str, str] | None:
    match = _BOLD.match(line)
    return (match[1], match[2].strip(" :")) if match else None


def _plain(line: str) -> tuple[str, str] | None:
    match = _PLAIN.fullmatch(line)
    return (match[1], "") if match else None


def _key(title: str) -> str:
    """What two spellings of a heading share: words without case, number, `and` and plural."""
    words = _WORDS.findall(title.lower())
    return " ".join(word.rstrip("s") for word in words if word != "and")


def _body(lines: Sequence[str]) -> str:
    """A section's text: no headings of its own level, no blank edges; "" where it says there is nothing."""
    text = "\n".join(_demoted(line.rstrip()) for line in lines).strip()
    return "" if is_nothing(text) else text


def _demoted(line: str) -> str:
    match = _HASHED.match(line) if line.lstrip().startswith(("# ", "## ")) else None
    return f"**{match[1].strip(' #*')}**" if match else line
