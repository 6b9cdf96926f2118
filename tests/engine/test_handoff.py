"""A briefing for another agent: all that matters is in it, the newest last, and nothing but the request asks."""

from __future__ import annotations

from typing import Any

import pytest

from offturn_engine.compaction import NOTHING, Compaction, Sections
from offturn_engine.formats import get
from offturn_engine.handoff import LONGEST_ANSWER, NOTHING_OPEN, OPEN_TITLE, briefing
from offturn_engine.ledger import ledger
from offturn_engine.messages import Message
from tests.integration.host import human, says, turns

FMT = get("openai-chat")
LARGE = 100_000


def path(raw: list[Any]) -> list[Message]:
    return [FMT.parse(message, index=i).placed(i) for i, message in enumerate(raw)]


def told(raw: list[Any], base: Compaction = NOTHING, human_budget: int = LARGE, ledger_budget: int = LARGE) -> str:
    return briefing(path(raw), base, human_budget=human_budget, ledger_budget=ledger_budget)


def test_the_open_request_comes_last_and_once() -> None:
    request = "Now write the notes.\n## Not a heading of ours"
    text = told([*turns("openai-chat", 3), human(request)])

    assert text.split(f"## {OPEN_TITLE}\n")[1] == f"{request}\n\n[End of the briefing]"
    assert text.count("Now write the notes.") == 1
    assert text.startswith("[Briefing on an earlier conversation of 13 messages")
    assert all(f"Please look into module {number}." in text for number in range(3))
    assert "cat module_1.py: ok" in text
    assert "I have looked into module 2:" in text


def test_what_the_open_request_states_is_no_fact_beside_it() -> None:
    before = [human("Never touch the database. Use port 8080 for the server."), says("I did not touch it.")]
    request = "Always write tests. Use port 9090 for the server. Look at https://example.org/issues/12 too."
    text = told([*before, human(request)])
    facts = text.split("## What the human wrote")[0]

    assert "Never touch the database." in facts
    assert "8080" not in facts
    assert all(text.count(once) == 1 for once in ("Always write tests.", "9090", "issues/12"))


def test_nothing_is_open_after_an_answer() -> None:
    assert f"## {OPEN_TITLE}\n{NOTHING_OPEN}" in told(turns("openai-chat", 2))


def test_what_a_model_wrote_is_there_with_what_came_after_it() -> None:
    raw = turns("openai-chat", 4)
    sections = Sections(titles=("Goal", "Blocked"), bodies=("Ship the parser.", ""))
    base = Compaction(number=1, covered=((0, 8),), sections=sections, ledger=ledger(path(raw)[:8]))
    text = told(raw, base)

    assert "## Goal\nShip the parser." in text
    assert "## Blocked" not in text
    assert "tell of 0-7." in text
    assert all(text.count(f"cat module_{number}.py: ok") == 1 for number in range(4))
    assert all(f"Please look into module {number}." in text for number in range(4))


def test_budgets_bound_facts_and_human_words_and_not_the_request() -> None:
    raw = [
        *(human(f"Wish {number}: " + "as small as it can be " * 40) for number in range(30)),
        says("Done."),
        human("x" * 20_000),
    ]
    text = told(raw, human_budget=300, ledger_budget=100)

    assert "x" * 20_000 in text
    assert len(text) < 25_000


@pytest.mark.parametrize("raw", [[], [human("Hello.")], [says("Hello.")]])
def test_little_is_no_trouble(raw: list[Any]) -> None:
    assert told(raw).endswith("[End of the briefing]")


def test_a_long_answer_is_cut_in_its_middle() -> None:
    text = told([human("Tell me."), says("a" * 3_000 + "b" * 3_000 + "c" * 3_000)])

    assert f"{9_000 - LONGEST_ANSWER:,} characters left out" in text
    assert "a" * 2_000 in text
    assert "c" * 2_000 in text
