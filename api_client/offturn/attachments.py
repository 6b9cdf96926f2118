"""Media that a host keeps itself: asked for when a view is made, passed on by `View.kwargs`, never stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import TypeAlias

from offturn.wording import several
from offturn_config.errors import InvalidSetting
from offturn_engine.attachments import references
from offturn_engine.messages import Json, RawMessage

Attachments: TypeAlias = Mapping[str, Json] | Callable[[str], Json | Awaitable[Json]]
"""From a reference, `attachment://KEY`, to what the provider takes in its place: a text (a data URL, an address), or the
object that holds it (Anthropic's `source`). None, LookupError and OSError say that it is not to be had; so does an async
function that takes longer than the client's `timeout`."""

MISSING = "{} could not be had: a line of text stands for each"


def checked_attachments(attachments: object) -> None:
    """Raises InvalidSetting for what gives no values."""
    if attachments is not None and not isinstance(attachments, Mapping) and not callable(attachments):
        raise InvalidSetting(
            f"attachments is a {type(attachments).__name__}: give a function of the reference, or a dict by reference"
        )


async def fetched(
    attachments: Attachments | None, messages: Sequence[RawMessage], seconds: float
) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The value of each reference in the messages, None for what is not to be had in time; and the warning for those."""
    if attachments is None:
        return {}, ()
    wanted = references(messages)
    values = dict(
        zip(wanted, await asyncio.gather(*(_value(attachments, one, seconds) for one in wanted)), strict=True)
    )
    missing = sum(value is None for value in values.values())
    return values, (MISSING.format(several(missing, "attachment")),) if missing else ()


async def _value(attachments: Attachments, reference: str, seconds: float) -> Json:
    try:
        found = attachments[reference] if isinstance(attachments, Mapping) else attachments(reference)
        value = await asyncio.wait_for(found, seconds) if isawaitable(found) else found
    except (LookupError, OSError):
        return None
    if value is not None and not isinstance(value, str | Mapping):
        raise InvalidSetting(f"attachments gave a {type(value).__name__}: give a text, an object, or None")
    return value
