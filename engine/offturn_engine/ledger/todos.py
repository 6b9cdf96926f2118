"""To-do lists that agents keep with a tool of their host: each item with its last status.

A call brings a whole list, or single items of one. What a later whole list no longer names was dropped. An item that its
host numbers is created by one call and updated by others, which name the number alone: its key is `#3 · what to do`, and
an update bears the key `#3 · …` until it is joined with the item that was last created under that number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from offturn_engine.ledger.found import Fact
from offturn_engine.messages import Json, ToolCallPart, ToolResultPart
from offturn_engine.tools import arguments_of, one_line, plain_name

LISTS = (
    "TodoWrite todo_write write_todos todowrite todo update_plan set_todo_list SetTodoList update_todo_list"
    " manage_todo_list update_todo task_tracker update_tasks write_plan todos todo_list set_todos"
)
"""Tools whose call holds the whole list."""

SINGLE = (
    "TaskCreate TaskUpdate add_todo update_task todo_add todo_update task_create task_update create_task complete_task"
)
"""Tools whose call holds one item."""

CREATING = "TaskCreate add_todo todo_add task_create create_task"
"""Of these the ones that give an item its number, which their result tells."""

COMPLETING = "complete_task"
"""Of these the ones whose call says by itself that the item is done."""

PROGRESS = "task_progress"
"""An argument that any call of Cline's may have: the whole list, as a checklist."""

ITEMS = ("todos", "plan", "todoList", "todo_list", "items", "tasks", "task_list", "steps", "list")
TEXTS = ("content", "step", "title", "subject", "description", "task", "text", "name")
STATES = ("status", "state", "completed", "done")
NUMBERS = ("taskId", "task_id", "todo_id", "todoId", "id")
UNNAMED = "\u2026"
"""What stands for the text of an item of which only the number is known."""

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
    "resolved": "done",
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

LOOKING = frozenset({"view", "read", "get", "list", "show"})
"""A command or an action that changes nothing."""

MOST = 100  # items of one call
LONGEST = 300

_LISTS = frozenset(plain_name(n) for n in LISTS.split())
_SINGLE = frozenset(plain_name(n) for n in SINGLE.split())
_KEEPING = _LISTS | _SINGLE
_CREATING = frozenset(plain_name(n) for n in CREATING.split())
_COMPLETING = frozenset(plain_name(n) for n in COMPLETING.split())
_CHECK = re.compile(
    r"^\s{0,20}(?:(?:[-*+]|\d{1,3}[.)])\s{1,4})?\[([ xX~/-]|[a-z_ -]{4,12})\]\s{1,4}(\S.{0,400})$", re.MULTILINE
)
_CHECKED: Mapping[str, str] = {" ": "pending", "x": "done", "X": "done"}
_GIVEN = re.compile(r"#(\d{1,9})\b|\"(?:id|taskId|task_id)\":\s?\"?([\w-]{1,40})")
_NUMBERED = re.compile(r"#([\w-]{1,40}) \u00b7 (.+)", re.DOTALL)


def keeps_a_list(call: ToolCallPart) -> bool:
    """May the call set to-do items?"""
    given = call.arguments
    return plain_name(call.name) in _KEEPING or (isinstance(given, dict) and PROGRESS in given)


def todos(call: ToolCallPart, result: ToolResultPart, asked: int, answered: int) -> Iterator[Fact]:
    """The items one call sets, and the mark of a whole list. Nothing where the tool keeps no list.

    An item is last seen in its call (`asked`), a numbered one where it got its number (`answered`): there both are told.
    """
    name = plain_name(call.name)
    if not keeps_a_list(call):
        return
    arguments = arguments_of(call)
    if name in _SINGLE:
        yield from _single(name, arguments, result, asked, answered)
        return
    found = list(_found(arguments if name in _LISTS else {"todos": arguments[PROGRESS]}))[:MOST]
    for text, status in found:
        yield Fact("todo", one_line(text, LONGEST), status, asked)
    if (found or _emptied(arguments)) and arguments.get("merge") is not True:
        yield Fact("todo", "", LIST, asked)


def number_of(key: str) -> tuple[str, bool] | None:
    """The number in the key of a numbered item, and whether its text is known; None where it has no number."""
    match = _NUMBERED.fullmatch(key)
    return (match[1], match[2] != UNNAMED) if match else None


def _single(
    name: str, arguments: Mapping[str, Json], result: ToolResultPart, asked: int, answered: int
) -> Iterator[Fact]:
    number = next((str(n) for k in NUMBERS if isinstance(n := arguments.get(k), str | int) and str(n).strip()), "")
    stated = "done" if name in _COMPLETING else _status(arguments)
    if number and name not in _CREATING:
        if stated:
            yield Fact("todo", _key(number, UNNAMED), stated, asked)
        return
    given = _GIVEN.search(result.text[:LONGEST]) if name in _CREATING else None
    for text, status in _item(arguments):
        key = one_line(text, LONGEST)
        if given:
            yield Fact("todo", _key(given[1] or given[2], key), status, answered)
        else:
            yield Fact("todo", key, stated or status, asked)


def _key(number: str, text: str) -> str:
    return f"#{one_line(number.lstrip('#'), 40)} \u00b7 {text}"


def _found(arguments: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for key in (*ITEMS, *TEXTS, "input"):
        value = arguments.get(key)
        if isinstance(value, list):
            for one in value:
                yield from _item(one)
            return
        if isinstance(value, str) and (lines := list(_checks(value))):
            yield from lines
            return


def _emptied(arguments: Mapping[str, Json]) -> bool:
    """Does the call write a list without items? Hosts also send one along where the list is only looked at."""
    looks = _plain(str(arguments.get("command") or arguments.get("action") or "")) in LOOKING
    return not looks and any(arguments.get(key) == [] for key in ITEMS)


def _item(value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield from _checks(value)
    elif isinstance(value, Mapping):
        text = next((t for k in TEXTS if isinstance(t := value.get(k), str) and t.strip()), "")
        if text:
            yield text, _status(value) or "pending"


def _status(value: Mapping[str, Json]) -> str:
    """What it says of its item in our words; "" where it says nothing."""
    state = next((value[k] for k in STATES if k in value), None)
    return "" if state is None else STATUS.get(_plain(str(state)[:40]), "pending")


def _checks(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a checklist, marked by a letter or by a word for a status."""
    for mark, said in _CHECK.findall(text):
        status = _CHECKED.get(mark, "in progress") if len(mark) == 1 else STATUS.get(_plain(mark), "")
        if status:
            yield said.strip(), status


def _plain(word: str) -> str:
    return word.lower().replace("_", " ").replace("-", " ")
