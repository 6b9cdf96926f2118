"""What a path keeps beside its messages is what it would be if it were found anew: laws, against the plain way."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_engine.boundaries import _units
from offturn_engine.compaction import Compaction
from offturn_engine.contents import in_order, newest_first
from offturn_engine.formats import get
from offturn_engine.groups import pair, spans
from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Edit, Message
from offturn_engine.path import Path
from offturn_engine.plain import APART, Plain
from offturn_engine.ranges import Ranges, contains, ranges_of
from offturn_engine.render import render
from tests.engine.raws import FORMATS, Raw, human, odd, placed, result
from tests.engine.strategies import transcripts

NAMES = ("openai-chat", "anthropic", "openai-responses", "gemini", "text-observation")


@st.composite
def paths(draw: st.DrawFn) -> tuple[str, list[Message]]:
    """A path of any format whose seqs need not ascend: messages were amended, and some have left it."""
    name = draw(st.sampled_from(NAMES))
    raws = draw(odd(get(name)) if draw(st.booleans()) else transcripts(name, turns=5, orphans=True))
    path = placed(raws, get(name))
    for at in draw(st.lists(st.integers(0, len(path) - 1), max_size=3)):
        path[at] = replace(path[at], seq=len(raws) + at)
    gone = draw(st.sets(st.integers(1, max(1, len(path) - 1)), max_size=3))
    return name, [m for i, m in enumerate(path) if i not in gone]


def some_of(path: list[Message]) -> st.SearchStrategy[Ranges]:
    return st.sets(st.sampled_from([m.seq for m in path])).map(ranges_of)


@given(paths(), st.data())
@settings(max_examples=150, deadline=None)
def test_places_are_those_of_a_look_at_every_message(made: tuple[str, list[Message]], data: st.DataObject) -> None:
    messages, path = made[1], Path(made[1])
    ranges = data.draw(some_of(messages))
    covered = [contains(ranges, m.seq) for m in messages]
    assert [i for low, high in path.inside(ranges) for i in range(low, high)] == [i for i, c in enumerate(covered) if c]
    assert [i for low, high in path.outside(ranges) for i in range(low, high)] == [
        i for i, c in enumerate(covered) if not c
    ]
    assert path.without(ranges) == tuple(m for m, c in zip(messages, covered, strict=True) if not c)
    assert path.within(ranges) == [m for m, c in zip(messages, covered, strict=True) if c]
    assert [path.place(m.seq) for m in messages] == list(range(len(messages)))
    assert path.place(-5) is None
    assert path.last_seq == max(m.seq for m in messages)
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, len(messages))] * 2)))
    assert path.seqs(low, high) == ranges_of(m.seq for m in messages[low:high])


@given(paths(), st.lists(st.integers(0, 40), max_size=4))
@settings(max_examples=150, deadline=None)
def test_a_path_that_grew_has_the_pairs_of_one_read_at_once(made: tuple[str, list[Message]], cuts: list[int]) -> None:
    messages = made[1]
    path, at = Path(()), 0
    for cut in sorted(cuts):
        pair(path)  # a path that nobody asked for its pairs has none to carry on
        path, at = path.extended(messages[at : max(at, cut)]), max(at, min(cut, len(messages)))
    path = path.extended(messages[at:])
    assert path == tuple(messages)
    assert pair(path) == pair(messages)
    assert spans(path) == spans(messages)


@given(st.sampled_from(FORMATS).flatmap(lambda fmt: odd(fmt).map(lambda raws: placed(raws, fmt))))
@settings(max_examples=150, deadline=None)
def test_the_units_before_a_cut_are_those_of_the_whole_path(messages: list[Message]) -> None:
    path = Path(messages)
    assert all([*_units(path, cut)] == [*spans(messages[:cut])] for cut in legal_cut_points(path))


@given(paths(), st.data())
@settings(max_examples=200, deadline=None)
def test_slices_of_a_path_make_the_view_that_group_after_group_makes(
    made: tuple[str, list[Message]], data: st.DataObject
) -> None:
    fmt, messages = get(made[0]), made[1]
    covered = data.draw(some_of(messages))
    results = [(m.seq, part) for m in messages for part, _ in m.results]
    cleared = data.draw(st.sets(st.sampled_from(results), max_size=3)) if results else set()
    record = Compaction(
        covered=covered,
        summary="what happened" if covered else "",
        edits=tuple(Edit(seq=seq, part=part, rule="stub", text="[gone]") for seq, part in sorted(cleared)),
        placement=data.draw(st.sampled_from(["first", "last"])),
        system_note=data.draw(st.sampled_from(["", "[a note]"])),
    )
    path = Path(messages)
    found = render(path, record, fmt)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plain, "_end_of", lambda *_: APART)
        assert render(messages, record, fmt) == found
    assert render(path, record, fmt) == found, "what is kept beside the path does not change the next view"


@pytest.mark.parametrize("place", ["_made", "_carried", "_left"])
def test_what_another_thread_begins_to_keep_meanwhile_is_not_missed(place: str) -> None:
    """From Python 3.12 on two threads that ask for a cached property first may each have a value of their own."""
    path = Path(placed([human("a"), human("b")]))

    class Replaced(dict[object, object]):
        def __setitem__(self, key: object, value: object) -> None:
            super().__setitem__(key, value)
            path.__dict__[place] = {}

    asked = {"_made": lambda: path.once(len), "_carried": lambda: path.carried(lambda found, _: len(found))}
    path.__dict__[place] = Replaced()
    assert asked.get(place, lambda: len(path.without(((5, 6),))))() == 2


def test_a_path_of_sizes_keeps_its_messages() -> None:
    path = Path(placed([human("a"), human("b"), human("c")]))
    assert path.sized([5, 6, 7]) == path
    assert [*path.sized([5, 6, 7]).without(((1, 2),)).sizes] == [5, 7]
    assert path.sizes == [m.tokens for m in path]


FILES = ("a.py", "b.py", "c.py")
TWO = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Update File: b.py\n@@\n*** End Patch"
WORK: tuple[tuple[str, Raw], ...] = (
    *(("read_file", {"path": name}) for name in FILES),
    *(("write_file", {"path": name, "content": f"all of {name}"}) for name in FILES),
    *(("edit_file", {"path": name, "old_string": "x"}) for name in FILES),
    *(
        ("bash", {"command": command})
        for command in ("cat a.py", "rm a.py", "mv b.py c.py", "sed -i s/x/y/ c.py", "ls")
    ),
    ("apply_patch", {"input": TWO}),
    ("skill", {"name": "review"}),
    ("load_skill", {"name": "deploy"}),
)


@st.composite
def working(draw: st.DrawFn) -> list[Message]:
    """Files read, written, changed, moved and deleted, with results that come late, and what a host put there."""
    raws: list[Raw] = [human("go")]
    waiting: list[Raw] = []
    for number, (name, arguments) in enumerate(draw(st.lists(st.sampled_from(WORK), max_size=14))):
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        raws.append({"role": "assistant", "content": "", "tool_calls": [call]})
        waiting.append(result(f"c{number}", draw(st.sampled_from(["", "the text", f"text {number}", "Error: no"]))))
        if draw(st.integers(0, 3)):
            raws += waiting
            waiting = []
    path = placed([*raws, *draw(st.permutations(waiting))])
    hosts = draw(st.sets(st.integers(0, len(path) - 1), max_size=1))
    return [replace(m, origin="host") if i in hosts and m.role == "user" else m for i, m in enumerate(path)]


@given(working(), st.data())
@settings(max_examples=300, deadline=None)
def test_the_newest_contents_come_as_if_all_had_been_looked_at(messages: list[Message], data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        messages[-1] = replace(messages[-1], seq=-1)  # not in the order of the seqs
    covered = data.draw(some_of(messages))
    every = [f for f in in_order(Path(messages)) if contains(covered, f.message.seq)]
    assert [*newest_first(Path(messages), covered)] == sorted(every, key=lambda f: -f.touched)
