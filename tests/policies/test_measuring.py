"""A policy that measures in bytes / 4 does so everywhere its own limits are compared with something."""

from __future__ import annotations

import pytest

from offturn_config.presets import load
from offturn_engine.compaction import NO_SECTIONS, Sections
from offturn_engine.human import human_items, render
from offturn_engine.ledger import ledger
from offturn_engine.ledger import render as render_ledger
from offturn_engine.outcome import TOO_DENSE
from offturn_engine.plan import Skip, apply
from offturn_engine.prompt import output_cap, record_text
from offturn_engine.rules_of_thumb import Estimator, bytes4_text, text_estimate
from offturn_engine.templates import TEMPLATES
from offturn_engine.tokens import estimate_text
from tests.engine.raws import human, says
from tests.policies.histories import path_of, planned, reads
from tests.policies.scripted import wanted

LOG = "2026-11-03T10:00:01Z ERROR worker-3 req=9f3c status=500 dur=812ms\n"
BOTH: tuple[Estimator, ...] = ("calibrated", "bytes4")


def test_pasted_logs_that_fit_by_bytes_are_not_too_dense_because_another_ruler_says_so() -> None:
    policy = load("claude-code")
    limits = policy.limits(200_000)
    paste = LOG * 1_000
    raws = [raw for _ in range(8) for raw in (human(paste), says("read"))]
    path = path_of([*raws, human("now")], policy)
    assert 8 * bytes4_text(paste) < limits.ceiling < 8 * estimate_text(paste)

    assert planned(path, policy, limits, reason="manual") != Skip(TOO_DENSE)
    more = path_of([*raws, *raws, human("now")], policy)
    assert planned(more, policy, limits, reason="manual") == Skip(TOO_DENSE)


@pytest.mark.parametrize("estimator", BOTH)
def test_the_room_for_a_summary_is_measured_as_the_messages_are(estimator: Estimator) -> None:
    policy = load("hermes", {"trigger.estimator": estimator})
    kept = Sections(titles=TEMPLATES["eight-section"].titles[:1], bodies=(LOG * 200,), template="eight-section")
    covered = path_of([human(LOG * 400)], policy)
    measure = text_estimate(estimator)

    cap = output_cap(policy.summary, 10**6, covered, kept, measure)

    assert policy.summary.ratio is not None
    expected = measure(record_text(kept)) + int(sum(m.tokens for m in covered) * policy.summary.ratio)
    assert cap == expected > policy.summary.minimum
    assert output_cap(policy.summary, 10**6, covered, NO_SECTIONS, measure) < cap


@pytest.mark.parametrize("estimator", BOTH)
def test_human_words_and_facts_fill_their_room_as_the_policy_measures(estimator: Estimator) -> None:
    measure, items = text_estimate(estimator), human_items(path_of([human(LOG * 1_000)], load("codex-0.125")))
    facts = ledger(path_of(reads(200, 50), load("codex-0.125")))

    block = render(items, budget=5_000, measure=measure)
    listed = render_ledger(facts, budget=1_000, measure=measure)

    assert 4_900 < measure(block.text) <= 5_000
    assert 900 < measure(listed.text) <= 1_000
    assert listed.recoverable > 0


def test_the_human_words_of_a_policy_that_counts_bytes_are_counted_in_bytes() -> None:
    policy = load("codex-0.125")
    raws = [
        raw for i in range(4) for raw in (human(f"log {i}\n{LOG * 500}"), *reads(2, 9_000, first=2 * i), says("ok"))
    ]
    asks = wanted(path_of([*raws, human("now")], policy), policy, 200_000)
    made = apply(asks, Sections(titles=("Progress & Decisions",), bodies=("- read",), template="handoff"))

    shown = [item.raw["content"] for item in made.rendering.items if item.raw["role"] == "user"]
    kept = sum(text.count("req=9f3c") for text in shown) * len(LOG) // 4
    assert 19_500 < kept <= 20_000
