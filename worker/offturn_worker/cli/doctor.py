"""`offturn doctor`: one line per check, with the command that helps; exit code 1 where anything fails."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from offturn_config.errors import InvalidSetting
from offturn_config.settings import WorkerSettings, load_client_settings, load_worker_settings
from offturn_worker.cli.options import named_as_given
from offturn_worker.cli.output import out, print_json, progress
from offturn_worker.cli.store import AsJson
from offturn_worker.doctor.examine import examine
from offturn_worker.doctor.findings import Finding, finding
from offturn_worker.doctor.target import Target

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}

Store = Annotated[
    str | None,
    typer.Option("--url", "--store", help="The store; else OFFTURN_STORE_URL, else redis://localhost:6379/0."),
]
Queue = Annotated[
    str | None, typer.Option("--queue-url", help="The queue's server; else OFFTURN_QUEUE_URL, else the store.")
]


def doctor(store: Store = None, queue: Queue = None, as_json: AsJson = False) -> None:
    """Look at store, queue, workers, sessions and summarizers. Costs nothing and changes nothing; exit 1 on a failure."""
    with named_as_given(store_url=store, queue_url=queue):
        settings, problems = _settings(store, queue)
        where = settings or load_client_settings(store_url=store, queue_url=queue)
        kept = Target.of("store", where.store_url, given=store is not None)
        carried = Target.of("queue", where.queue_url, given=queue is not None) if where.queue_url else None
    with progress("looking"):
        findings = [*problems, *asyncio.run(examine(settings, kept, carried))]
    well = all(one.level != "fail" for one in findings)
    if as_json:
        print_json({"ok": well, "findings": [asdict(one) for one in findings]})
    else:
        _print(findings)
    if not well:
        raise typer.Exit(1)


def _settings(store: str | None, queue: str | None) -> tuple[WorkerSettings | None, list[Finding]]:
    """None for settings of a worker that cannot work, which is a finding."""
    try:
        return load_worker_settings(store_url=store, queue_url=queue), []
    except InvalidSetting as error:
        return None, [finding("settings-invalid", str(error), variable=str(error).partition(" ")[0])]


def _print(findings: Sequence[Finding]) -> None:
    """A line each: padded for people, with tabs between the fields in a pipe."""
    width = max(len(one.name) for one in findings)
    for one in findings:
        if not out.is_terminal:
            sys.stdout.write("\t".join((one.level, one.name, one.facts, one.remedy)) + "\n")
            continue
        out.print(f"{one.level:<4}", style=STYLES[one.level], end="  ")
        out.print(f"{one.name:<{width}}  {one.facts}", markup=False, end="  " if one.remedy else "\n")
        if one.remedy:
            out.print(f"-> {one.remedy}", markup=False, style="bold")
