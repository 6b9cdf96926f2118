"""What survives a compaction without a model, on fixed seeds: floors, far below what `make bench-retention` measures."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.peers.histories import history
from benchmarks.retention import environments, oracles, peers, unseen
from benchmarks.retention.engine_run import generations, scaled, text_of, within, within_each
from benchmarks.retention.environments import NotInstalled
from benchmarks.retention.generations import recoverable
from benchmarks.retention.plants import CHANGED, SAID
from benchmarks.retention.presets import FORMAT, Score, count, generated, planted, said
from benchmarks.retention.side_constraints import ours

from offturn_config.presets import load
from offturn_engine.compaction import Compaction, LedgerItem
from offturn_engine.crossing import convert
from offturn_engine.formats import get
from offturn_engine.ledger import ledger, render
from offturn_engine.messages import RawMessage
from offturn_engine.recalling import Archive
from offturn_engine.render import render as view_of
from tests.engine.talk import human, log, says

SEED = 801
FLOOR = 0.85
SEED_OF_NAME = 731615430  # the first four bytes of its SHA-256


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


@pytest.mark.parametrize("form", ["openai-chat", "openai-responses", "anthropic", "gemini", "text-observation"])
def test_planted_facts_stand_in_every_format(form: str) -> None:
    raws = convert(history(20, SEED), get(FORMAT), get(form)).messages
    case = planted("made", raws, {}, SEED, form)
    score = Score()
    count(score, case, "\n".join(turn["text"] for turn in said(case)))
    assert score.kept == score.planted
    assert case.path[-1].origin == "human"


def test_of_several_caps_each_is_filled_as_it_would_be_alone() -> None:
    case = generated(SEED)
    caps = [case.tokens // 10, case.tokens // 5]
    together = within_each(case.path, get(FORMAT), load("codex-remote"), caps, rounds=1)
    for cap, made in zip(caps, together, strict=True):
        alone = within(case.path, get(FORMAT), load("codex-remote"), cap, rounds=1)
        assert made is not None
        assert alone is not None
        assert 0.98 * alone.tokens <= made.tokens <= cap


def test_only_what_the_recall_tool_tells_is_recoverable() -> None:
    path = log(human("The staging host is zorp.example.net."), says("All right."), human("Go on."))
    archive = Archive(path, path=frozenset({0, 1, 2}))
    covering = Compaction(covered=((0, 2),), summary="[Summary of messages 0-1]")
    told = LedgerItem(kind="value", key="host", text="The staging host is zorp.example.net.", seq=0)
    elsewhere = told.model_copy(update={"seq": 1})
    nowhere = told.model_copy(update={"text": "The staging host is nowhere.example.net."})
    assert recoverable(told, [0], covering, archive, {0: "m0"})
    assert recoverable(told, [0], covering, archive, {})  # its own words find it
    assert not recoverable(told, [0], Compaction(), archive, {0: "m0"})  # the view shows all there is
    assert not recoverable(
        elsewhere, [1], covering, archive, {1: "m1"}
    )  # its range is covered, its message says no such thing
    assert not recoverable(nowhere, [0], covering, archive, {0: "m0"})
    assert not recoverable(told, [0], covering, Archive(path, frozenset({0}), frozenset({1, 2})), {})


def test_the_audit_tells_what_was_done_to_sentences_of_a_summary() -> None:
    made = [one for seed in (SEED, SEED + 1) for _, pair in oracles.prose(generated(seed)) for one in pair]
    assert {one.truth for one in made} == {"held", "changed", "gone"}
    assert [one for one in made if one.ours != one.truth] == []


def test_views_without_a_call_or_a_result_are_told_from_valid_ones() -> None:
    listed = list(oracles.lists([generated(SEED)]))
    assert {one.done for one in listed} == {"as it is", "without a result", "without a call"}
    assert [one for one in listed if one.valid != (one.done == "as it is")] == []


class _Newest(peers.Driven):
    """A peer that keeps the newest messages, but never fewer than `least`."""

    def __init__(self, messages: list[RawMessage], least: int) -> None:
        self.messages, self.least = messages, least

    def at(self, size: int) -> tuple[list[RawMessage], list[str]]:
        return self.messages[-max(self.least, size // 10) :], []


def test_a_peer_shows_the_largest_view_within_the_cap_or_else_its_smallest() -> None:
    messages: list[RawMessage] = [{"role": "user", "content": "one two three four"} for _ in range(100)]
    each = get(FORMAT).parse(messages[0]).tokens
    [small, view] = peers.within_each(_Newest(messages, 1), [10 * each, 50 * each])
    assert 9 * each <= small.tokens <= 10 * each
    assert view.within
    assert 48 * each <= view.tokens <= 50 * each
    [over] = peers.within_each(_Newest(messages, 60), [50 * each])
    assert not over.within
    assert over.tokens == 60 * each


def test_a_package_that_does_not_install_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "HOME", tmp_path / ".venv-retention")
    with pytest.raises(NotInstalled, match=r"needs Python 9\.9"):
        environments.python_of(["nothing==1.0"], least=(9, 9))


def test_a_seed_of_the_unseen_part_is_of_the_name_alone() -> None:
    assert unseen.seed_of("inspect_browser.json") == SEED_OF_NAME
