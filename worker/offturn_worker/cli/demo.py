"""`offturn demo`: the whole path on a recorded session, in under a minute, without a key."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

import typer

from offturn_config.errors import InvalidSetting
from offturn_config.settings import load_worker_settings
from offturn_worker.cli.output import out, print_json, say
from offturn_worker.demo.account import ours
from offturn_worker.demo.stage import Wishes, run
from offturn_worker.logs import configure_logging
from offturn_worker.summarizers import build


def demo(
    kill: Annotated[bool, typer.Option("--kill", help="SIGKILL the worker in the middle of a job.")] = False,
    fake_model: Annotated[bool, typer.Option("--fake-model", help="Summarise with a local model server.")] = False,
    web: Annotated[bool, typer.Option("--web", help="Serve the page too, and go on until Ctrl-C.")] = False,
    folder: Annotated[Path | None, typer.Option("--out", help="Write sent messages and views here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
) -> None:
    """Play a recorded session: threshold, phase end, iterative update, rollback. OFFTURN_SUMMARIZER picks a model."""
    settings = load_worker_settings()
    configure_logging(level="warning", style="console")
    if not fake_model:
        build(settings)  # a missing key is said here: what a worker process says is not shown
    if folder:
        _make(folder)
    wishes = Wishes(kill=kill, fake_model=fake_model, web=web, summarizer=settings.summarizer, out=folder)

    def tell(text: str) -> None:
        if as_json:
            say(text)
        else:
            out.print(text, markup=False)

    facts = asyncio.run(run(wishes, tell))
    if as_json:
        print_json(asdict(facts))
    if facts.lost or facts.altered or facts.generations < 1:
        raise typer.Exit(1)


def _make(folder: Path) -> None:
    """The folder, empty or an earlier demo's, and writable. Raises InvalidSetting."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        strange = any(folder.iterdir()) and not ours(folder)
        if not strange:
            TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InvalidSetting(f"--out {str(folder)!r}: {error.strerror or error}: name another folder") from None
    if strange:
        raise InvalidSetting(f"--out {str(folder)!r}: it holds files that are no demo's: name an empty or new folder")
