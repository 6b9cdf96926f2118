"""What a template is: the sections a summarizer is asked for, literal titles in order, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

Style = Literal["markdown", "xml"]

_XML = re.compile(
    r"""<section\s+title=["']([^"'<>\n]{1,200})["']\s*>(.*?)(?:</section>|(?=<section\s)|\Z)""", re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """Titles with one guiding sentence each; a changed text needs a new `version`.

    parents: the heading a title stands under. by_code: titles a model is not asked for, because code writes them.
    update: what is said of moving entries when a record is updated. style: `xml` writes `<section title="...">`.
    facts: files and commands have no section of their own. quotes: the user's key phrases are wanted word for word.
    analysis: the model thinks in a block of its own first, which is taken off.
    """

    version: str
    titles: tuple[str, ...]
    guidance: tuple[str, ...]
    parents: Mapping[str, str] = field(default_factory=dict)
    by_code: frozenset[str] = frozenset()
    update: str = ""
    style: Style = "markdown"
    facts: bool = False
    quotes: bool = False
    analysis: bool = False

    @property
    def name(self) -> str:
        """What a policy calls it."""
        return self.version.split("/")[0]

    @property
    def asked(self) -> tuple[str, ...]:
        """The titles a model writes."""
        return tuple(title for title in self.titles if title not in self.by_code)

    def outline(self) -> str:
        """The headings with their guidance in parentheses, as the prompt shows them."""
        guidance = dict(zip(self.titles, self.guidance, strict=True))
        return self.write([(title, f"({guidance[title]})") for title in self.asked], gap="\n")

    def write(self, sections: Sequence[tuple[str, str]], *, gap: str = "\n\n") -> str:
        """(title, body) pairs as text, each under its heading, a parent's heading before its first child."""
        if self.style == "xml":
            return gap.join(f'<section title="{escape(title)}">\n{body}\n</section>' for title, body in sections)
        lines: list[str] = []
        above = ""
        for title, body in sections:
            parent = self.parents.get(title, "")
            head = f"## {parent}\n" if parent and parent != above else ""
            above = parent
            lines.append(f"{head}{'###' if parent else '##'} {title}\n{body}")
        return gap.join(lines)


def xml_sections(text: str) -> list[tuple[str, str]]:
    """(title, body) of every `<section title="...">`; one that is not closed ends where the next begins."""
    return [(title, body.strip()) for title, body in _XML.findall(text)]
