"""The message formats: `get(name)` returns one, `plain(raw)` turns what an SDK hands out into a message."""

from __future__ import annotations

from typing import get_args

from offturn_engine.errors import UnknownFormat
from offturn_engine.formats._plain import plain
from offturn_engine.formats.anthropic import Anthropic
from offturn_engine.formats.base import Format, Problem
from offturn_engine.formats.openai_chat import OpenAIChat
from offturn_engine.rules_of_thumb import Estimator, message_estimate

__all__ = ["Format", "Problem", "get", "names", "plain"]

_KINDS = (OpenAIChat, Anthropic)
_FORMATS: dict[tuple[str, Estimator], Format] = {
    (kind.name, estimator): kind(message_estimate(estimator)) for kind in _KINDS for estimator in get_args(Estimator)
}


def get(name: str, estimator: Estimator = "calibrated") -> Format:
    """The format of that name, which measures messages as the policy says. Raises UnknownFormat with those that exist."""
    if name not in names():
        raise UnknownFormat(f"there is no format {name!r}: one of {', '.join(names())}")
    return _FORMATS[name, estimator]


def names() -> tuple[str, ...]:
    """The names of all formats."""
    return tuple(kind.name for kind in _KINDS)
