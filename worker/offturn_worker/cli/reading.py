"""The FILE of a command: opened anew for each pass over it, so that it never stands in memory as a whole."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from offturn_config.errors import InvalidSetting
from offturn_engine.files import LONGEST, NAMES, Conversation, Lines, TooLarge, UnreadableFile, read
from offturn_worker import inspect_eval, opencode_db, openhands_folder, session_export

File = Annotated[
    Path,
    typer.Argument(
        help="A transcript, OpenCode's database, OpenHands' folder; - reads standard input.", show_default=False
    ),
]
FormatName = Annotated[str | None, typer.Option("--format", help=f"{', '.join(NAMES)}; else detected.")]

MAGIC = 64  # bytes that show a file of another kind


def conversations_of(file: Path, format_name: str | None) -> list[Conversation]:
    """What the file holds. Raises InvalidSetting where it cannot be read, UnreadableFile where it is no transcript."""
    try:
        with _on_disk(file) as path:
            return _exported(path, file) if format_name is None and _is_export(path) else _read(path, format_name)
    except OSError as error:
        raise InvalidSetting(f"FILE {str(file)!r}: {error.strerror or error}") from None


def _is_export(path: Path) -> bool:
    if path.is_dir():
        return False
    with path.open("rb") as opened:
        return session_export.MAGIC.match(opened.read(session_export.HEAD)) is not None


def _exported(path: Path, file: Path) -> list[Conversation]:
    try:
        return session_export.conversations(_lines(path))
    except UnreadableFile as error:  # of a folder of exports, it tells which
        raise UnreadableFile(f"FILE {str(file)!r}: {error}") from None


def _read(path: Path, format_name: str | None) -> list[Conversation]:
    if path.is_dir():
        events = openhands_folder.events_in(path)
        if not events:
            raise InvalidSetting(f"FILE {str(path)!r}: is a folder without events of OpenHands: name a file in it")
        return read(openhands_folder.lines(events), format=format_name)
    with path.open("rb") as opened:
        head = opened.read(MAGIC)
    if head.startswith(inspect_eval.MAGIC):
        return read(inspect_eval.lines(path), format=format_name)
    if not head.startswith(opencode_db.MAGIC):
        return read(_lines(path), format=format_name)
    try:
        return read(opencode_db.lines(path), format=format_name)
    except TooLarge as error:
        raise UnreadableFile(f"row {error.problem.removeprefix('line ')}: {opencode_db.EXPORT}") from None


def numbered(conversations: Sequence[Conversation], index: int) -> Conversation:
    """The conversation `--index` names. Raises InvalidSetting."""
    if index >= len(conversations):
        raise InvalidSetting(f"--index {index}: the file holds {len(conversations)} conversations, counted from 0")
    return conversations[index]


@contextmanager
def _on_disk(file: Path) -> Iterator[Path]:
    """The file; what cannot be read twice, standard input or a pipe, as a temporary copy."""
    if str(file) != "-" and (file.is_file() or not file.exists() or file.is_dir()):
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix="offturn-") as spooled:
        if str(file) == "-":
            shutil.copyfileobj(sys.stdin.buffer, spooled)
        else:
            with file.open("rb") as piped:
                shutil.copyfileobj(piped, spooled)
        spooled.flush()
        yield Path(spooled.name)


def _lines(path: Path) -> Lines:
    def lines() -> Iterator[bytes]:
        with path.open("rb") as opened:
            while line := opened.readline(LONGEST + 1):
                yield line

    return lines
