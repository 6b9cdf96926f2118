"""To-do lists that agents keep with a tool of their host: each item with its last status.

A call brings a whole list, or single items of one. What a later whole list no longer names was dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from offturn_engine.compaction import LedgerItem
from offturn_engine.messages import Json, ToolCallPart
from offturn_engine.tools import arguments_of, one_line, plain_name

LISTS = (
    "TodoWrite todo_write write_todos todowrite todo update_plan set_todo_list SetTodoList update_todo_list"
    " manage_todo_list update_todo task_tracker update_tasks write_plan"
)
"""Tools whose call holds the whole list."""

SINGLE = "TaskCreate TaskUpdate add_todo update_task todo_add todo_update create_task complete_task"
"""Tools whose call holds one item."""

ITEMS = ("todos", "plan", "todoList", "todo_list", "items", "tasks", "task_list", "steps", "list")
TEXTS = ("content", "step", "title", "subject", "description", "task", "text", "name")
STATES = ("status", "state", "completed", "done")

STATUS: Mapping[str, str] = {
    "pending": "pending",
    "todo": "pending",
    "open": "pending",
    "not started": "pending",
    "notstarted": "pending",
    "in progress": "in progress",
    "inprogress": "in progress",
    "doing": "in progress",
    "active": "in progress",
    "running": "in progress",
    "completed": "done",
    "complete": "done",
    "done": "done",
    "finished": "done",
    "true": "done",
    "false": "pending",
    "cancelled": "dropped",
    "canceled": "dropped",
    "deleted": "dropped",
    "skipped": "dropped",
    "blocked": "blocked",
}
"""A host's word, lowercase, `_` and `-` as blanks -> ours."""

OPEN = frozenset({"pending", "in progress", "blocked"})
LIST = "whole list"
"""Text of the item without a key that says when a whole list was last written."""

MOST = 100  # items of one call
LONGEST = 300

_LISTS = frozenset(plain_name(n) for n in LISTS.split())
_SINGLE = frozenset(plain_name(n) for n in SINGLE.split())
_CHECK = re.compile(r"^\s{0,20}(?:[-*+]|\d{1,3}[.)])\s{1,4}\[([ xX~/-])\]\s{1,4}(\S.{0,400})$", re.MULTILINE)
_CHECKED: Mapping[str, str] = {" ": "pending", "x": "done", "X": "done"}


def todos(call: ToolCallPart, seq: int) -> Iterator[LedgerItem]:
    """The items one call sets, and the mark of a whole list. Nothing where the tool keeps no list."""
    name = plain_name(call.name)
    if name not in _LISTS and name not in _SINGLE:
        return
    arguments = arguments_of(call)
    found = list(_found(arguments, single=name in _SINGLE))[:MOST]
    for text, status in found:
        key = one_line(text, LONGEST)
        yield LedgerItem(kind="todo", key=key, text=status, seq=seq)
    if found and name in _LISTS and arguments.get("merge") is not True:
        yield LedgerItem(kind="todo", key="", text=LIST, seq=seq)


def _found(arguments: Mapping[str, Json], *, single: bool) -> Iterator[tuple[str, str]]:
    if single:
        yield from _item(arguments)
        return
    for key in (*ITEMS, *TEXTS, "input"):
        value = arguments.get(key)
        if isinstance(value, list):
            for one in value:
                yield from _item(one)
            return
        if isinstance(value, str) and (lines := _CHECK.findall(value)):
            yield from ((text.strip(), _CHECKED.get(mark, "in progress")) for mark, text in lines)
            return


def _item(value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield from ((text.strip(), _CHECKED.get(mark, "in progress")) for mark, text in _CHECK.findall(value))
    elif isinstance(value, Mapping):
        text = next((t for k in TEXTS if isinstance(t := value.get(k), str) and t.strip()), "")
        state = next((value[k] for k in STATES if k in value), "pending")
        if text:
            word = str(state)[:40].lower().replace("_", " ").replace("-", " ")
            yield text, STATUS.get(word, "pending")
