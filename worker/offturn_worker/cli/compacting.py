"""`offturn compact FILE`: one compaction of a transcript file, offline, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from offturn.config import reserved_output
from offturn_config.errors import InvalidSetting
from offturn_config.presets import DEFAULT, load
from offturn_config.settings import load_worker_settings
from offturn_engine.files import Conversation, written
from offturn_worker.cli.account import account
from offturn_worker.cli.briefing import briefing_of, print_briefing
from offturn_worker.cli.comparison import compare_policies
from offturn_worker.cli.options import SummarizerName, named_as_given
from offturn_worker.cli.output import out, print_json, progress, say, unwritable, write_text
from offturn_worker.cli.reading import File, FormatName, conversations_of, numbered
from offturn_worker.offline import Result, compact_conversation
from offturn_worker.reporting.file import page_of
from offturn_worker.summarizers import build

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
    output: Annotated[
        Path | None,
        typer.Option(help="Write the compacted messages here, as the file held them; of a host's log as a list."),
    ] = None,
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
        typer.Option(help="Draw the comparison here, .svg or .png; needs the extra `plot`.", show_default=False),
    ] = None,
) -> None:
    """Compact a transcript file offline and say what was kept, cleared and summarised."""
    _refuse_together(compare, plot, handoff, report)
    with named_as_given(summarizer=summarizer):
        settings = load_worker_settings(summarizer=summarizer)
        model = build(settings)
    conversations = conversations_of(file, format_name)
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
            rules.limits(window, reserved_output(window, None))
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
        write_text(output, written(chosen[0], results[0].messages) if chosen else "[]\n")
        say(f"written to {output}{_as_what(chosen)}")
    if as_json or not out.is_terminal:
        print_json([result.facts() for result in results] if several else results[0].facts())
        return
    for number, result in enumerate(results):
        if several:
            out.print(f"conversation {number}", markup=False)
        out.print("\n".join(account(result)), markup=False)


def _as_what(chosen: Sequence[Conversation]) -> str:
    """Of a host's own log: that it cannot be put in its place."""
    if not chosen or chosen[0].layout != "log":
        return ""
    return f" as a list of {chosen[0].format} messages: {chosen[0].source_format} has no log that begins compacted"


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
