"""The ledger: facts taken from the transcript by code, never by a model.

Files with what was last done to them, commands with their outcome, errors and whether they are gone, constraints
humans stated, calls still open. Everything in it can be found again by its handle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from offturn_engine.compaction import LedgerItem
from offturn_engine.constraints import constraints
from offturn_engine.groups import pair
from offturn_engine.handles import handle
from offturn_engine.messages import Message, ToolCallPart, ToolResultPart
from offturn_engine.operations import operations
from offturn_engine.results import exit_code, failed, first_error_line, run_counts
from offturn_engine.stubs import UNKNOWN
from offturn_engine.tokens import estimate_text
from offturn_engine.tools import command_of, family_of, normalised, one_line, target

HEADINGS = {
    "file": "Files",
    "command": "Commands",
    "error": "Errors",
    "constraint": "Constraints",
    "call": "Open calls",
}
"""Heading of each kind, in the order they are shown."""

PINNED = 400
"""Tokens that constraints may take whatever the budget is: they give way to nothing (invariant 11)."""

MOST = 2_000
"""Facts a generation keeps: what a session learns grows without end, a record must not."""

INSPECTION = frozenset(
    [
        "ls",
        "cat",
        "head",
        "tail",
        "sed",
        "grep",
        "rg",
        "find",
        "pwd",
        "echo",
        "wc",
        "which",
        "file",
        "stat",
        "tree",
        "du",
        "df",
        "env",
        "cd",
        "nl",
        "less",
    ]
)
"""Commands that look without changing; where they succeed they are the first to be left out."""

SEPARATOR = " · "
_PASSED = ("exit 0", "ok")
_LAST_OK = re.compile(r"last ok m(\d{1,12})$")
_KINDS = tuple(HEADINGS)
NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class LedgerBlock:
    """The text for the view, how many facts it shows, and how many are left out, whose messages can be recalled."""

    text: str
    kept: int = 0
    recoverable: int = 0


def ledger(messages: Sequence[Message]) -> tuple[LedgerItem, ...]:
    """The facts of these messages, ordered by where they were last seen. Same messages, same ledger."""
    pairs = pair(messages)
    found: list[LedgerItem] = []
    worked: dict[str, int] = {}
    for i, message in enumerate(messages):
        if message.origin == "human":
            found += (_constraint(s, message.seq) for s in constraints(message.text))
        for part, result in message.results:
            place = pairs.call_of.get((i, part))
            call = messages[place[0]].parts[place[1]] if place else UNKNOWN
            if isinstance(call, ToolCallPart):
                facts = _facts(call, result, messages[place[0]].seq if place else message.seq, message.seq)
                found += facts
                if all(fact.kind != "error" for fact in facts):
                    worked[_source(call)] = message.seq
    asked = max((i for i, m in enumerate(messages) if m.origin == "human"), default=-1)
    for i, part in pairs.open_calls:
        open_call = messages[i].parts[part]
        # A call that a human spoke after was given up, not open.
        if i > asked and isinstance(open_call, ToolCallPart):
            found.append(_open(open_call, messages[i].seq))
    return _settled(found, worked)


def merge(base: Sequence[LedgerItem], new: Sequence[LedgerItem]) -> tuple[LedgerItem, ...]:
    """The facts of `base` updated by those of later messages. Associative.

    Same kind and key: the newer replaces, counts add up; a file read after it was changed stays changed; a command
    keeps when it last succeeded, and with that the errors it once raised are known to be gone. Calls still open are
    those of `new`.
    """
    if not new:
        return tuple(base)
    return _settled([*(item for item in base if item.kind != "call"), *new])


def bounded(items: Sequence[LedgerItem]) -> tuple[LedgerItem, ...]:
    """The `MOST` facts that a view would show first, ordered as before; the messages that hold the others can be recalled."""
    if len(items) <= MOST:
        return tuple(items)
    kept = {(item.kind, item.key) for item in sorted(items, key=_rank)[:MOST]}
    return tuple(item for item in items if (item.kind, item.key) in kept)


def _facts(call: ToolCallPart, result: ToolResultPart, asked: int, answered: int) -> list[LedgerItem]:
    bad = failed(result, call)
    error = first_error_line(result.text) if bad else None
    facts: list[LedgerItem] = []
    if not bad:
        for path, done in operations(call):
            seq = answered if done == "read" else asked
            facts.append(LedgerItem(kind="file", key=" ".join(path.splitlines()), text=done, seq=seq))
    if command := _command(call):
        facts.append(LedgerItem(kind="command", key=command, text=_outcome(result, error, bad), seq=answered))
    if error:
        seen = f"seen{SEPARATOR}{_source(call)}"
        facts.append(LedgerItem(kind="error", key=one_line(error, 200), text=seen, seq=answered))
    return facts


def _command(call: ToolCallPart) -> str:
    return normalised(command_of(call)) if family_of(call) == "shell" else ""


def _source(call: ToolCallPart) -> str:
    """What raised an error, by a name that a later run of the same has too."""
    return _command(call) or one_line(f"{call.name} {target(call)}", 160)


def _outcome(result: ToolResultPart, error: str | None, bad: bool) -> str:
    code = exit_code(result.text)
    facts = [f"exit {code}" if code is not None and (code or not bad) else "failed" if bad else "ok"]
    facts += [counts] if (counts := run_counts(result.text)) else []
    facts += [one_line(error, 120)] if error else []
    return SEPARATOR.join(facts)


def _constraint(sentence: str, seq: int) -> LedgerItem:
    return LedgerItem(kind="constraint", key=" ".join(sentence.lower().split()), text=sentence, seq=seq)


def _open(call: ToolCallPart, seq: int) -> LedgerItem:
    return LedgerItem(
        kind="call", key=f"{one_line(call.name, 60) or 'tool'} {target(call)}".strip(), text="pending", seq=seq
    )


# Joining ---------------------------------------------------------------------------------------------------------


def _settled(items: Iterable[LedgerItem], worked: Mapping[str, int] = NOTHING) -> tuple[LedgerItem, ...]:
    """One item per kind and key, later ones over earlier ones; errors told gone; ordered by seq."""
    joined: dict[tuple[str, str], LedgerItem] = {}
    for item in items:
        name = (item.kind, item.key)
        joined[name] = _joined(joined[name], item) if name in joined else item
    passed = {**worked, **{i.key: _last_ok(i) for i in joined.values() if i.kind == "command"}}
    settled = (_told(item, passed) for item in joined.values())
    return tuple(sorted(settled, key=lambda i: (i.seq, _KINDS.index(i.kind), i.key)))


def _joined(old: LedgerItem, new: LedgerItem) -> LedgerItem:
    text = new.text
    if new.kind == "file" and new.text == "read":
        text = old.text
    elif new.kind == "command" and not _passes(new) and not _LAST_OK.search(new.text):
        last = _last_ok(old)
        text = f"{new.text}{SEPARATOR}last ok {handle(last)}" if last >= 0 else new.text
    return new.model_copy(update={"text": text, "count": old.count + new.count})


def _passes(command: LedgerItem) -> bool:
    return command.text.split(SEPARATOR, 1)[0] in _PASSED


def _last_ok(command: LedgerItem) -> int:
    """Where the command last succeeded; -1 where it never did."""
    if _passes(command):
        return command.seq
    match = _LAST_OK.search(command.text)
    return int(match.group(1)) if match else -1


def _told(item: LedgerItem, passed: Mapping[str, int]) -> LedgerItem:
    state, _, source = item.text.partition(SEPARATOR)
    if item.kind != "error" or state != "seen" or passed.get(source, -1) <= item.seq:
        return item
    return item.model_copy(update={"text": f"gone{SEPARATOR}{source}"})


# Showing ---------------------------------------------------------------------------------------------------------


def render(items: Sequence[LedgerItem], *, budget: int, measure: Callable[[str], int] = estimate_text) -> LedgerBlock:
    """The items under fixed headings, one line each with its handle, within `budget` tokens as `measure` counts them.

    Where not all fit: constraints first, then open calls, errors, changed files, commands, then what was only looked
    at; within each the newest first, then the most frequent. What is left out is counted in the last line, which the
    budget includes unless it is smaller than that line. Constraints keep `PINNED` tokens whatever the budget.
    """
    if not items:
        return LedgerBlock("")
    whole = _text(items, 0)
    if measure(whole) <= budget:
        return LedgerBlock(whole, len(items), 0)
    kept = _chosen(items, budget - measure(_rest(len(items))), measure)
    return LedgerBlock(_text(kept, len(items) - len(kept)), len(kept), len(items) - len(kept))


def _chosen(items: Sequence[LedgerItem], room: int, measure: Callable[[str], int]) -> list[LedgerItem]:
    chosen: list[LedgerItem] = []
    headed: set[str] = set()
    spent = 0
    missed_constraint = False
    for item in sorted(items, key=_rank):
        pinned = item.kind == "constraint"
        if missed_constraint and not pinned:
            break
        cost = measure(_line(item) + "\n") + (0 if item.kind in headed else measure(_heading(item.kind) + "\n"))
        if spent + cost > (max(room, PINNED) if pinned else room):
            missed_constraint = missed_constraint or pinned
            continue
        spent += cost
        headed.add(item.kind)
        chosen.append(item)
    return chosen


def _rank(item: LedgerItem) -> tuple[int, int, int, str]:
    return (_tier(item), -item.seq, -item.count, item.key)


def _tier(item: LedgerItem) -> int:
    if item.kind == "constraint":
        return 0
    if item.kind == "call":
        return 1
    if item.kind == "error":
        return 2 if item.text.startswith("seen") else 7
    if item.kind == "file":
        return 3 if item.text != "read" else 5
    looks = item.key.split(" ", 1)[0] in INSPECTION and _passes(item)
    return 6 if looks else 4


def _text(items: Sequence[LedgerItem], left_out: int) -> str:
    lines: list[str] = []
    for kind in HEADINGS:
        of_kind = sorted((i for i in items if i.kind == kind), key=lambda i: (i.seq, i.key))
        if of_kind:
            lines += [_heading(kind), *map(_line, of_kind)]
    return "\n".join([*lines, *([_rest(left_out)] if left_out else [])])


def _heading(kind: str) -> str:
    return f"### {HEADINGS[kind]}"


def _line(item: LedgerItem) -> str:
    times = f"{SEPARATOR}{item.count} times" if item.count > 1 else ""
    if item.kind == "constraint":
        return f"- [{handle(item.seq)}] {item.text}{times}"
    return f"- [{handle(item.seq)}] {item.key}: {item.text}{times}"


def _rest(count: int) -> str:
    return f"({count:,} more facts are not shown; the messages that hold them can be recalled)"
