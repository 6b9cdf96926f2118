"""The message formats: `get(name)` returns one, `plain(raw)` turns what an SDK hands out into a message."""

from __future__ import annotations

from offturn_engine.errors import UnknownFormat
from offturn_engine.formats._plain import plain
from offturn_engine.formats.anthropic import Anthropic
from offturn_engine.formats.base import Format, Problem
from offturn_engine.formats.openai_chat import OpenAIChat

__all__ = ["Format", "Problem", "get", "names", "plain"]

_FORMATS: dict[str, Format] = {format_.name: format_ for format_ in (OpenAIChat(), Anthropic())}


def get(name: str) -> Format:
    """The format of that name. Raises UnknownFormat, which lists those that exist."""
    if name not in _FORMATS:
        raise UnknownFormat(f"there is no format {name!r}: one of {', '.join(names())}")
    return _FORMATS[name]


def names() -> tuple[str, ...]:
    """The names of all formats."""
    return tuple(_FORMATS)
