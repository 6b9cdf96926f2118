"""A host's own list is recognised whatever it did to it, and nothing is new unless everything before it was found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_config.presets import load
from offturn_engine.compaction import Compaction
from offturn_engine.draft import SUMMARY_HEAD, SUMMARY_TELLS
from offturn_engine.errors import CannotFit
from offturn_engine.formats import get, names, parse_all
from offturn_engine.formats.base import Format
from offturn_engine.match import (
    Form,
    Match,
    Shape,
    holds_summary,
    match,
    match_ids,
    path_shape,
    view_shape,
    window,
)
from offturn_engine.messages import Message
from offturn_engine.plan import emergency
from offturn_engine.render import NO_RESULT, is_system, render
from tests.engine.strategies import transcripts

NAMES = st.sampled_from(names())
NEW = "something nobody has said before"


FMT = get("openai-chat")


def says(*texts: str) -> list[Any]:
    return [{"role": "user", "content": text} for text in texts]


def parsed(raws: Sequence[Any], fmt: Format) -> list[Message]:
    return parse_all(fmt, raws)


def forms(raws: Sequence[Any], fmt: Format) -> list[Form]:
    """As a host has them: another object of the same JSON value."""
    return [Form(json.loads(json.dumps(raw)), fmt) for raw in raws]


def transcript(raws: Sequence[Any], fmt: Format) -> Shape:
    return path_shape(parsed(raws, fmt), forms(raws, fmt))


@st.composite
def talks(draw: st.DrawFn) -> tuple[Format, list[Any]]:
    name = draw(NAMES)
    return get(name), draw(transcripts(name))


@given(talk=talks(), data=st.data())
def test_of_ones_own_list_exactly_the_rest_is_new(talk: tuple[Format, list[Any]], data: st.DataObject) -> None:
    fmt, raws = talk
    known = data.draw(st.integers(0, len(raws)))
    found = match(forms(raws, fmt), transcript(raws[:known], fmt))
    assert found == Match("append" if known < len(raws) else "equal", known)


@given(talk=talks(), data=st.data())
def test_a_strict_prefix_is_behind(talk: tuple[Format, list[Any]], data: st.DataObject) -> None:
    fmt, raws = talk
    held = data.draw(st.integers(0, len(raws) - 1))
    assert match(forms(raws[:held], fmt), transcript(raws, fmt)) == Match("behind", held)


@given(talk=talks(), data=st.data())
def test_a_list_that_lacks_a_message_is_never_continued(talk: tuple[Format, list[Any]], data: st.DataObject) -> None:
    fmt, raws = talk
    gone = data.draw(st.integers(0, len(raws) - 1))
    found = match(forms([*raws[:gone], *raws[gone + 1 :], fmt.user(NEW)], fmt), transcript(raws, fmt))
    assert found == Match("unrelated", 0)


@given(talk=talks(), data=st.data())
def test_a_message_put_in_or_changed_is_never_overlooked(talk: tuple[Format, list[Any]], data: st.DataObject) -> None:
    fmt, raws = talk
    place = data.draw(st.integers(0, len(raws) - 1))
    for rest in (raws[place:], raws[place + 1 :]):
        found = match(forms([*raws[:place], fmt.user(NEW), *rest], fmt), transcript(raws, fmt))
        assert (found.kind, found.differs) == ("unrelated", place)


def generation(draw: st.DrawFn, path: list[Message], fmt: Format) -> Compaction:
    """Any generation the engine makes of this path."""
    policy = load()
    limits = policy.limits(100_000)
    whole = sum(message.tokens for message in path)
    usable, tail = draw(st.integers(1, max(1, whole))), draw(st.integers(1, max(1, whole)))
    tight = replace(limits, usable=usable, tail=tail, human=draw(st.integers(1, 400)), ledger=draw(st.integers(0, 200)))
    try:
        return emergency(path, Compaction(), fmt, policy=policy, limits=tight).compaction
    except CannotFit:
        loose = replace(tight, usable=10 * whole + 10_000)
        return emergency(path, Compaction(), fmt, policy=policy, limits=loose).compaction


@st.composite
def handed_back(draw: st.DrawFn) -> tuple[Format, list[Any], int, int, Compaction]:
    """(format, transcript, length at which the host got its view, length now, generation)."""
    fmt, raws = draw(talks())
    planned = draw(st.integers(1, len(raws)))
    got = draw(st.integers(planned, len(raws)))
    now = draw(st.integers(got, len(raws)))
    return fmt, raws, got, now, generation(draw, parsed(raws[:planned], fmt), fmt)


@given(case=handed_back())
def test_of_our_own_view_handed_back_exactly_what_followed_is_new(
    case: tuple[Format, list[Any], int, int, Compaction],
) -> None:
    fmt, raws, got, now, record = case
    path = parsed(raws, fmt)
    view = render(path[:got], record, fmt).messages
    shape = view_shape(path[:now], forms(raws[:now], fmt), record, fmt)

    found = match(forms([*view, *raws[got:]], fmt), shape)
    behind = match(forms(view, fmt), shape)

    assert found == Match("own-view", len(view) + now - got)
    assert behind.kind == ("own-view" if got == now else "behind")


@given(case=handed_back())
def test_a_view_of_ours_that_lacks_what_came_since_is_refused(
    case: tuple[Format, list[Any], int, int, Compaction],
) -> None:
    fmt, raws, got, now, record = case
    path = parsed(raws, fmt)
    view = render(path[:got], record, fmt).messages
    found = match(forms([*view, fmt.user(NEW)], fmt), view_shape(path[:now], forms(raws[:now], fmt), record, fmt))
    assert found == (Match("unrelated", 0) if got < now else Match("own-view", len(view)))


@st.composite
def summarised(draw: st.DrawFn) -> tuple[Format, list[Any], Compaction]:
    """A transcript with an answered turn in front, and a generation that covers at least that turn."""
    fmt, rest = draw(talks())
    raws = [fmt.user("Are the tests green?"), fmt.assistant("They are."), *rest]
    path = parsed(raws, fmt)
    limits = replace(load().limits(100_000), usable=10_000_000, tail=1)
    return fmt, raws, emergency(path, Compaction(), fmt, policy=load(), limits=limits).compaction


@given(case=summarised())
def test_a_view_of_ours_is_not_the_transcript(case: tuple[Format, list[Any], Compaction]) -> None:
    fmt, raws, record = case
    view = render(parsed(raws, fmt), record, fmt).messages
    assert record.covered
    assert match(forms([*view, fmt.user(NEW)], fmt), transcript(raws, fmt)).kind == "unrelated"


def other_shape(raw: Any, kind: str = "text") -> Any:
    """The message as another library writes it: nulls, a cache marker, another key order, text as a part."""
    value = dict(reversed(json.loads(json.dumps(raw)).items()))
    if isinstance(value.get("content"), str) and value["content"] and raw["role"] != "tool":
        value["content"] = [{"type": kind, "text": value["content"], "cache_control": {"type": "ephemeral"}}]
    return {"name": None, **value}


@given(talk=talks())
def test_shape_markers_and_nulls_make_no_difference(talk: tuple[Format, list[Any]]) -> None:
    fmt, raws = talk
    kind = "input_text" if fmt.in_items else "text"
    history = forms([other_shape(raw, kind) for raw in raws], fmt)
    assert match(history, transcript(raws, fmt)) == Match("equal", len(raws))


def by_ids(ids: list[str | None], texts: str, path_ids: list[str | None], path: str) -> Match | None:
    return match_ids(ids, forms(says(*texts), FMT), path_ids, transcript(says(*path), FMT))


@pytest.mark.parametrize(
    ("ids", "texts", "path_ids", "path", "found"),
    [
        (["1", "2"], "ab", ["1", "2"], "ab", Match("equal", 2)),
        (["1", "2", "3"], "abc", ["1", "2"], "ab", Match("append", 2)),
        (["2", "3"], "bc", ["1", "2"], "ab", Match("append", 1)),
        (["1"], "a", ["1", "2"], "ab", Match("behind", 1)),
        (["1", "3"], "ac", ["1", "2", "3"], "abc", None),
        (["1", "3"], "ac", ["1", None, "3"], "abc", Match("equal", 2)),
        (["1", None, "3"], "abc", ["1", None], "ab", Match("append", 2)),
        (["1", "9", "3"], "abc", ["1", None], "ab", Match("append", 2)),
        (["1", "3"], "ac", ["1", None], "ab", Match("unrelated", 0)),
        (["1", "9", "2"], "axb", ["1", "2"], "ab", None),
        (["2", "1"], "ba", ["1", "2"], "ab", None),
        (["1", "1"], "aa", ["1", "2"], "ab", None),
        (["1", "2"], "ax", ["1", "2"], "ab", None),
        (["7", "8"], "xy", ["1", "2"], "ab", None),
        ([None, "1"], "xa", ["1"], "a", None),
        ([], "", ["1"], "a", None),
    ],
)
def test_by_ids(ids: list[str | None], texts: str, path_ids: list[str | None], path: str, found: Match | None) -> None:
    assert by_ids(ids, texts, path_ids, path) == found


@pytest.mark.parametrize(
    ("mine", "path", "differs"),
    [("xbc", "abc", 0), ("axc", "abc", 1), ("abx", "abc", 2), ("acd", "abc", 1), ("abdx", "abcd", 2), ("bc", "abc", 0)],
)
def test_the_first_message_that_differs_is_named(mine: str, path: str, differs: int) -> None:
    found = match(forms(says(*mine), FMT), transcript(says(*path), FMT))
    assert (found.kind, found.differs) == ("unrelated", differs)


def test_by_ids_the_place_counts_from_the_start_of_the_list() -> None:
    found = by_ids(["2", "3", "9"], "bcx", ["1", "2", "3", None], "abcd")
    assert found == Match("unrelated", 0)
    assert found is not None
    assert found.differs == 2


@pytest.mark.parametrize(
    ("mine", "path", "found"),
    [
        ("cde", "abcd", Match("append", 2)),
        ("abcd", "abcd", Match("equal", 4)),
        ("cd", "abcd", Match("equal", 2)),
        ("bc", "abcd", Match("behind", 2)),
        ("ab", "abcab", Match("equal", 2)),
        ("aba", "ababa", Match("equal", 3)),
        ("yoyon", "xyoyo", Match("append", 4)),
        ("dx", "abcd", Match("append", 1)),
        ("cx", "abcd", Match("unrelated", 0)),
        ("xd", "abcd", Match("unrelated", 0)),
        ("", "abcd", Match("unrelated", 0)),
    ],
)
def test_a_window_goes_on_where_it_overlaps(mine: str, path: str, found: Match) -> None:
    assert window(forms(says(*mine), FMT), transcript(says(*path), FMT)) == found


def test_by_ids_a_window_may_lack_any_older_message() -> None:
    path = transcript(says(*"abc"), FMT)
    assert match_ids(["1", "3"], forms(says(*"ac"), FMT), ["1", "2", "3"], path, partial=True) == Match("equal", 2)


def test_order_matters_but_inside_tool_groups() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    calls, found = {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "1"}
    [hurry] = says("hurry")
    shape = transcript([calls, hurry, found], FMT)

    assert match(forms([calls, found, hurry], FMT), shape) == Match("equal", 3)
    assert match(forms([calls, hurry], FMT), shape) == Match("behind", 2)
    lacks = match(forms([calls, found], FMT), shape)
    assert (lacks.kind, lacks.differs) == ("unrelated", 1)
    assert match(forms([calls, found, *says("on")], FMT), shape).differs == 1
    assert match(forms(says("b", "a"), FMT), transcript(says("a", "b"), FMT)).kind == "unrelated"


def test_what_is_no_message_matches_nothing() -> None:
    for odd in (None, "text", 3, {"role": {1}}, {1: 2, "a": 3}, {"content": object()}):
        assert match([Form(odd, FMT)], transcript(says("a"), FMT)).kind == "unrelated"  # type: ignore[arg-type]
    assert not is_system("system")
    assert is_system({"role": "developer", "content": "x"})


@pytest.mark.parametrize("name", names())
def test_a_synthetic_result_is_told_from_a_real_one(name: str) -> None:
    fmt = get(name)
    assert Form(fmt.result("c", "f", NO_RESULT), fmt).is_synthetic
    assert not Form(fmt.result("c", "f", NO_RESULT + " (quoted)"), fmt).is_synthetic
    assert not Form(fmt.user("hello"), fmt).is_synthetic


@given(case=summarised())
def test_a_summary_is_known_in_every_session(case: tuple[Format, list[Any], Compaction]) -> None:
    fmt, _, record = case
    raw = fmt.user(record.summary)
    assert holds_summary(raw)
    assert holds_summary(other_shape(raw))
    assert holds_summary(fmt.user(SUMMARY_HEAD + "0-2, ..., 90" + SUMMARY_TELLS))
    assert fmt.by_place or not holds_summary(fmt.result("c", "f", record.summary))
    assert not holds_summary(fmt.user("[Summary of messages 1-2, please!]"))
    assert not holds_summary(fmt.user(NEW))
