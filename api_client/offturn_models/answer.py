"""One model call: what its stream has brought so far, its deadline, and how it ends.

Every call streams: a closed stream frees the provider's slot at once, an abandoned plain call may run to its cap.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from offturn_engine.provider_errors import classify, problem
from offturn_engine.summary import Finish, SummaryReply

from .errors import failed
from .failure import failure

ROOM, LONGEST_TOKEN = 10_000, 40  # characters

_LOADED = set[str]()
"""SDKs that are all there: one that another thread still imports is among `sys.modules` too."""


@dataclass(slots=True)
class Draft:
    """An answer while it arrives. `ended` is the provider's own finish word; tokens as it reported them."""

    room: int  # characters it may have: a stream that never ends must not fill the process
    pieces: list[str] = field(default_factory=list, repr=False)
    events: int = 0
    ended: str | None = None
    refused: bool = False
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    def add(self, text: str) -> None:
        """A piece of the answer. Raises ValueError, which counts as garbled, once there is far more than was asked for."""
        self.room -= len(text)
        if self.room < 0:
            raise ValueError
        self.pieces.append(text)


async def answer(
    stream: Callable[[Draft], Awaitable[None]],
    *,
    sdk: str,
    model: str,
    deadline: float,
    most_tokens: int,
    finishes: Mapping[str, Finish],
) -> SummaryReply:
    """The reply `stream` brings within `deadline` seconds. Raises ModelError; a cancelled call closes its stream.

    `sdk` is the package `stream` imports; `finishes` maps the provider's finish words; an unknown one counts as `length`:
    not a complete answer.
    """
    if sdk not in _LOADED:
        # In a thread: the first import takes seconds, and a worker has leases to renew meanwhile. In line with what computes:
        # it is computing, and nobody asks before it is done.
        await asyncio.to_thread(importlib.import_module, sdk)
        _LOADED.add(sdk)
    draft, started = Draft(room=ROOM + most_tokens * LONGEST_TOKEN), time.monotonic()
    raised: Exception | None = None
    try:
        async with asyncio.timeout(deadline):
            await stream(draft)
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises may quote the request, so nothing of it passes
        raised = error
    if raised is not None:
        broken, raised = failure(raised, model=model), None
        raise broken
    return _reply(draft, model, finishes, round((time.monotonic() - started) * 1000))


def _reply(draft: Draft, model: str, finishes: Mapping[str, Finish], milliseconds: int) -> SummaryReply:
    text = "".join(draft.pieces)
    if draft.ended is None:
        raise failed(problem("dropped" if draft.events else "garbled"), model=model)
    finish = "refused" if draft.refused else finishes.get(draft.ended, "length")
    if finish == "length" and classify(status=None, code=draft.ended, wire_type=None, text="").kind == "too_long":
        raise failed(problem("too_long"), model=model)
    if finish == "stop" and not text.strip():
        raise failed(problem("empty"), model=model)
    return SummaryReply(
        text=text,
        finish=finish,
        model=model,
        input_tokens=draft.input_tokens,
        cached_tokens=draft.cached_tokens,
        output_tokens=draft.output_tokens,
        milliseconds=milliseconds,
    )


def count(value: Any) -> int:
    """A token count as reported; 0 for anything that is none."""
    return value if isinstance(value, int) and value > 0 else 0
