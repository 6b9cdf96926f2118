"""What a command prints: people get tables, pipes get plain text, `--json` gets one JSON value on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from offturn_config.errors import InvalidSetting

NARROW = 12  # characters of a column that is never folded

out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON value; lone surrogates and other odd text stay escaped."""
    sys.stdout.write(json.dumps(value, indent=2 if sys.stdout.isatty() else None) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on a terminal, tab-separated lines with a header in a pipe."""
    if not out.is_terminal:
        for row in (columns, *rows):
            sys.stdout.write("\t".join(map(plain, row)) + "\n")  # rich would make spaces of the tabs
        return
    cells = [list(map(plain, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    # Only wide columns give way to a narrow terminal, and nothing is cut.
    headers = [
        Column(name, overflow="fold", no_wrap=width <= NARROW) for name, width in zip(columns, widths, strict=True)
    ]
    table = Table(*headers, box=None, header_style="bold", pad_edge=False, collapse_padding=True)
    for row in cells:
        table.add_row(*map(Text, row))  # as it is: an id may look like rich's markup
    out.print(table)


def plain(value: object) -> str:
    """As text of one line: what would move a terminal's cursor, split a row or cannot be encoded is escaped.

    Ids come from the hosts' users, and a reason to redact from whoever gave it.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))


def plain_lines(text: str) -> str:
    """The same of each line; tabs stay."""
    return "\n".join("\t".join(map(plain, line.split("\t"))) for line in text.split("\n"))


def when(ms: int) -> str:
    """A time of the store's clock."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")


def say(text: str) -> None:
    """A line for people, on stderr, so that stdout holds results only."""
    err.print(plain_lines(text), markup=False)


def write_text(output: Path, text: str, option: str = "--output") -> None:
    """To the file an option names. Raises InvalidSetting."""
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(output, error, option) from None


def unwritable(output: Path, error: OSError, option: str = "--output") -> InvalidSetting:
    """What is said of a file that cannot be written."""
    return InvalidSetting(f"{option} {str(output)!r}: {error.strerror or error}: name another file")


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A spinner on a terminal, one line elsewhere, while something takes long."""
    if err.is_terminal:
        with err.status(text):
            yield
    else:
        say(text)
        yield
