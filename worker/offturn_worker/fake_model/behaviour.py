"""What the server does with one call, so that a test can script failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Name = Literal[
    "ok",
    "status",  # answers with `status` and the API's error body for it
    "cut",  # finish "length" in the middle of the text
    "drop",  # closes the connection in the middle of the stream
    "end",  # ends the stream in its middle without a finish
    "hang",  # answers nothing at all
    "stall",  # stops in the middle of the stream
    "error_event",  # an error inside the stream: overloaded
    "refusal",  # the model declines
    "too_long",  # the API's own wording
    "too_long_llama",  # llama.cpp's error in the API's envelope
    "too_long_late",  # messages: status 200 and a stop reason; chat: a bare 413
    "empty",  # an answer without text
    "garbage",  # a model that loops
    "garbled",  # status 200 and a page of HTML
    "error_text",  # an answer that is an error message
    "endless",  # streams pieces and never ends
    "trickle",  # streams one byte a second and never ends
    "longer",  # an answer longer than what it sums up
]
Scripted: TypeAlias = "Behaviour | Name | int"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """`retry_after`, in seconds, goes with a status."""

    name: Name
    status: int = 200
    retry_after: float | None = None


def behaviour(scripted: Scripted) -> Behaviour:
    """The behaviour an entry of a script means: a name, or a status (429 with a Retry-After of one second)."""
    if isinstance(scripted, Behaviour):
        return scripted
    if isinstance(scripted, int):
        return Behaviour(name="status", status=scripted, retry_after=1.0 if scripted == 429 else None)
    if scripted not in get_args(Name):
        raise ValueError(f"no behaviour {scripted!r}: use one of {', '.join(get_args(Name))}, or a status")
    return Behaviour(name=scripted)
