"""`offturn compact FILE`: one compaction of a transcript file, offline, without a server."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from offturn_config.errors import InvalidSetting
from offturn_config.presets import DEFAULT, load
from offturn_config.settings import load_worker_settings
from offturn_engine.files import NAMES, Conversation, Data, read
from offturn_worker import opencode_db
from offturn_worker.cli.account import account
from offturn_worker.cli.briefing import briefing_of, print_briefing
from offturn_worker.cli.comparison import compare_policies
from offturn_worker.cli.options import SummarizerName, named_as_given
from offturn_worker.cli.output import out, print_json, progress, say, unwritable, write_text
from offturn_worker.offline import Result, compact_conversation
from offturn_worker.reporting.file import page_of
from offturn_worker.summarizers import build

File = Annotated[
    Path, typer.Argument(help="A transcript file, or OpenCode's database; - reads standard input.", show_default=False)
]
FormatName = Annotated[str | None, typer.Option("--format", help=f"{', '.join(NAMES)}; else detected.")]
WINDOW = (
    "Tokens of the model's window; without it, the one for which the file has just reached the soft level. "
    "A compaction asked for by hand happens at any size."
)


def compact(
    file: File,
    format_name: FormatName = None,
    policy: Annotated[str, typer.Option(help="See `offturn policies`.")] = DEFAULT,
    window: Annotated[int | None, typer.Option(min=1, help=WINDOW)] = None,
    summarizer: SummarizerName = None,
    output: Annotated[Path | None, typer.Option(help="Write the compacted messages here, as JSON.")] = None,
    handoff: Annotated[
        bool, typer.Option("--handoff", help="Only a briefing, to paste into another agent; --output writes it.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write a page about it here, HTML that needs nothing else.", show_default=False)
    ] = None,
    index: Annotated[int | None, typer.Option(min=0, help="Which conversation of the file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON value; without a terminal always.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="All policies side by side instead.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the comparison here, .svg or .png; needs offturn[plot].", show_default=False),
    ] = None,
) -> None:
    """Compact a transcript file offline and say what was kept, cleared and summarised."""
    _refuse_together(compare, plot, handoff, report)
    with named_as_given(summarizer=summarizer):
        settings = load_worker_settings(summarizer=summarizer)
        model = build(settings)
    conversations = read(read_file(file), format=format_name)
    chosen = conversations if index is None else [numbered(conversations, index)]
    several = len(chosen) > 1
    if several:
        _refuse_for_several(len(conversations), output, handoff, report)
    if compare:
        compare_policies(chosen, window, model, plot, output, as_json=as_json)
        return
    _refuse_unwritable(output, "--output")
    _refuse_unwritable(report, "--report")
    with named_as_given(policy=policy, window=window):
        rules = load(policy)
        if window is not None:
            rules.limits(window)
    with progress(f"compacting {len(chosen)} conversation(s) with {settings.summarizer}"):
        results = [asyncio.run(compact_conversation(one, rules, window, model)) for one in chosen]
    results = results or [Result.nothing()]
    if report:
        title = "standard input" if str(file) == "-" else file.name
        write_text(report, page_of(results[0], title, rules.name), "--report")
        say(f"report written to {report}")
    if handoff:
        print_briefing(briefing_of(results[0]), str(file), output, as_json=as_json)
        return
    if output:
        write_text(output, json.dumps(results[0].messages, indent=1) + "\n")
    if as_json or not out.is_terminal:
        print_json([result.facts() for result in results] if several else results[0].facts())
        return
    for number, result in enumerate(results):
        if several:
            out.print(f"conversation {number}", markup=False)
        out.print("\n".join(account(result)), markup=False)
    if output:
        say(f"written to {output}")


def _refuse_together(compare: bool, plot: Path | None, handoff: bool, report: Path | None) -> None:
    if plot and not compare:
        raise InvalidSetting("--plot: draws a comparison: give --compare too")
    if compare and (handoff or report):
        raise InvalidSetting(f"{'--handoff' if handoff else '--report'}: is of one policy: leave --compare out")


def _refuse_for_several(count: int, output: Path | None, handoff: bool, report: Path | None) -> None:
    for option, given in (("--output", output), ("--handoff", handoff), ("--report", report)):
        if given:
            raise InvalidSetting(f"{option}: the file holds {count} conversations: choose one with --index")


def _refuse_unwritable(output: Path | None, option: str) -> None:
    """Before the work, which may cost money. What is neither a file nor a folder (a pipe, a device) is left alone."""
    if output is None:
        return
    if output.exists() and not output.is_file() and not output.is_dir():
        return
    new = not output.exists()
    try:
        output.open("ab").close()
        if new:
            output.unlink()
    except OSError as error:
        raise unwritable(output, error, option) from None


def numbered(conversations: Sequence[Conversation], index: int) -> Conversation:
    """The conversation `--index` names. Raises InvalidSetting."""
    if index >= len(conversations):
        raise InvalidSetting(f"--index {index}: the file holds {len(conversations)} conversations, counted from 0")
    return conversations[index]


def read_file(file: Path) -> Data:
    """What the file holds, as its reader takes it; raises InvalidSetting where it cannot be read."""
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read()
            return opencode_db.lines(data) if data.startswith(opencode_db.MAGIC) else data
        with file.open("rb") as opened:
            head = opened.read(len(opencode_db.MAGIC))
            return opencode_db.lines(file) if head == opencode_db.MAGIC else head + opened.read()
    except OSError as error:
        raise InvalidSetting(f"FILE {str(file)!r}: {error.strerror or error}") from None
