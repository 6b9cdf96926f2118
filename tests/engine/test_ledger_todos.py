"""To-do items: the last status each got, whatever tool wrote it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.ledger import ledger, merge, render
from offturn_engine.messages import Message
from tests.engine.talk import log, used

TODOS = (
    ("TodoWrite", {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]}),
    ("update_plan", {"plan": [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}]}),
    (
        "todo",
        {"todos": [{"id": "1", "content": "a", "status": "done"}, {"id": "2", "content": "b", "status": "doing"}]},
    ),
    (
        "manage_todo_list",
        {"todoList": [{"title": "a", "status": "completed"}, {"title": "b", "status": "in-progress"}]},
    ),
    ("SetTodoList", {"todos": [{"title": "a", "status": "Done"}, {"title": "b", "status": "In Progress"}]}),
    ("update_todo_list", {"todos": "- [x] a\n- [-] b"}),
    ("update_todo_list", {"todos": "[x] a\n[-] b"}),
    ("TodoWrite", {"todos": "1. [completed] a\n2. [in_progress] b"}),
    ("todos", {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]}),
    ("read_file", {"path": "x.py", "task_progress": "- [x] a\n- [-] b"}),
    (
        "task_tracker",
        {"command": "plan", "task_list": [{"title": "a", "done": True}, {"title": "b", "status": "active"}]},
    ),
)


@pytest.mark.parametrize(("tool", "arguments"), TODOS)
def test_to_do_items_have_their_last_status(tool: str, arguments: dict[str, object]) -> None:
    items = ledger(log(used(tool, arguments, "ok")))
    assert {i.key: i.text for i in items if i.kind == "todo" and i.key} == {"a": "done", "b": "in progress"}


def test_what_a_later_list_does_not_name_was_dropped() -> None:
    first = used(
        "TodoWrite", {"todos": [{"content": "a", "status": "pending"}, {"content": "b", "status": "done"}]}, "ok"
    )
    later = used("TodoWrite", {"todos": [{"content": "c", "status": "pending"}]}, "ok")
    items = merge(ledger(log(first)), ledger(log(later, start=10)))
    assert {i.key: i.text for i in items if i.key} == {"a": "dropped", "b": "done", "c": "pending"}
    assert render(items, budget=1_000).text.count("\n") == 3


def created(number: int, subject: str) -> list[Message]:
    said = {"subject": subject, "description": "All of it.", "activeForm": "Doing it"}
    return used("TaskCreate", said, f"Task #{number} created successfully: {subject}")


def updated(number: object, status: str) -> list[Message]:
    return used("TaskUpdate", {"taskId": number, "status": status}, f"Updated task #{number} status")


def test_a_numbered_item_has_the_last_status_its_number_got() -> None:
    items = ledger(
        log(created(1, "Fix it"), created(2, "Test it"), updated("1", "in_progress"), updated(1, "completed"))
    )
    told = [(i.key, i.text, i.seq) for i in items]
    assert told == [("#1 \u00b7 Fix it", "done", 1), ("#2 \u00b7 Test it", "pending", 3)]
    assert "- [m1] #1 \u00b7 Fix it: done" in render(items, budget=1_000).text


def test_a_number_is_joined_with_its_item_over_generations() -> None:
    one = ledger(log(created(1, "Fix it"), created(2, "Test it")))
    two = ledger(log(updated("1", "completed"), updated("2", "deleted"), start=10))
    three = ledger(log(created(1, "Ship it"), updated("1", "in_progress"), start=20))
    assert [(i.key, i.text) for i in two] == [("#1 \u00b7 \u2026", "done"), ("#2 \u00b7 \u2026", "dropped")]
    whole = merge(merge(one, two), three)
    assert whole == merge(one, merge(two, three))
    assert [(i.key, i.text) for i in whole if i.kind == "todo"] == [
        ("#1 \u00b7 Fix it", "done"),
        ("#2 \u00b7 Test it", "dropped"),
        ("#1 \u00b7 Ship it", "in progress"),
    ]


TASKS = st.one_of(
    st.builds(created, st.integers(1, 2), st.sampled_from(["Fix it", "Test it"])),
    st.builds(updated, st.integers(1, 2), st.sampled_from(["in_progress", "completed", "deleted"])),
)


@given(st.lists(st.lists(TASKS, max_size=4), min_size=3, max_size=3))
def test_numbers_are_joined_alike_in_any_order_of_joining(pieces: list[list[list[Message]]]) -> None:
    one, two, three = (ledger(log(*piece, start=100 * i)) for i, piece in enumerate(pieces))
    assert merge(merge(one, two), three) == merge(one, merge(two, three))
    whole = ledger(log(*(step for piece in pieces for step in piece)))
    assert {(i.key, i.text, i.count) for i in merge(merge(one, two), three)} == {
        (i.key, i.text, i.count) for i in whole
    }


EMPTIED = [
    ("TodoWrite", {"todos": []}, {"a": "dropped", "b": "done"}),
    ("update_plan", {"plan": []}, {"a": "dropped", "b": "done"}),
    ("todo", {"todos": [], "merge": True}, {"a": "pending", "b": "done"}),
    ("task_tracker", {"command": "view", "task_list": []}, {"a": "pending", "b": "done"}),
    ("todo", {}, {"a": "pending", "b": "done"}),
]


@pytest.mark.parametrize(("name", "arguments", "wanted"), EMPTIED)
def test_a_list_that_is_written_without_items_leaves_none_open(
    name: str, arguments: dict[str, Any], wanted: dict[str, str]
) -> None:
    first = {"todos": [{"content": "a", "status": "pending"}, {"content": "b", "status": "done"}]}
    items = ledger(log(used("TodoWrite", first, "ok"), used(name, arguments, "ok")))
    assert {i.key: i.text for i in items if i.kind == "todo" and i.key} == wanted


def test_an_update_without_a_status_changes_none() -> None:
    blocked = used("TaskUpdate", {"taskId": "1", "addBlockedBy": ["2"], "subject": "Fix that"}, "Updated task #1")
    items = ledger(log(created(1, "Fix it"), updated("1", "completed"), blocked))
    assert [(i.key, i.text) for i in items if i.kind == "todo"] == [("#1 \u00b7 Fix it", "done")]


def test_what_failed_updates_nothing() -> None:
    missing = used("TaskUpdate", {"taskId": "7", "status": "completed"}, "Error: Task not found", error=True)
    assert [i.key for i in ledger(log(missing)) if i.kind == "todo"] == []
