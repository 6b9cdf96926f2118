"""The sections a summarizer is asked for."""

from __future__ import annotations

import pytest

from offturn_config.groups import Summary
from offturn_engine.template import Template
from offturn_engine.templates import NINE_SECTION, TEMPLATES


def test_the_nine_titles_are_literal_and_in_order() -> None:
    assert NINE_SECTION.titles == (
        "Goal",
        "Constraints and Preferences",
        "Done",
        "In Progress",
        "Blocked",
        "Key Decisions",
        "Errors and Fixes",
        "Next Steps",
        "Critical Details",
    )


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES.keys())
def test_a_template_has_one_sentence_per_title(template: Template) -> None:
    assert len(template.titles) == len(template.guidance) == len(set(template.titles))
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in template.guidance)


def test_a_policy_can_name_every_template_and_no_other() -> None:
    for name in TEMPLATES:
        Summary(template=name, budget=0.04, minimum=1000)


def test_the_outline_shows_headings_with_their_guidance() -> None:
    outline = NINE_SECTION.outline()
    assert outline.count("## ") == 9
    assert outline.startswith(f"## Goal\n({NINE_SECTION.guidance[0]})")
