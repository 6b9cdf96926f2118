"""The templates by the name a policy's `summary.template` holds. Headings are literal; the guidance is our own wording.

Sources: docs/policies.md, rules H5 (eight-section), B1 (thirteen-section), C1 (handoff), K6 and K7 (nine-section-xml),
O2 (five-section), O4 (anchored), F3 (five-step). `nine-section` is that of `balanced`: files, commands and human
messages are not among its sections, code appends those.
"""

from __future__ import annotations

from collections.abc import Mapping

from offturn_engine.compaction import Sections
from offturn_engine.template import Template

ALL_USER_MESSAGES = "All User Messages"
"""Written by code: every human message as a quotation (rule K7)."""

_PROGRESS = {"Done": "Progress", "In Progress": "Progress", "Blocked": "Progress"}
_MOVE_PROGRESS = (
    "move what has been finished from In Progress and Next Steps to Done, what is no longer blocked out of Blocked"
)


def _template(version: str, sections: Mapping[str, str], **rest: object) -> Template:
    return Template(version=version, titles=(*sections,), guidance=(*sections.values(),), **rest)  # type: ignore[arg-type]


NINE_SECTION = _template(
    "nine-section/1",
    {
        "Goal": "What the user wants in the end, and the latest request where it differs.",
        "Constraints and Preferences": "Limits, rules and wishes the user stated, as narrowly as they were stated; name withdrawn ones as withdrawn.",
        "Done": "Finished work in past tense with its outcome, so that nobody does it again.",
        "In Progress": "Work that was begun and not finished, and the exact point it had reached.",
        "Blocked": "What cannot go on, and what it is waiting for.",
        "Key Decisions": "Choices that were made, each with its reason and the option turned down.",
        "Errors and Fixes": "What failed, the cause where it was found, what was tried in vain and what helped.",
        "Next Steps": "What remains to be done, in order, only as far as the user asked for it.",
        "Critical Details": "Exact values someone needs to continue: names, numbers, versions, messages, settings, identifiers.",
    },
    update=_MOVE_PROGRESS,
    facts=True,
)

EIGHT_SECTION = _template(
    "eight-section/1",
    {
        "Goal": "What the user wants to reach.",
        "Constraints & Preferences": "Limits, rules, style and choices the user stated.",
        "Done": "What has been finished, with paths, commands and their results.",
        "In Progress": "What was under way, and how far it had come.",
        "Blocked": "What cannot go on, and why.",
        "Key Decisions": "What was decided, and why.",
        "Relevant Files": "Files that were read, changed or created, each with what matters about it.",
        "Next Steps": "What remains to be done, only as far as the user asked for it.",
        "Critical Context": "Exact values, error messages and configuration that would be lost otherwise.",
    },
    parents=_PROGRESS,
    update=_MOVE_PROGRESS + ", drop what is obsolete",
)

THIRTEEN_SECTION = _template(
    "thirteen-section/1",
    {
        "Latest Request": "The newest thing the user asked for, word for word; a stop or an undo is told as a cancellation.",
        "Goal": "What the user wants in the end.",
        "Constraints & Preferences": "Limits, rules and wishes the user stated; those about security word for word.",
        "Completed Actions": "Finished actions as a numbered list, each with the tool, the target and the outcome.",
        "Active State": "The state things are in: directory, branch, changed files, test results, running processes.",
        "In Progress": "What was under way when this part of the session ended.",
        "Blocked": "What cannot go on, with the exact error.",
        "Key Decisions": "What was decided, and why.",
        "Resolved Questions": "Questions the user asked that were answered, each with its answer.",
        "Open Questions": "Questions and requests of the user that were not answered.",
        "Relevant Files": "Files that were read, changed or created, each with what matters about it.",
        "Remaining Work": "What is left of the work, told as a state, not as an order.",
        "Critical Context": "Exact values, error messages and configuration that would be lost otherwise.",
    },
    update="go on with the numbers of Completed Actions, move what has been answered from Open to Resolved Questions",
)

HANDOFF = _template(
    "handoff/1",
    {
        "Progress and Decisions": "What has been done so far, and which choices were made and why.",
        "Constraints and Preferences": "What the one who goes on must know of the surroundings, the limits and the user's wishes.",
        "Remaining Work": "What is left to be done, as clear steps, only as far as the user asked for it.",
        "Critical Data and References": "Values, examples, names and places needed to go on.",
    },
    update="move what has been finished from Remaining Work to Progress and Decisions",
)

ANCHORED = _template(
    "anchored/1",
    {
        "Goal": "What is to be reached, in one or two sentences.",
        "Constraints & Preferences": "Limits, rules and wishes the user stated.",
        "Done": "What has been finished.",
        "In Progress": "What was under way.",
        "Blocked": "What cannot go on, and why.",
        "Key Decisions": "What was decided, and why.",
        "Next Steps": "What comes next, in order, only as far as the user asked for it.",
        "Critical Context": "Facts, error messages and open points that matter for what comes next.",
        "Relevant Files": "Files and folders, each with why it matters.",
    },
    parents=_PROGRESS,
    update=_MOVE_PROGRESS,
)

FIVE_SECTION = _template(
    "five-section/1",
    {
        "What was done": "The work that has been finished, with its outcome.",
        "What is being worked on": "The work that was under way, and how far it had come.",
        "Files modified": "Every file that was created, changed or deleted, and how.",
        "Next steps": "What remains to be done, only as far as the user asked for it.",
        "Important technical decisions": "Choices that were made, and why.",
    },
    update="move what has been finished to What was done",
)

FIVE_STEP = _template(
    "five-step/1",
    {
        "Goal": "The original request and its hard constraints, word for word.",
        "Progress": "What is done, and which phase is under way.",
        "Facts": "Paths, function names, configuration values and key errors, exactly.",
        "Decisions": "What was chosen, and the reason.",
        "Next": "What is still to be done, and which questions are open.",
    },
    update="bring Progress and Next up to date: the state of the task counts, not what was talked about",
)

NINE_SECTION_XML = _template(
    "nine-section-xml/1",
    {
        "Primary Request & Goal": "What the user asked for, in full, and what it is for.",
        "Key Technical Concepts": "Technologies, frameworks and ideas that matter in the work.",
        "Files & Code Modified": "Files that were looked at, changed or created: what was changed, and their present state.",
        "Errors & Fixes": "What failed and how it was mended, so that failed attempts are not repeated.",
        "Problem Solving Approach": "What was tried, in which order, and for what reasons.",
        ALL_USER_MESSAGES: "Every message the user wrote.",
        "Pending Tasks": "What the user asked for and what is not done yet.",
        "Current Work": "Exactly what was under way at the end, with file names and code where they matter.",
        "Optional Next Step": "One next step, only where it follows from what the user asked for last.",
    },
    by_code=frozenset({ALL_USER_MESSAGES}),
    update="move what has been finished out of Pending Tasks and Current Work",
    style="xml",
    quotes=True,
    analysis=True,
)

IMPORTED = _template(
    "imported/1",
    {"Summary by the host that kept this conversation before": "What that host's own compaction said."},
)
"""For summaries that are found, not asked for."""

TEMPLATES: Mapping[str, Template] = {
    "nine-section": NINE_SECTION,
    "eight-section": EIGHT_SECTION,
    "thirteen-section": THIRTEEN_SECTION,
    "handoff": HANDOFF,
    "anchored": ANCHORED,
    "five-section": FIVE_SECTION,
    "five-step": FIVE_STEP,
    "nine-section-xml": NINE_SECTION_XML,
}


def template_of(sections: Sections) -> Template:
    """The one that sections were written under; the default's where this release does not know it."""
    return IMPORTED if sections.template == IMPORTED.name else TEMPLATES.get(sections.template, NINE_SECTION)
