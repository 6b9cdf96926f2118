"""Finished phases in views: the host's note travels from record to record, and the audit finds all that folded."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from offturn_config.presets import load
from offturn_engine.audit import audited
from offturn_engine.compaction import NOTHING, Compaction, PhaseEnd, Reason, Sections
from offturn_engine.draft import Candidate
from offturn_engine.formats import get
from offturn_engine.handoff import briefing
from offturn_engine.messages import Message
from offturn_engine.plan import PruneOnly, Skip, apply, plan
from tests.engine.raws import Raw, human, placed, says
from tests.policies.histories import filler, used

FMT = get("openai-chat")
RULES = {"gate": "always_summarise", "trigger": {"phase_minimum": 0}}
POLICY = load("balanced", RULES)
LIMITS = POLICY.limits(60_000)


def turn(number: int) -> list[Raw]:
    """One request: a constraint, three files read, one edited, a test that fails and then passes."""
    name, test = f"src/page_{number}.py", {"command": f"pytest -q tests/page_{number}"}
    return [
        human(f"Repair page {number} of the shop now. Never touch src/old_{number}.py."),
        *used("Read", {"file_path": name}, filler(1_800), 10 * number),
        *used("Read", {"file_path": f"notes/page_{number}.md"}, filler(1_800), 10 * number + 1),
        *used("Read", {"file_path": f"notes/layout_{number}.md"}, filler(1_800), 10 * number + 2),
        *used("bash", test, f"E   ValueError: no page {number}\n1 failed\nexit code: 1", 10 * number + 3),
        *used("Edit", {"file_path": name, "old_string": "a", "new_string": "b"}, "ok", 10 * number + 4),
        *used("bash", test, "7 passed\nexit code: 0", 10 * number + 5),
        says(f"Page {number} works again. {filler(1_800)}"),
    ]


def made(path: Sequence[Message], base: Compaction = NOTHING, reason: Reason = "phase", note: str = "") -> Candidate:
    """The next generation, without a model, audited."""
    told = (PhaseEnd(seq=path[-1].seq, note=note),) if reason == "phase" else ()
    found = plan(path, base, FMT, policy=POLICY, limits=LIMITS, reason=reason, note=note, phases=told)
    assert not isinstance(found, Skip), found
    candidate = audited(found.candidate if isinstance(found, PruneOnly) else apply(found, Sections()))
    number = base.number + 1
    return Candidate(
        candidate.draft,
        candidate.compaction.model_copy(update={"number": number}),
        candidate.rendering,
        candidate.account,
    )


def finished(summary: str) -> list[str]:
    return [line for line in summary.split("\n") if line.startswith("- [m") and " to m" in line]


def test_many_phases_are_told_and_nothing_is_lost() -> None:
    base, raws = NOTHING, list[Raw]()
    for number in range(6):
        raws += turn(number)
        base = made(placed(raws), base, note=f"page {number} done").compaction
        told = base.audit
        assert (told.lost, told.mutated) == (0, 0)
    assert base.phases == tuple(PhaseEnd(seq=14 * (i + 1) - 1, note=f"page {i} done") for i in range(6))
    lines = finished(base.summary)
    assert [line.split("] ")[1].split(" \u00b7 ")[0] for line in lines] == [f"page {i} done" for i in range(len(lines))]
    assert lines[2] == (
        "- [m28 to m41] page 2 done \u00b7 src/page_2.py: edited [m37] \u00b7 solved E ValueError: no page 2 [m36]"
        " \u00b7 last run pytest -q tests/page_2: exit 0 \u00b7 7 passed"
    )
    assert "notes/layout_2.md" not in base.summary
    assert all(f"Never touch src/old_{i}.py." in base.summary for i in range(5))


def test_one_generation_or_many_tell_the_same_phases() -> None:
    raws = [raw for number in range(5) for raw in turn(number)]
    marks = tuple(PhaseEnd(seq=14 * (i + 1) - 1, note=f"page {i} done") for i in range(5))
    base = NOTHING
    for number in range(5):
        base = made(placed(raws[: 14 * (number + 1)]), base, note=f"page {number} done").compaction
    at_once = made(placed(raws), NOTHING.model_copy(update={"phases": marks[:4]}), note="page 4 done").compaction
    assert at_once.phases == base.phases == marks
    assert finished(at_once.summary)[:3] == finished(base.summary)[:3]


def test_other_generations_end_no_phase_and_keep_those_told() -> None:
    raws = [raw for number in range(4) for raw in turn(number)]
    first = made(placed(raws), note="the shop works").compaction
    assert made(placed([*raws, *turn(5), *turn(6)]), first, reason="manual").compaction.phases == first.phases
    assert made(placed(raws), reason="manual").compaction.phases == ()


def test_a_briefing_tells_finished_phases() -> None:
    raws = [raw for number in range(4) for raw in turn(number)]
    record = made(placed(raws), note="the shop works").compaction
    text = briefing(placed([*raws, human("And now?")]), record, human_budget=10_000, ledger_budget=10_000)
    assert "- [m0 to m55] the shop works \u00b7 src/page_0.py: edited [m9]" in text
    assert "notes/layout_2.md" not in text


@pytest.mark.parametrize("budget", [200, 2_000])
def test_numbered_to_do_items_are_never_lost(budget: int) -> None:
    def task(i: int) -> list[Raw]:
        said = {"subject": f"Write part {i}", "description": "All of it.", "activeForm": "Writing"}
        return used("TaskCreate", said, f"Task #{i} created successfully: Write part {i}", i)

    def done(i: int) -> list[Raw]:
        return used("TaskUpdate", {"taskId": str(i), "status": "completed"}, f"Updated task #{i} status", 100 + i)

    raws = [human("Write the book, please, part by part."), *(raw for i in range(1, 9) for raw in task(i))]
    raws += [raw for i in range(1, 8) for raw in (*turn(i)[1:], *done(i))]
    policy = load("balanced", {**RULES, "ledger": {"budget": budget}})
    path = placed([*raws, *turn(9)])
    found = plan(path, NOTHING, FMT, policy=policy, limits=policy.limits(60_000), reason="phase", note="seven parts")
    assert not isinstance(found, Skip)
    told = audited(found.candidate if isinstance(found, PruneOnly) else apply(found, Sections())).compaction
    assert (told.audit.lost, told.audit.mutated) == (0, 0)
    assert "#8 \u00b7 Write part 8: pending" in told.summary
