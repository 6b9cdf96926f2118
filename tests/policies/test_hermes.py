"""Rules H1, H2, H4, H5, H7, H9: Hermes as its articles describe it. Other rules of it: test_pruning.py, test_after.py."""

from __future__ import annotations

import pytest

from offturn_config.errors import InvalidPolicy
from offturn_config.presets import load
from offturn_engine.plan import Summarise
from offturn_engine.ranges import contains
from offturn_engine.templates import EIGHT_SECTION
from offturn_engine.triggers import due, thresholds
from tests.engine.raws import Raw, human, says, system
from tests.policies.histories import filler, path_of, reads, turns, used
from tests.policies.scripted import Model, answer, compacted, generation, record, wanted

NAME = "hermes"
WINDOW = 200_000
HEADINGS = [
    "## Goal",
    "## Constraints & Preferences",
    "## Progress",
    "### Done",
    "### In Progress",
    "### Blocked",
    "## Key Decisions",
    "## Relevant Files",
    "## Next Steps",
    "## Critical Context",
]


def work(count: int, tokens: int = 1_000) -> list[Raw]:
    """Closed turns with a file read in each."""
    return [raw for i in range(count) for raw in turns(1, each=reads(1, tokens, first=i))]


def test_H1_the_hard_level_is_85_percent_and_above_soft() -> None:
    policy = load(NAME)
    limits = policy.limits(WINDOW)
    levels = thresholds(limits)

    assert limits.hard == 170_000
    assert policy.trigger.enabled
    assert policy.trigger.hard_messages == 4
    assert due(170_000, levels) == "hard"
    assert due(169_999, levels) == "soft"


def test_H1_at_50_percent_it_would_fire_at_every_turn_and_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match=r"soft level of 100000 tokens must be below the hard one of 100000"):
        load(NAME, {"trigger.hard": 0.50}).limits(WINDOW)


def test_H2_a_window_of_200_000_fires_at_half_and_keeps_a_tail_of_a_fifth_of_that() -> None:
    policy = load(NAME)
    limits = policy.limits(WINDOW)

    assert limits.soft == 100_000
    assert limits.tail == 20_000
    assert limits.summary == 10_000
    assert policy.boundary.tail_messages == 20
    assert due(100_000, thresholds(limits)) == "soft"
    assert due(99_999, thresholds(limits)) == "none"


def test_H4_the_head_is_the_first_three_messages_with_the_system_prompt() -> None:
    path = path_of([system("Be careful."), human("go"), says("yes"), human("and then"), *work(40, 4_000)], load(NAME))
    found = wanted(path, load(NAME), WINDOW)

    assert found.draft.split is not None
    shown = [m.seq for m in path if not contains(found.draft.split.cover, m.seq)]
    assert shown[:3] == [0, 1, 2]
    assert shown[3] > 4


def test_H4_head_and_tail_are_whole_groups_and_the_tail_has_at_least_twenty_messages() -> None:
    path = path_of([system("Be careful."), human("go"), *reads(40, 8_000)], load(NAME))
    found = wanted(path, load(NAME), WINDOW)

    assert found.draft.split is not None
    shown = [m.seq for m in path if not contains(found.draft.split.cover, m.seq)]
    assert shown[:4] == [0, 1, 2, 3]  # the call would be the third message: its result stays with it
    assert len(shown) - 4 == 20
    assert path[found.draft.split.tail].calls


def test_H5_the_headings_are_literal() -> None:
    path = path_of([system("Be careful."), human("Please repair the parser."), *work(40, 4_000)], load(NAME))
    model = Model([answer])
    made = compacted(wanted(path, load(NAME), WINDOW), model)

    assert [line for line in model.asked[0].content.splitlines() if line in HEADINGS] == HEADINGS
    written = [line for line in made.compaction.summary.splitlines() if line in HEADINGS]
    assert written == [h for h in HEADINGS if h in written]
    assert "### Done" in written


@pytest.mark.parametrize(
    ("turns_", "tokens", "window", "budget"),
    [
        (23, 200, WINDOW, 2_000),  # at least 2,000
        (50, 600, WINDOW, 5_600),  # a fifth of what is covered
        (60, 3_000, WINDOW, 10_000),  # a twentieth of the window
        (60, 3_000, 1_000_000, 12_000),  # at most 12,000
    ],
)
def test_H5_the_budget_is_a_fifth_of_the_content_within_bounds(
    turns_: int, tokens: int, window: int, budget: int
) -> None:
    policy = load(NAME, {"prune.style": "off", "size.minimum_gain": 0.001, "boundary.tail": 1_000})
    found = wanted(path_of([system("x"), human("go"), says("y"), *work(turns_, tokens)], policy), policy, window)

    assert found.max_output_tokens == pytest.approx(budget, rel=0.15)


def test_H7_an_update_moves_what_is_finished_and_keeps_the_rest() -> None:
    path = path_of([system("x"), human("Repair the parser."), *work(40, 4_000)], load(NAME))
    titles = EIGHT_SECTION.titles
    first = record(titles=titles, **{"Goal": "Repair the parser", "In Progress": "reading question files"})
    base = generation(compacted(wanted(path, load(NAME), WINDOW), Model([first])))
    grown = [*path, *(m.placed(m.seq + len(path)) for m in path_of(work(40, 4_000), load(NAME)))]
    second = record(titles=titles, Goal="Repair the parser", Done="reading question files")
    model = Model([second])
    made = compacted(wanted(grown, load(NAME), WINDOW, base), model)

    [request] = model.asked
    assert "<<<record" in request.content
    assert "### In Progress\n- reading question files" in request.content
    assert "move what has been finished from In Progress" in request.content
    assert "to Done" in request.content
    assert "drop what is obsolete" in request.content
    assert "### Done\n- reading question files" in made.compaction.summary
    assert "### In Progress" not in made.compaction.summary
    assert not any(contains(base.covered, m.seq) for m in wanted(grown, load(NAME), WINDOW, base).messages)


def test_H9_a_tool_heavy_history_of_95_000_tokens_ends_at_25_messages() -> None:
    """45 messages; the newest results are smaller, as where an agent has found the file it works on."""
    raws = [system("You are a coding agent."), human("Find the bug in the importer.")]
    sizes = [7_000] * 10 + [5_000, 4_500, 3_000, 2_000] + [1_300] * 7
    for i, size in enumerate(sizes):
        raws += used("read", {"path": f"src/m{i}.py"}, filler(size, f"file {i}"), i)
    raws += [says("It is in m20.")]
    policy = load(NAME)
    path = path_of(raws, policy)
    assert len(path) == 45
    assert sum(m.tokens for m in path) == pytest.approx(95_000, rel=0.03)

    found = wanted(path, policy, 190_000)
    made = compacted(found, Model([answer]))

    assert isinstance(found, Summarise)
    assert 23 <= len(made.rendering.items) <= 27
    assert made.rendering.tokens <= 45_000
