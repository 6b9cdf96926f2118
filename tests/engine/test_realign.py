"""A list that differs from the session asks for exactly its own messages, and keeps what is the session's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.compaction import Compaction
from offturn_engine.formats.base import Format
from offturn_engine.groups import pair
from offturn_engine.match import path_shape, view_shape
from offturn_engine.messages import Message
from offturn_engine.realign import Realigned, realign
from offturn_engine.render import render
from tests.engine.test_match import FMT, forms, handed_back, parsed, says, talks, transcript

LETTERS = st.text("abcdefghij", max_size=10)


def asked(mine: str, path: str, *, ids: str = "", names: str = "", partial: bool = False) -> Realigned:
    """Of lists of one-letter messages; ids and names likewise, `-`: none."""
    given = [None if one in "- " else one for one in ids.ljust(len(mine))]
    known = {seq: name for seq, name in enumerate(names) if name != "-"}
    shape = transcript(says(*path), FMT)
    return realign(forms(says(*mine), FMT), given, shape, range(len(path)), known, (), partial=partial)


def contents(found: Realigned, mine: Sequence[Any], path: Sequence[Any]) -> list[Any]:
    """The new path's messages."""
    return [mine[step.place or 0] if step.seq is None else path[step.seq] for step in found.order]


@pytest.mark.parametrize(
    ("mine", "path", "order", "left", "differs"),
    [
        ("abx", "abcd", "ab+", {2, 3}, 2),  # undone, and said differently
        ("abxd", "abcd", "ab+d", {2}, 2),  # edited
        ("abxdy", "abcd", "ab+d+", {2}, 2),
        ("abd", "abcd", "abd", {2}, 2),  # one deleted
        ("xabcd", "abcd", "+abcd", set(), 0),
        ("xbcd", "abcd", "+bcd", {0}, 0),
        ("xyz", "abcd", "+++", {0, 1, 2, 3}, 0),  # unrelated
        ("dabc", "abcd", "+abc", {3}, 0),
        ("aab", "aba", "a+b", {2}, 1),
        ("aaxa", "aaa", "aa+a", set(), 2),
        ("", "abc", "", {0, 1, 2}, 0),
    ],
)
def test_by_content(mine: str, path: str, order: str, left: set[int], differs: int) -> None:
    found = asked(mine, path)
    assert "".join("+" if step.seq is None else path[step.seq] for step in found.order) == order
    assert (set(found.left), found.differs) == (left, differs)


@pytest.mark.parametrize(
    ("mine", "ids", "path", "names", "shown"),
    [
        ("axc", "123", "abc", "123", "axc"),  # the same id: another message in its place
        ("bc", "23", "abc", "123", "abc"),  # older than the first: trimmed
        ("xc", "23", "abc", "123", "axc"),
        ("ac", "13", "abc", "123", "ac"),  # deleted
        ("axc", "193", "abc", "123", "axc"),
        ("axd", "124", "abcd", "12-4", "axcd"),  # what has no id was not deleted
        ("axd", "194", "abd", "1-4", "axd"),  # but may have been edited
        ("ba", "21", "ab", "12", "ba"),
        ("bx", "--", "abc", "123", "bx"),
        ("axy", "1--", "abc", "1--", "axy"),
        ("bb", "92", "ab", "12", "abb"),
    ],
)
def test_by_ids(mine: str, ids: str, path: str, names: str, shown: str) -> None:
    found = asked(mine, path, ids=ids, names=names)
    assert "".join(contents(found, mine, path)) == shown


@pytest.mark.parametrize(
    ("mine", "path", "shown"),
    [
        ("cdx", "abcde", "abcdx"),  # undone inside the window
        ("xde", "abcde", "abxde"),  # one edited for one
        ("xyde", "abcde", "axyde"),
        ("cxe", "abcde", "abcxe"),
        ("xy", "abcde", "abcdexy"),  # a gap
        ("ax", "ababa", "ababaax"),  # no telling which
        ("abx", "abcabd", "abcabx"),
    ],
)
def test_of_a_window(mine: str, path: str, shown: str) -> None:
    found = asked(mine, path, partial=True)
    assert "".join(contents(found, mine, path)) == shown


@pytest.mark.parametrize(
    ("mine", "path", "inside"),
    [
        ("cd", "abcd", True),
        ("bc", "abcd", True),
        ("cdx", "abcd", True),
        ("dx", "abcd", False),
        ("bcx", "abcd", False),
        ("xcd", "abcd", False),
        ("ab", "abcd", False),
        ("", "ab", False),
    ],
)
def test_a_list_that_starts_in_the_middle_is_known(mine: str, path: str, inside: bool) -> None:
    assert asked(mine, path).inside is inside


def longest_common(a: str, b: str) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(mine=LETTERS, path=LETTERS)
def test_the_path_is_the_list(mine: str, path: str) -> None:
    found = asked(mine, path)
    kept = [step.seq for step in found.order if step.seq is not None]
    assert contents(found, mine, path) == list(mine)
    assert kept == sorted(set(kept))
    assert found.left == set(range(len(path))) - set(kept)
    assert found.known == len(kept) == len(mine) - len(found.new)


@given(mine=LETTERS.filter(lambda text: len(set(text)) == len(text)), path=st.permutations("abcdefghij"))
def test_where_no_message_repeats_the_most_is_kept(mine: str, path: list[str]) -> None:
    assert asked(mine, "".join(path)).known == longest_common(mine, "".join(path))


@given(start=LETTERS, end=LETTERS, old=LETTERS, new=LETTERS)
def test_what_is_before_and_behind_an_edit_keeps_its_seqs(start: str, end: str, old: str, new: str) -> None:
    path = start + old + end
    found = asked(start + new + end, path)
    kept = {step.seq for step in found.order}
    assert set(range(len(start))) <= kept
    assert len(found.new) <= len(new)


def edited(data: st.DataObject, raws: list[Any], fmt: Format) -> list[Any]:
    """The list after a few changes of its host."""
    mine = list(raws)
    for number in range(data.draw(st.integers(1, 3))):
        low = data.draw(st.integers(0, len(mine)))
        high = data.draw(st.integers(low, min(len(mine), low + 4)))
        fresh = [fmt.user(f"edit {number}.{n}") for n in range(data.draw(st.integers(0, 2)))]
        mine[low:high] = fresh
    return mine


@given(talk=talks(), data=st.data())
def test_any_edit_of_any_transcript(talk: tuple[Format, list[Any]], data: st.DataObject) -> None:
    fmt, raws = talk
    mine = edited(data, raws, fmt)
    path = parsed(raws, fmt)
    shape = path_shape(path, forms(raws, fmt))
    found = realign(forms(mine, fmt), [None] * len(mine), shape, range(len(raws)), {}, (), partial=False)
    assert contents(found, mine, raws) == json.loads(json.dumps(mine))
    named = {seq: f"row {seq}" for seq in range(len(raws))}
    ids = [f"row {raws.index(raw)}" if raws.count(raw) == 1 and raw in raws else None for raw in mine]
    by_ids = realign(forms(mine, fmt), ids, shape, range(len(raws)), named, (), partial=False)
    shown = contents(by_ids, mine, raws)
    assert shown[len(shown) - len(mine) :] == mine  # and in front of it what is older than the first id


def moved(found: Realigned, mine: Sequence[Any], path: Sequence[Message], fmt: Format) -> list[Message]:
    fresh = iter(range(len(path), len(path) + len(mine)))
    return [
        fmt.parse(mine[step.place or 0]).placed(next(fresh)) if step.seq is None else path[step.seq]
        for step in found.order
    ]


@given(case=handed_back(), data=st.data())
def test_any_edit_of_our_view_behind_its_summary(
    case: tuple[Format, list[Any], int, int, Compaction], data: st.DataObject
) -> None:
    """What the summary covers stays, and the view of the new path is the list."""
    fmt, raws, _, now, record = case
    path = parsed(raws[:now], fmt)
    rendering = render(path, record, fmt)
    view = rendering.messages
    first = max((i + 1 for i, item in enumerate(rendering.items) if item.kind in ("summary", "replay")), default=0)
    mine = [*view[:first], *edited(data, view[first:], fmt)]
    shape = view_shape(path, forms(raws[:now], fmt), record, fmt)
    found = realign(forms(mine, fmt), [None] * len(mine), shape, range(now), {}, record.covered, partial=False)
    messages = moved(found, mine, path, fmt)

    assert len({m.seq for m in messages}) == len(messages)
    if record.covered:
        assert not {seq for low, high in record.covered for seq in range(low, high)} & found.left
    plain = all(item.kind in ("message", "summary", "replay") for item in rendering.items)
    if plain and not pair(messages).orphans:
        again = render(messages, record, fmt)
        kept = [form.key for form in forms(mine, fmt)]
        shown = [form.key for form, item in zip(forms(again.messages, fmt), again.items, strict=True)]
        assert sorted(set(kept)) == sorted(set(shown) - {f.key for f in forms(again.messages, fmt) if f.is_synthetic})


def test_each_of_many_equal_messages_is_paired_once() -> None:
    found = asked("x" + "a" * 3_000 + "y", "b" + "a" * 3_000 + "c")
    assert (found.known, len(found.left), found.new) == (3_000, 2, [0, 3_001])
