"""`offturn compact FILE --compare`: what each policy makes of the same conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from offturn.summarizer import AnySummarizer
from offturn_config.errors import InvalidSetting
from offturn_config.presets import load, names
from offturn_engine.files import Conversation
from offturn_worker.cli.output import out, print_json, print_table, progress, say
from offturn_worker.comparing import Row, common_window, compare
from offturn_worker.plotting import check, plot

COLUMNS = (
    "policy",
    "outcome",
    "tokens after",
    "human verbatim",
    "results cleared",
    "ledger kept",
    "model calls",
    "cost",
)


def compare_policies(
    conversations: Sequence[Conversation],
    window: int | None,
    model: AnySummarizer,
    picture: Path | None,
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """A table, or a JSON value, for each conversation. Raises InvalidSetting."""
    if output:
        raise InvalidSetting("--output: a comparison writes no messages: leave it out, or choose one with --policy")
    if picture:
        if len(conversations) != 1:
            raise InvalidSetting(f"--plot: the file holds {len(conversations)} conversations: choose one with --index")
        check(picture)
    policies = [load(name) for name in names()]
    found: list[tuple[int, list[Row]]] = []
    with progress(f"compacting {len(conversations)} conversation(s) with {len(policies)} policies"):
        for one in conversations:
            size = window or common_window(one, policies)
            found.append((size, asyncio.run(compare(one, policies, size, model))))
    if picture:
        size, rows = found[0]
        plot(rows, size, picture)
        say(f"drawn to {picture}")
    if as_json or not out.is_terminal:
        print_json([{"window": size, "policies": [row.facts() for row in rows]} for size, rows in found])
        return
    for number, (size, rows) in enumerate(found):
        before = rows[0].tokens_before
        head = f"conversation {number}: " if len(found) > 1 else ""
        out.print(f"{head}{before:,} tokens, for a window of {size:,} (estimates)", markup=False)
        print_table(COLUMNS, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[object, ...]:
    why = f" ({row.reason})" if row.reason else ""
    return (
        row.policy,
        row.outcome + why,
        f"{row.tokens_after:,}",
        f"{row.human_verbatim:,} of {row.human_messages:,}",
        f"{row.results_cleared:,}",
        f"{row.ledger_kept:,}",
        row.model_calls,
        "-" if row.cost is None else f"${row.cost:.4f}",
    )
