"""Two splits in a row: the second covers all that the first covered, and more."""

from __future__ import annotations

import pytest

from offturn_engine.boundaries import at, split
from offturn_engine.messages import Message, Origin, Role, TextPart
from offturn_engine.ranges import Ranges, contains, inside, length, minus, ranges_of, seqs_of, union

KINDS: dict[str, tuple[Role, Origin]] = {
    "h": ("user", "human"),
    "a": ("assistant", "assistant"),
    "s": ("system", "system"),
}


def path(kinds: str) -> list[Message]:
    """One message of ten tokens for each letter: h a human, a the assistant, s the system."""
    return [_message(seq, *KINDS[kind]) for seq, kind in enumerate(kinds)]


def _message(seq: int, role: Role, origin: Origin) -> Message:
    text = f"{origin} message {seq}"
    raw = {"role": role, "content": text}
    return Message(role=role, parts=(TextPart(text),), raw=raw, origin=origin, tokens=10, seq=seq)


def twice(messages: list[Message], first: int, second: int) -> tuple[Ranges, Ranges]:
    """Covered after a compaction that cuts before index `first`, and after a second one that cuts before `second`."""
    covered = at(messages, (), first).cover
    return covered, union(covered, at(messages, covered, second).cover)


def test_the_tail_is_not_covered() -> None:
    found = split(path("hahahahaha"), (), tail=40, turn=0)
    assert found.cover == ((0, 6),)
    assert found.tail == 6


def test_a_large_budget_leaves_nothing_to_cover() -> None:
    assert split(path("haha"), (), tail=1_000, turn=0).cover == ()


def test_system_messages_are_never_covered() -> None:
    messages = path("hashahasha")
    covered = at(messages, (), 8).cover
    assert covered == ((0, 2), (3, 7))
    assert not contains(covered, 2)


def test_the_second_split_adds_only_what_is_new() -> None:
    messages = path("hahahahaha")
    covered = at(messages, (), 4).cover
    assert at(messages, covered, 8).cover == ((4, 8),)


@pytest.mark.parametrize("kinds", ["hahahahahaha", "sahahahahaha", "hashahahahah", "hahsahsahaha", "hahasahahsah"])
def test_a_second_compaction_covers_all_of_the_first(kinds: str) -> None:
    first, both = twice(path(kinds), 6, 10)
    assert inside(first, both)


@pytest.mark.parametrize("kinds", ["hahahahahaha", "hashahahahah", "hahsahsahaha"])
def test_what_is_visible_after_two_splits(kinds: str) -> None:
    messages = path(kinds)
    _, both = twice(messages, 6, 10)
    visible = minus(ranges_of(m.seq for m in messages), both)
    assert list(seqs_of(visible)) == [m.seq for m in messages if m.origin == "system" or m.seq >= 10]
    assert length(visible) + length(both) == len(messages)
