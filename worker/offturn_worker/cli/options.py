"""Options that stand for a setting: their help, and their name in errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from offturn_config.errors import ConfigError

NAMES = {
    "store_url": ("OFFTURN_STORE_URL = ", "--store "),
    "queue_url": ("OFFTURN_QUEUE_URL = ", "--queue-url "),
    "tenant": ("OFFTURN_TENANT = ", "--tenant "),
    "summarizer": ("OFFTURN_SUMMARIZER = ", "--summarizer "),
    "window": ("window ", "--window "),
    "policy": ("unknown policy ", "--policy "),
}
"""How errors start that are about a value, and how they do where an option gave it."""

StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="redis://, rediss://, sentinel://, unix:// or embedded://PATH; else OFFTURN_STORE_URL, else redis://localhost:6379/0.",
    ),
]
Tenant = Annotated[str | None, typer.Option("--tenant", help="Whose sessions; else OFFTURN_TENANT, else default.")]
EveryTenant = Annotated[str | None, typer.Option("--tenant", help="Only this tenant's; else all tenants'.")]
SummarizerName = Annotated[
    str | None,
    typer.Option(
        "--summarizer",
        help="extractive, anthropic:MODEL, openai:MODEL or openai:MODEL@URL; else OFFTURN_SUMMARIZER, else extractive.",
    ),
]


@contextmanager
def named_as_given(**given: object) -> Iterator[None]:
    """Inside the block an error about a value that was given as an option names the option."""
    try:
        yield
    except ConfigError as error:
        text = str(error)
        for start, option in (NAMES[name] for name, value in given.items() if value is not None):
            text = option + text.removeprefix(start) if text.startswith(start) else text
        raise type(error)(text) from None
