"""What became of the facts of one message, in the view of one generation."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_config.presets import load
from offturn_engine.audit import audit_of
from offturn_engine.compaction import NOTHING, Compaction, Sections
from offturn_engine.draft import SUMMARY_HEAD
from offturn_engine.errors import CannotFit
from offturn_engine.fact_fates import FactFate, fact_fates
from offturn_engine.formats import get
from offturn_engine.human import human_items
from offturn_engine.ledger import ledger
from offturn_engine.messages import Message
from offturn_engine.plan import emergency
from tests.engine.raws import Raw, human, placed, says
from tests.policies.histories import used

FMT = get("openai-chat")
RAWS: list[Raw] = [
    human("Never touch config/prod.yaml. Refunds above $500 need my approval, so you must ask me first."),
    *used("bash", {"command": "pytest -q tests/test_limits.py"}, "ValueError: no limit\n1 failed\nexit code 1", 1),
    *used("edit_file", {"path": "src/limits.py", "old": "a", "new": "b"}, "edited", 2),
    *used("bash", {"command": "pytest -q tests/test_limits.py"}, "1 passed\nexit code 0", 3),
    says("Done."),
    human("And now?"),
]


def record_of(path: list[Message], summary: str) -> Compaction:
    facts = ledger(path[:8])
    return Compaction(number=1, covered=((0, 8),), seen=9, summary=summary, ledger=facts, method="model")


def told(found: tuple[FactFate, ...]) -> list[tuple[str, str, str, int | None]]:
    return [(f.kind, f.fate, f.verdict, f.into) for f in found]


def test_each_fact_of_a_message_has_a_fate() -> None:
    path = placed(RAWS, FMT)
    summary = f"{SUMMARY_HEAD}0-7]\nNever touch config/prod.yaml. src/limits.py was edited."
    found = fact_fates(path, record_of(path, summary), FMT, {0, 1, 2, 3, 8})

    rules = {f.key[:11]: f.fate for f in found[0] if f.kind == "constraint"}
    assert rules == {"never touch": "kept", "refunds abo": "recoverable"}
    assert found[1] == found[2]
    assert ("command", "folded", "recoverable", 6) in told(found[1])
    assert ("error", "recoverable", "recoverable", None) in told(found[1])
    assert told(found[3]) == [("file", "kept", "kept", None)]
    assert 8 not in found


def test_a_fact_that_nothing_leads_to_is_lost_and_a_changed_one_mutated() -> None:
    path = placed(RAWS, FMT)
    silent = record_of(path, "[a summary without ranges]")
    assert {f.fate for f in fact_fates(path, silent, FMT, {0})[0]} == {"lost"}
    changed = silent.model_copy(
        update={
            "sections": Sections(titles=("Goal",), bodies=("- Refunds above $400 need approval, so ask first.",)),
            "human": human_items(path[:1]),
        }
    )
    assert {f.key[:11]: f.fate for f in fact_fates(path, changed, FMT, {0})[0] if f.kind == "constraint"} == {
        "never touch": "lost",
        "refunds abo": "mutated",
    }


def test_facts_that_the_ledger_had_no_room_for_are_judged_too() -> None:
    path = placed(RAWS, FMT)
    bare = record_of(path, f"{SUMMARY_HEAD}0-7]").model_copy(update={"ledger": ()})
    assert {(f.fate, f.into) for f in fact_fates(path, bare, FMT, {0, 5})[0]} == {("recoverable", None)}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(range(3)), min_size=3, max_size=12), st.integers(600, 4_000))
def test_what_is_not_folded_is_counted_in_the_audit_as_it_is_told(order: list[int], usable: int) -> None:
    """Every fact of the record has exactly one message that tells it without being folded, with the audit's verdict."""
    pieces: list[list[Raw]] = [RAWS[:1], RAWS[1:3], RAWS[3:5]]
    raws = [raw for i, n in enumerate(order) for raw in (*pieces[n], says(f"Step {i} is done. " * 20))]
    path = placed([*raws, human("And now?")], FMT)
    policy = load("balanced")
    limits = replace(policy.limits(12_000), usable=max(usable, 900), soft=500, tail=100)
    try:
        made = emergency(path, NOTHING, FMT, policy=policy, limits=limits)
    except CannotFit:
        return
    record = made.compaction
    audit = audit_of(record, path, FMT)
    if audit is None:
        return
    found = fact_fates(path, record, FMT, {m.seq for m in path})
    own = {(f.kind, f.key): f.verdict for facts in found.values() for f in facts if f.into is None}
    assert {(i.kind, i.key) for i in record.facts} <= own.keys()
    kept = sum(own[i.kind, i.key] == "kept" for i in record.facts)
    assert kept == audit.kept
