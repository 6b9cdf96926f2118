"""Finished phases: where one ends, what it shrinks to, what it never takes away."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.compaction import LedgerItem, PhaseEnd
from offturn_engine.ledger import LedgerBlock, Phase, ended, fold, ledger, merge, phases, render
from offturn_engine.ledger.folding import MOST_FILES, transient
from offturn_engine.ledger.phases import MOST
from offturn_engine.messages import Message
from offturn_engine.tokens import estimate_text
from tests.engine.talk import human, log, ran, says, transcripts, used

FAILS = "E   AssertionError: assert 1 == 2\n1 failed, 2 passed in 0.1s\nProcess exited with code 1"
PASSES = "41 passed in 0.1s\nProcess exited with code 0"
PLENTY = 100_000


def shown(
    items: Sequence[LedgerItem],
    *,
    budget: int,
    over: Sequence[Phase],
    used: frozenset[tuple[str, str]] = frozenset(),
) -> LedgerBlock:
    return render(items, budget=budget, folded=fold(items, over, used=used), used=lambda: used)


def listed(**items: str) -> list[Message]:
    """A call that writes the whole to-do list."""
    return used("TodoWrite", {"todos": [{"content": k, "status": v} for k, v in items.items()]}, "ok")


def edit(path: str) -> list[Message]:
    return used("Edit", {"file_path": path, "old_string": "x", "new_string": "y"}, "ok")


def read(path: str) -> list[Message]:
    return used("Read", {"file_path": path}, "x")


def login(*, start: int = 0) -> list[Message]:
    """A phase of 20 messages and the next request: a constraint, an identifier, two files read and one edited, an error that is solved."""
    return log(
        human("Fix the login bug #77. Never touch b.py."),
        listed(find="in_progress", fix="pending"),
        read("src/login.py"),
        read("src/session.py"),
        ran("ls src/login", "login.py"),
        ran("pytest -q tests/login", FAILS),
        edit("src/login.py"),
        ran("pytest -q tests/login", PASSES),
        ran("git status --short", "M src/login.py"),
        listed(find="completed", fix="completed"),
        says("It is fixed."),
        human("Now the logout page."),
        start=start,
    )


LINE = (
    "- [m0 to m19] Fix the login bug #77. Never touch b.py. · src/login.py: edited [m11]"
    " · solved E AssertionError: assert 1 == 2 [m10] · last run pytest -q tests/login: exit 0 · 41 passed"
)


def test_a_list_with_nothing_open_ends_a_phase_when_new_work_follows() -> None:
    request = "Fix the login bug #77. Never touch b.py."
    over = Phase(0, 19, request, "pytest -q tests/login", "exit 0 · 41 passed")
    path = login()
    assert phases(path) == ()
    assert phases([*path, *log(says("Looking."), start=len(path))]) == ()
    assert phases([*path, *log(read("src/logout.py"), start=len(path))]) == (over,)


@pytest.mark.parametrize("state", ["pending", "in_progress", "blocked"])
def test_an_open_item_keeps_a_phase_going(state: str) -> None:
    path = log(human("Do it."), listed(a="completed", b=state), human("And that."), read("a.py"))
    assert phases(path) == ()


def test_a_list_that_was_dropped_altogether_ends_nothing() -> None:
    path = log(human("Do it."), listed(a="cancelled"), human("And that."), read("a.py"))
    assert phases(path) == ()


def test_a_phase_was_there_for_the_request_its_list_was_made_for() -> None:
    path = log(
        human("What is this?"),
        read("a.py"),
        human("Repair the login page now."),
        human("Yes."),
        listed(a="pending"),
        human("Hurry up with that, please."),
    )
    path += log(listed(a="completed"), human("Next."), read("b.py"), start=len(path))
    assert [(p.start, p.end, p.why) for p in phases(path)] == [(0, 9, "Repair the login page now.")]


def test_a_run_that_looked_or_changed_something_outside_is_no_result() -> None:
    path = log(human("Ship it."), ran("make build", "ok"), ran("git push origin main", "ok"), ran("cat a.py", "x"))
    assert [
        (p.command, p.outcome) for p in phases(path, ended(path, (), [PhaseEnd(seq=path[-1].seq, note="shipped")]))
    ] == [("make build", "ok")]


def test_numbered_items_end_a_phase_too() -> None:
    made = used("TaskCreate", {"subject": "Fix it"}, "Task #1 created successfully: Fix it")
    done = used("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status")
    before = log(human("Fix."), made, human("Go on."), read("a.py"), done, human("Next."), read("b.py"))
    assert [(p.start, p.end, p.why) for p in phases(before)] == [(0, 7, "Fix.")]


def test_what_the_host_said_counts_alone() -> None:
    path = [*login(), *log(read("src/logout.py"), start=21)]
    marks = ended(path[:11], (), [PhaseEnd(seq=path[:11][-1].seq, note="  the bug\nis found ")])
    assert marks == (PhaseEnd(seq=10, note="the bug is found"),)
    assert [(p.start, p.end, p.why) for p in phases(path, marks)] == [(0, 10, "the bug is found")]
    assert [(p.start, p.end, p.why, p.command) for p in phases(path, (*marks, PhaseEnd(seq=20, note="")))] == [
        (0, 10, "the bug is found", "pytest -q tests/login"),
        (11, 20, "Now the logout page.", "pytest -q tests/login"),
    ]


def test_an_end_is_where_it_was_told_and_not_where_it_is_read() -> None:
    path = [*login(), *log(read("src/logout.py"), start=21)]
    first, second = PhaseEnd(seq=10, note="the bug is found"), PhaseEnd(seq=20, note="login works")
    assert ended(path, (), (first, second)) == ended(path, (first,), (second,)) == (first, second)
    assert ended(path, (first,), (PhaseEnd(seq=10, note="again"),)) == (PhaseEnd(seq=10, note="again"),)
    assert ended(path[3:], (), (PhaseEnd(seq=2, note="gone"), second)) == (second,)
    assert ended(path[:11], (), (second,)) == (PhaseEnd(seq=10, note="login works"),)


def test_an_end_that_left_the_path_is_none() -> None:
    assert phases(login(), [PhaseEnd(seq=400, note="gone")]) == ()


def test_a_record_keeps_the_newest_ends() -> None:
    marks: tuple[PhaseEnd, ...] = ()
    path = log(*(says(str(i)) for i in range(MOST + 5)))
    for i in range(1, MOST + 6):
        seq = path[i - 1].seq
        marks = ended(path[:i], marks, [PhaseEnd(seq=seq, note="first"), PhaseEnd(seq=seq, note=f"end {i}")])
    assert (len(marks), marks[0].seq, marks[-1].note) == (MOST, 5, f"end {MOST + 5}")


def test_a_finished_phase_is_one_line_and_what_was_said() -> None:
    path = [*login(), *log(read("src/logout.py"), start=21)]
    block = shown(ledger(path), budget=PLENTY, over=phases(path))
    assert block.text.split("\n") == [
        "### Finished phases",
        LINE,
        "### Files",
        "- [m22] src/logout.py: read",
        "### Constraints",
        "- [m0] Never touch b.py.",
        "### Identifiers",
        "- issue: #77 [m0]",
        "(5 more facts can be recalled)",
    ]
    assert (block.kept, block.recoverable) == (6, 5)


def test_what_is_open_or_failed_keeps_its_line() -> None:
    path = log(
        human("Fix it."),
        listed(find="completed", fix="pending"),
        *(read(f"src/module_{i}/implementation.py") for i in range(20)),
        ran("make lint", FAILS),
        ran("git push origin main", "done\nProcess exited with code 0"),
        says("We still need to port the importer."),
        human("Go on."),
    )
    text = shown(
        ledger(path),
        budget=PLENTY,
        over=phases(path, ended(path, (), [PhaseEnd(seq=path[-1].seq, note="a first look")])),
    ).text
    assert "a first look" in text
    assert "implementation.py" not in text
    assert "fix: pending" in text
    assert "find: done" not in text
    assert "make lint: exit 1 · 1 failed, 2 passed" in text
    assert "git push origin main: exit 0" in text
    assert "We still need to port the importer." in text


def test_a_file_of_two_phases_is_told_by_the_later_one() -> None:
    reads = [read(f"src/module_{i}/implementation.py") for i in range(9)]
    path = log(human("One."), *reads, edit("a.py"), human("Two."), *reads[:5], edit("a.py"), edit("b.py"))
    marks = [PhaseEnd(seq=20, note="one"), PhaseEnd(seq=path[-1].seq, note="two")]
    told = shown(ledger(path), budget=PLENTY, over=phases(path, marks)).text.split("\n")[1:3]
    assert told == [
        "- [m0 to m20] one",
        "- [m21 to m35] two · a.py: edited [m32], b.py: edited [m34]",
    ]


def test_more_files_than_a_line_holds_keep_lines_of_their_own() -> None:
    path = log(
        human("Rename it."),
        *(edit(f"src/{i:02}.py") for i in range(MOST_FILES + 3)),
        *(read(f"src/module_{i}/implementation.py") for i in range(30)),
    )
    text = shown(
        ledger(path), budget=PLENTY, over=phases(path, ended(path, (), [PhaseEnd(seq=path[-1].seq, note="renamed")]))
    ).text
    assert [f"src/{i:02}.py: edited" in text for i in range(MOST_FILES + 3)] == [True] * (MOST_FILES + 3)
    assert text.count("\n- [m") == 4


def test_a_phase_whose_line_would_be_longer_stays_as_it_is() -> None:
    path = log(human("Please look at the first part of this long story and tell me what it says."), read("a.py"))
    over = phases(path, ended(path, (), [PhaseEnd(seq=path[-1].seq, note="")]))
    assert shown(ledger(path), budget=PLENTY, over=over) == render(ledger(path), budget=PLENTY)


def test_what_the_visible_messages_speak_of_stays() -> None:
    path = [*login(), *log(read("src/logout.py"), start=21)]
    used_now = frozenset({("file", "src/session.py")})
    text = shown(ledger(path), budget=PLENTY, over=phases(path), used=used_now).text
    assert "- [m6] src/session.py: read" in text


def test_in_one_step_or_in_many_it_is_the_same() -> None:
    path = [*login(), *log(listed(find="pending"), edit("a.py"), listed(find="completed"), human("More."), start=21)]
    path += log(read("c.py"), start=len(path))
    over = phases(path)
    whole = shown(ledger(path), budget=PLENTY, over=over).text
    assert [line for line in whole.split("\n") if " to m" in line] == [LINE]
    closed = [i for i in range(1, len(path)) if not any(True for _ in path[i - 1].calls)]
    for cut in closed:
        joined = merge(ledger(path[:cut]), ledger(path[cut:]))
        assert shown(joined, budget=PLENTY, over=over).text == whole


def test_what_the_host_said_of_a_phase_has_a_line_though_all_was_done_again() -> None:
    path = [*login(), *log(*login(), start=21)]
    marks = [PhaseEnd(seq=19, note="login fixed"), PhaseEnd(seq=40, note="logout fixed")]
    run = "last run pytest -q tests/login: exit 0 \u00b7 41 passed"
    assert shown(ledger(path), budget=PLENTY, over=phases(path, marks)).text.split("\n")[1:3] == [
        f"- [m0 to m19] login fixed \u00b7 {run}",
        f"- [m20 to m40] logout fixed \u00b7 src/login.py: edited [m32] \u00b7 solved E AssertionError: assert 1 == 2 [m31] \u00b7 {run}",
    ]


def test_where_only_the_whole_fits_nothing_folds() -> None:
    path = log(listed(a="pending", b="completed"), edit("z.py"))
    over = phases(path, [PhaseEnd(seq=0, note="done")])
    plain = render(ledger(path), budget=PLENTY)
    assert shown(ledger(path), budget=estimate_text(plain.text), over=over) == plain


@st.composite
def ending(draw: st.DrawFn) -> tuple[list[Message], tuple[PhaseEnd, ...]]:
    """Any log, with to-do lists and solved errors in between, and ends anywhere."""
    pieces = st.sampled_from([listed(a="completed"), listed(a="pending", b="completed"), login(), [*edit("z.py")]])
    messages = log(draw(transcripts()), *draw(st.lists(pieces, max_size=4)), draw(transcripts()))
    seqs = draw(st.lists(st.integers(0, len(messages)), max_size=4, unique=True))
    return messages, tuple(PhaseEnd(seq=seq, note="done") for seq in sorted(seqs))


def firm(items: Sequence[LedgerItem]) -> list[str]:
    """How the text tells what no phase takes away."""
    stated = ("constraint", "preference", "decision", "next", "value")
    told = [
        i.text if i.kind in stated else f"{i.key}: {i.text}" for i in items if i.kind not in ("identifier", "error")
    ]
    kept = [i for i in items if i.kind not in ("identifier", "error")]
    return [text for text, item in zip(told, kept, strict=True) if not transient(item) and item.key]


@given(ending())
def test_folding_drops_no_constraint_no_open_item_no_last_state_of_a_file(
    made: tuple[list[Message], tuple[PhaseEnd, ...]],
) -> None:
    messages, marks = made
    items, over = ledger(messages), phases(messages, marks)
    block = shown(items, budget=PLENTY, over=over)
    assert [text for text in firm(items) if text not in block.text] == []
    assert [i.key for i in items if i.kind == "identifier" and i.key not in block.text] == []
    assert block.kept + block.recoverable == len([i for i in items if i.key])
    assert estimate_text(block.text) <= estimate_text(render(items, budget=PLENTY).text) + 20 + 20 * len(marks)


@given(ending(), st.integers(0, 900))
def test_folding_within_a_budget_shows_all_that_was_shown_without_it(
    made: tuple[list[Message], tuple[PhaseEnd, ...]], budget: int
) -> None:
    messages, marks = made
    items = ledger(messages)
    plain = render(items, budget=budget).text
    folded = shown(items, budget=budget, over=phases(messages, marks)).text
    assert estimate_text(folded) <= max(budget * 1.02, estimate_text(plain))
    assert [text for text in firm(items) if text in plain and text not in folded] == []


@given(transcripts(), st.data())
def test_without_room_neither_phases_nor_what_is_spoken_of_make_a_difference(
    path: list[Message], data: st.DataObject
) -> None:
    marks = [
        PhaseEnd(seq=m.seq, note=data.draw(st.sampled_from(["", "done"]))) for m in path[:: max(1, len(path) // 2)]
    ]
    items = (*ledger(path), *ledger(login(start=len(path))))
    used_now = frozenset((i.kind, i.key) for i in items if data.draw(st.booleans()))
    over = phases(path, ended(path, (), marks))
    assert shown(items, budget=0, over=over, used=used_now) == render(items, budget=0)
