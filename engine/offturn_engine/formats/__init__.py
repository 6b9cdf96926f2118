"""The message formats: `get(name)` returns one, `plain(raw)` turns what an SDK hands out into a message.

`parse_all` reads a list: what a message is may depend on the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from offturn_engine.errors import UnknownFormat
from offturn_engine.formats._plain import plain
from offturn_engine.formats.anthropic import Anthropic
from offturn_engine.formats.base import Format, Problem
from offturn_engine.formats.gemini import Gemini
from offturn_engine.formats.openai_chat import OpenAIChat
from offturn_engine.formats.openai_responses import OpenAIResponses
from offturn_engine.formats.text_observation import TextObservation
from offturn_engine.messages import Json, Message, Origin
from offturn_engine.tokens import Estimate, Estimator, bytes4_message, estimate_message

__all__ = ["Format", "Problem", "get", "names", "parse_all", "plain"]

NO_ORIGINS: Mapping[int, Origin] = MappingProxyType({})
KINDS: tuple[Callable[[Estimate], Format], ...] = (OpenAIChat, OpenAIResponses, Anthropic, Gemini, TextObservation)

_FORMATS = {format_.name: format_ for format_ in (kind(estimate_message) for kind in KINDS)}
_IN_BYTES = {format_.name: format_ for format_ in (kind(bytes4_message) for kind in KINDS)}


def get(name: str, estimator: Estimator = "calibrated") -> Format:
    """The format of that name, which measures messages as the policy says. Raises UnknownFormat with those that exist."""
    if name not in _FORMATS:
        raise UnknownFormat(f"there is no format {name!r}: one of {', '.join(names())}")
    return (_IN_BYTES if estimator == "bytes4" else _FORMATS)[name]


def names() -> tuple[str, ...]:
    """The names of all formats."""
    return tuple(_FORMATS)


def parse_all(fmt: Format, raws: Sequence[Json], origins: Mapping[int, Origin] = NO_ORIGINS) -> list[Message]:
    """The messages of a list, each at its index. `origins`: those declared, by index. Raises InvalidMessage."""
    found: list[Message] = []
    for index, raw in enumerate(raws):
        message = fmt.parse(raw, index=index, origin=origins.get(index))
        if index not in origins:
            message = fmt.after(message, found[-1] if found else None)
        found.append(message.placed(index))
    return found
