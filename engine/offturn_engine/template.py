"""The sections a summarizer is asked for. Files, commands and human messages are not among them: code appends those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """Section titles, literal and in order, with one guiding sentence each; a changed text needs a new `version`."""

    version: str
    titles: tuple[str, ...]
    guidance: tuple[str, ...]

    def outline(self) -> str:
        """The headings with their guidance in parentheses, as the prompt shows them."""
        pairs = zip(self.titles, self.guidance, strict=True)
        return "\n".join(f"## {title}\n({sentence})" for title, sentence in pairs)


NINE_SECTION = Template(
    version="nine-section/1",
    titles=(
        "Goal",
        "Constraints and Preferences",
        "Done",
        "In Progress",
        "Blocked",
        "Key Decisions",
        "Errors and Fixes",
        "Next Steps",
        "Critical Details",
    ),
    guidance=(
        "What the user wants in the end, and the latest request where it differs.",
        "Limits, rules and wishes the user stated, as narrowly as they were stated; name withdrawn ones as withdrawn.",
        "Finished work in past tense with its outcome, so that nobody does it again.",
        "Work that was begun and not finished, and the exact point it had reached.",
        "What cannot go on, and what it is waiting for.",
        "Choices that were made, each with its reason and the option turned down.",
        "What failed, the cause where it was found, what was tried in vain and what helped.",
        "What remains to be done, in order, only as far as the user asked for it.",
        "Exact values someone needs to continue: names, numbers, versions, messages, settings, identifiers.",
    ),
)

TITLES = NINE_SECTION.titles

TEMPLATES: Mapping[str, Template] = {"nine-section": NINE_SECTION}
"""By the name a policy's `summary.template` holds."""
