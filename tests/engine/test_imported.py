"""Compactions of other hosts as generations."""

from __future__ import annotations

from typing import Any

from offturn_config.presets import load, names
from offturn_engine.compaction import NOTHING
from offturn_engine.files import Earlier
from offturn_engine.formats import get, parse_all
from offturn_engine.imported import NotTaken, imported, left_out, ripe, taken_over
from offturn_engine.invariants import Shown, violations
from offturn_engine.messages import Message
from offturn_engine.plan import PruneOnly, Summarise, apply, plan
from offturn_engine.prompt import record_text
from offturn_engine.render import render

FMT = get("openai-chat")
POLICY = load("balanced")
LIMITS = POLICY.limits(100_000, 8_000)
SUMMARY = "The parser was ported; the tests in tests/test_parser.py pass."


def talk(turns: int = 6) -> list[Message]:
    raws: list[Any] = [{"role": "system", "content": "You port parsers."}]
    for i in range(turns):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "bash", "arguments": '{"command": "pytest"}'}}
        raws += [
            {"role": "user", "content": f"Request {i}: never touch the API."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": "1 passed\n" * 50},
            {"role": "assistant", "content": f"Done {i}."},
        ]
    return parse_all(FMT, raws)


def take(path: list[Message], covered: int, base: Any = NOTHING, summary: str = SUMMARY) -> Any:
    return imported(path, base, FMT, policy=POLICY, limits=LIMITS, covered=covered, summary=summary)


def test_the_hosts_summary_is_the_prose_and_code_adds_facts_and_human_words() -> None:
    path = talk()
    made = take(path, 13).compaction
    assert (made.method, made.covered, made.model) == ("imported", ((1, 13),), "")
    assert SUMMARY in made.summary
    assert all(f"Request {i}: never touch the API." in made.summary for i in range(3))
    assert [item.kind for item in made.ledger if item.kind == "command"]
    assert violations(Shown(path, made, render(path, made, FMT), FMT)) == {}


def test_it_covers_no_part_of_a_group() -> None:
    assert take(talk(), 11).compaction.covered == ((1, 10),)  # the call at 10 is answered at 11


def test_what_cannot_be_one() -> None:
    path = talk()
    first = take(path, 9).compaction
    assert take(path, 9, summary=" \n") == NotTaken("opaque")
    assert take(path, 1) == NotTaken("covers_nothing")
    assert take(path, 5, first) == NotTaken("covers_less")
    assert left_out(["opaque", "opaque"]) == (
        "2 earlier compactions not taken over: only the provider can read the summary",
    )


def test_one_of_everything_so_far_waits_for_the_message_after_it() -> None:
    assert ripe(Earlier(at=9, covered=9, summary="s"), 25) == 10
    assert ripe(Earlier(at=9, covered=5, summary="s"), 25) == 9
    assert ripe(Earlier(at=25, covered=25, summary="s"), 25) == 25


def test_later_ones_have_the_earlier_as_base() -> None:
    path = talk()
    told = [
        Earlier(at=9, covered=9, summary="one"),
        Earlier(at=9, covered=4, summary="x"),
        Earlier(at=20, covered=17, summary="two"),
    ]
    made, refused = taken_over(path, told, FMT, policy=POLICY, limits=LIMITS)
    assert [(one.number, one.base, one.covered) for one in made] == [(1, 0, ((1, 9),)), (2, 1, ((1, 17),))]
    assert refused == ["covers_less"]
    assert "two" in made[1].summary
    assert "one" not in record_text(made[1].sections)


def test_every_policy_takes_it_over_and_goes_on_from_it() -> None:
    path = talk(40)
    for name in names():
        policy = load(name)
        limits = policy.limits(200_000, 8_000)
        made = imported(path[:60], NOTHING, FMT, policy=policy, limits=limits, covered=57, summary=SUMMARY)
        assert not isinstance(made, NotTaken), name
        base = made.compaction.model_copy(update={"number": 1})
        found = plan(path, base, FMT, policy=policy, limits=limits, reason="manual")
        if isinstance(found, Summarise):
            assert SUMMARY in record_text(found.previous)
            after = apply(found, found.previous).compaction
            assert violations(Shown(path, after, render(path, after, FMT), FMT)) == {}
        elif isinstance(found, PruneOnly):
            assert found.candidate.compaction.base == 1
