"""Rules F1, F2, F3, F5, F6: five steps, phase by phase. More of F2, and F4, are in test_after.py and test_pruning.py."""

from __future__ import annotations

import pytest

from offturn import Compacted, CompactionClient, Usage
from offturn.testing import FakeSummarizer
from offturn_config.presets import load
from offturn_engine.compaction import NOTHING
from offturn_engine.plan import Skip, Summarise, plan
from offturn_engine.triggers import due, thresholds
from tests.engine.raws import Raw, human, says
from tests.policies.histories import filler, format_of, path_of, reads
from tests.policies.scripted import Model, answer, compacted, wanted

NAME = "five-step"
WINDOW = 200_000


def talk(count: int = 12, tokens: int = 2_000) -> list[Raw]:
    return [raw for i in range(count) for raw in (human(f"Please do part {i}."), says(filler(tokens, f"part {i}")))]


def test_F1_the_end_of_a_phase_needs_no_minimum() -> None:
    policy = load(NAME)
    small = path_of(talk(6, 300), policy)
    found = plan(small, NOTHING, format_of(policy), policy=policy, limits=policy.limits(WINDOW), reason="phase")

    assert isinstance(found, Summarise)
    off = load(NAME, {"trigger.phase": False})
    assert plan(small, NOTHING, format_of(off), policy=off, limits=off.limits(WINDOW), reason="phase") == Skip(
        "phases_off"
    )


@pytest.mark.parametrize(
    ("window", "soft"), [(1_000_000, 100_000), (200_000, 100_000), (100_000, 80_000), (60_000, 48_000)]
)
def test_F1_the_threshold_is_100_000_or_the_window_less_a_reserve(window: int, soft: int) -> None:
    assert load(NAME).limits(window).soft == soft


async def test_F2_usage_from_before_a_commit_is_forgotten_as_a_trigger(client: CompactionClient) -> None:
    session = client.session("f2", format="openai-chat", policy=NAME, window=WINDOW)
    await session.record([*talk(52), human("And the last part?")])
    full = await session.view()
    used = Usage(input_tokens=120_000)
    assert full.tokens > session._config.limits.soft
    assert (await session.record([says("Here it is.")], usage=used, view=full)).requirement == "soft"

    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    assert isinstance(outcome, Compacted)
    after = await session.status()
    assert (after.due, after.requirement) == (False, "none")
    late = await session.record([human("And now?"), says("Now this.")], usage=used, view=full)
    assert late.requirement == "none", "it measured the view from before"
    assert await client.run_due(summarizer=FakeSummarizer()) == []
    compacted_view = await session.view()
    assert compacted_view.tokens < full.tokens / 2


def test_F3_five_sections_about_the_state_of_the_task() -> None:
    policy = load(NAME)
    model = Model([answer])
    compacted(wanted(path_of(talk(), policy), policy, WINDOW), model)

    content = model.asked[0].content
    assert [h[3:] for h in content.splitlines() if h.startswith("## ")] == [
        "Goal",
        "Progress",
        "Facts",
        "Decisions",
        "Next",
    ]
    assert "word for word" in content
    assert "State nothing that is not in the text" in content
    assert "No greeting" in content
    assert "(reasoning not shown)" not in content


def test_F3_an_update_is_about_the_state_too() -> None:
    policy = load(NAME)
    path = path_of(talk(), policy)
    base = compacted(wanted(path, policy, WINDOW), Model([answer])).compaction.model_copy(update={"number": 1})
    grown = [*path, *(m.placed(m.seq + len(path)) for m in path_of(talk(), policy))]
    model = Model([answer])
    compacted(wanted(grown, policy, WINDOW, base), model)

    assert "the state of the task counts, not what was talked about" in model.asked[0].content


def test_F5_constraints_stand_apart_word_for_word() -> None:
    policy = load(NAME)
    rules = ["Never touch config/prod.toml.", "Use at most 3 requests per second."]
    paste = human(f"{filler(30_000, 'log')}\n\n{rules[1]}\n\n{filler(9_000, 'more')}")
    raws = [human(f"Port it. {rules[0]}"), *reads(3, 2_000), says("ok"), paste, says("read"), *talk()]
    made = compacted(wanted(path_of(raws, policy), policy, WINDOW), Model([answer]))

    [part] = [p for p in made.compaction.summary.split("\n\n") if p.startswith("## Facts, taken")]
    assert all(rule in part for rule in rules)
    assert "f1.py" not in part  # nothing else of the ledger: they are apart


def test_F6_not_at_every_turn() -> None:
    limits = load(NAME).limits(WINDOW)
    levels = thresholds(limits)

    assert levels.growth == 20_000
    assert due(limits.soft, levels, path_tokens=119_999, held=100_000 + levels.growth) == "none"
    assert due(limits.soft, levels, path_tokens=120_000, held=100_000 + levels.growth) == "soft"
