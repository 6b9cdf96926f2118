"""The message formats: `get(name)` returns one, `plain(raw)` turns what an SDK hands out into a message."""

from __future__ import annotations

from offturn_engine.errors import UnknownFormat
from offturn_engine.formats._plain import plain
from offturn_engine.formats.anthropic import Anthropic
from offturn_engine.formats.base import Format, Problem
from offturn_engine.formats.openai_chat import OpenAIChat
from offturn_engine.tokens import Estimator, bytes4_message

__all__ = ["Format", "Problem", "get", "names", "plain"]

_FORMATS: dict[str, Format] = {format_.name: format_ for format_ in (OpenAIChat(), Anthropic())}
_IN_BYTES: dict[str, Format] = {
    format_.name: format_ for format_ in (OpenAIChat(bytes4_message), Anthropic(bytes4_message))
}


def get(name: str, estimator: Estimator = "calibrated") -> Format:
    """The format of that name, which measures messages as the policy says. Raises UnknownFormat with those that exist."""
    if name not in _FORMATS:
        raise UnknownFormat(f"there is no format {name!r}: one of {', '.join(names())}")
    return (_IN_BYTES if estimator == "bytes4" else _FORMATS)[name]


def names() -> tuple[str, ...]:
    """The names of all formats."""
    return tuple(_FORMATS)
