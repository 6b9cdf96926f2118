"""The commands, and one place where an error becomes a line and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from offturn import __version__
from offturn.errors import OffturnError
from offturn_worker.cli import (
    archiving,
    compacting,
    demo,
    doctor,
    explaining,
    http,
    importing,
    moving,
    packing,
    pausing,
    policies,
    queue,
    recalling,
    reporting,
    requesting,
    serving,
    sessions,
    tenants,
)
from offturn_worker.cli.output import out, say

typer_app = typer.Typer(
    name="offturn",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"offturn {__version__}", markup=False)
        raise typer.Exit


@typer_app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Compacts the conversation history of LLM agents off the turn."""


typer_app.command("demo")(demo.demo)
typer_app.command("local")(serving.local)
typer_app.command("worker")(serving.worker)
typer_app.command("serve")(http.serve)
typer_app.command("compact")(compacting.compact)
typer_app.command("doctor")(doctor.doctor)
typer_app.command("import")(importing.import_file)
typer_app.command("pause")(pausing.pause)
typer_app.command("resume")(pausing.resume)
archiving.add_to(sessions.typer_app)
explaining.add_to(sessions.typer_app)
moving.add_to(sessions.typer_app)
packing.add_to(sessions.typer_app)
recalling.add_to(sessions.typer_app)
reporting.add_to(sessions.typer_app)
requesting.add_to(sessions.typer_app)
typer_app.add_typer(sessions.typer_app, name="session")
typer_app.add_typer(queue.typer_app, name="queue")
typer_app.add_typer(http.typer_app, name="keys")
typer_app.add_typer(policies.typer_app, name="policies")
typer_app.add_typer(tenants.typer_app, name="tenant")


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 where a run did not keep what it promises, 2 for a typed error, 130 after Ctrl-C."""
    try:
        result = typer_app(args=arguments, prog_name="offturn", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except typer.TyperException as error:
        if text := error.format_message().rstrip("."):
            where = getattr(error, "ctx", None)  # those that a command's arguments raise have one
            command = where.command_path if where else "offturn"
            say(f"offturn: {text}{'' if text.endswith('?') else '.'} See `{command} --help`")
        return 2
    except OffturnError as error:
        say(f"offturn: {error}")
        return 2
    return result if isinstance(result, int) else 0
