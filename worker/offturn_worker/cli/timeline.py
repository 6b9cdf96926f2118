"""A session's events as model calls, by turn: tokens in, cached and out, with compactions marked between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from offturn.inspecting import Event

MARKED = {
    "committed": "generation {generation} committed ({method})",
    "adopted": "generation {generation} adopted",
    "rolled-back": "rolled back to generation {generation}",
    "finished": "job finished: {outcome}",
}


def timeline(events: Iterable[Event], asked: Sequence[int]) -> list[dict[str, Any]]:
    """Rows with event, input, cached, output and detail, oldest first.

    asked: seqs of the human messages, ascending. A turn is numbered by the human messages up to it, a call within it.
    """
    rows: list[dict[str, Any]] = []
    turn = call = 0
    for event in events:
        if event.kind == "usage":
            now = bisect_right(asked, event.fields["seq"])
            turn, call = now, call + 1 if now == turn else 1
            sizes = {name: event.fields.get(name, "") for name in ("input", "cached", "output")}
            detail = f"generation {event.fields.get('generation', 0)}"
            rows.append({"event": f"turn {turn} call {call}", **sizes, "detail": detail})
        elif event.kind in MARKED:
            blank = {"input": "", "cached": "", "output": ""}
            rows.append({"event": event.kind, **blank, "detail": MARKED[event.kind].format_map(event.fields)})
    return rows
