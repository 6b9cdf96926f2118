"""What became of the facts of each generation, as a table for people: numbers and handles, nothing of the conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from offturn_engine.handles import handle
from offturn_worker.cli.output import out, print_table

COLUMNS = ("number", "facts", "kept", "recoverable", "lost", "mutated", "of these")
LISTED = 10  # facts of one generation that are named


def print_audits(generations: Sequence[Mapping[str, Any]]) -> None:
    """One row for each kind of fact of each generation that was audited; nothing where none was."""
    rows = [row for one in generations for row in _rows(one["number"], one["audit"] or {})]
    if rows:
        out.print("\naudit: what became of the facts", markup=False)
        print_table(COLUMNS, rows)


def _rows(number: int, audit: Mapping[str, Any]) -> Iterator[list[object]]:
    for kind in audit.get("kinds", ()):
        gone = [one for one in audit["not_kept"] if one["kind"] == kind["kind"] and one["verdict"] != "recoverable"]
        named = [f"{handle(one['seq'])} {one['verdict']}" for one in gone[:LISTED]]
        more = [f"{len(gone) - LISTED} more"] if len(gone) > LISTED else []
        counts = [kind[name] for name in ("kept", "recoverable", "lost", "mutated")]
        yield [number, kind["kind"], *counts, ", ".join([*named, *more])]
