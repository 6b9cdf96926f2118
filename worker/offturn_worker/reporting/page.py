"""Draw a report. The template is `report.html` beside this file; all that it shows passes `visible` and is escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from offturn_engine.ranges import label
from offturn_engine.report import Report

if TYPE_CHECKING:
    from jinja2 import Environment

CONCESSIONS: Mapping[str, str] = MappingProxyType(
    {
        "restores": "files that would have been shown again",
        "ledger_detail": "detail of the facts",
        "tail_results": "results of the newest messages, cleared",
        "tail_messages": "more of the newest messages, covered",
        "head_messages": "the first messages, covered",
        "long_texts": "long texts, cut in their middle",
        "human_messages": "human messages, covered",
        "human_budget": "room for human words",
        "human_by_handle": "human words, by handle only",
        "system_messages": "later system messages, covered",
        "head_trimmed": "oldest messages that nobody summarised",
        "whole_turn": "the whole last turn, covered",
    }
)
"""What gave way, in words."""

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with what a page hides or what reorders it made visible: control and format characters, bidi marks.

    C0 controls become their pictures (`␛`), anything else its code point (`⟨U+202E⟩`). Line breaks and tabs stay.
    """
    return _HIDDEN.sub(_shown, text.replace("\r\n", "\n"))


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def html(report: Report, *, title: str, policy: str, outcome: str, notes: tuple[str, ...] = ()) -> str:
    """The page. title: of what; policy: its name; outcome: what became of it, in words; notes: sentences."""
    page = environment("offturn_worker.reporting", ".").get_template("report.html")
    return page.render(
        report=report,
        record=report.record,
        title=title,
        policy=policy,
        outcome=outcome,
        notes=notes,
        covered=label(report.record.covered),
        concessions=[(CONCESSIONS.get(name, name), count) for name, count in report.record.concessions.items()],
    )


def environment(package: str, folder: str) -> Environment:
    """For templates of a package's folder: whatever they show passes `visible` and is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here: few commands draw, and all start with this

    made = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,  # a macro's text is done already
    )
    made.filters["number"] = lambda value: f"{value:,}"
    made.filters["dollars"] = lambda value: "not known" if value is None else f"${value:.4f}" if value else "$0"
    made.filters["percent"] = lambda value, whole: f"{100 * value / max(whole, 1):.3f}%"
    return made
