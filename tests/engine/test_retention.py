"""What survives a compaction without a model, on fixed seeds: floors, far below what `make bench-retention` measures."""

from __future__ import annotations

import pytest
from benchmarks.retention.engine_run import generations, scaled, text_of, within
from benchmarks.retention.plants import CHANGED, SAID
from benchmarks.retention.presets import FORMAT, Score, count, generated
from benchmarks.retention.side_constraints import ours

from offturn_config.presets import load
from offturn_engine.formats import get
from offturn_engine.ledger import ledger, render
from offturn_engine.render import render as view_of
from tests.engine.talk import human, log, says

SEED = 801
FLOOR = 0.85


def test_planted_facts_survive_three_rounds_at_a_tenth_of_the_tokens() -> None:
    case = generated(SEED)
    made = within(case.path, get(FORMAT), load("balanced"), case.tokens // 10, rounds=3)
    assert made is not None
    score = Score()
    count(score, case, made.text)
    assert made.tokens <= case.tokens // 10
    assert not made.forced
    assert score.share >= FLOOR
    assert score.stale == 0


def test_no_round_loses_what_the_one_before_kept() -> None:
    case = generated(SEED + 1)
    policy, limits = scaled(load("balanced"), 0.1)
    missing: set[str] = set()
    for grown, record in generations(case.path, get(FORMAT), policy, limits, rounds=6):
        text = text_of(view_of(grown, record, get(FORMAT)).messages)
        said = text_of([message.raw for message in grown])
        binding = [f for f in case.planted if f.kind in ("constraint", "next") and f.needles[0] in said]
        missing |= {f.needles[0] for f in binding if f.needles[0] not in text}
    assert missing == set()


def test_fifteen_side_constraints_are_kept_among_two_hundred_messages() -> None:
    talk = [m for i in range(100) for m in (human(f"Look at part {i} of the page"), says("It is fine."))]
    items = ledger(log(*talk[:60], *map(human, ours()), *talk[60:]))
    text = render(items, budget=400).text
    assert [constraint for constraint in ours() if constraint not in text] == []


@pytest.mark.parametrize("kind", SAID)
def test_every_phrasing_of_a_planted_kind_is_found(kind: str) -> None:
    filled = [
        t.format(
            word="zorp",
            name="Ada Byron",
            code="ZRP-12",
            path="src/zorp/a.py",
            host="zorp.example.net",
            money="$12",
            date="2027-01-02",
            port="4123",
        )
        for t in SAID[kind]
    ]
    text = render(ledger(log(*map(human, filled))), budget=10_000).text
    assert [sentence for sentence in filled if sentence not in text] == []


def test_every_planted_change_is_told() -> None:
    values = {"word": "zorp", "name": "Ada Byron", "money": "$12", "date": "2027-01-02", "port": "4123"}
    later = {**values, "name": "Grace Hopper", "money": "$77", "date": "2027-05-06", "port": "4999"}
    for old, new in CHANGED:
        text = render(ledger(log(human(old.format(**values)), human(new.format(**later)))), budget=10_000).text
        assert " until m1)" in text, old
