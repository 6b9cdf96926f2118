"""A whole turn in one call: what is new is recorded where the session is known to be, and shown as it is then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from offturn.appending import Recorded
from offturn.config import checked_model
from offturn.crossing import checked_format
from offturn.entries import Ids, OriginRule, listed, prepare_in_pages
from offturn.holding import checked_hold
from offturn.inspecting import Place, place
from offturn.mirroring import Mirroring
from offturn.tracing import traced
from offturn.view import Options, View
from offturn_engine.messages import Json

Expect: TypeAlias = Callable[[Place | None], int | None]
"""Of where the session is, None: nowhere yet, the length that its log must still have when the messages are recorded; None: any.

It raises where they are not to be recorded at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """recorded: None where neither messages nor usage were given. place: where the session was after that."""

    recorded: Recorded | None
    view: View | None
    place: Place | None


class Turning(Mirroring):
    """The part of a session for hosts whose own clients say what they know of it."""

    @traced("offturn.turn")
    async def turn(
        self,
        messages: object,
        *,
        expect: Expect,
        show: bool = True,
        ids: Ids | None = None,
        usage: Any = None,
        view: View | None = None,
        origin: OriginRule = None,
        model: str | None = None,
        window: int | None = None,
        max_output: int | None = None,
        format: str | None = None,  # noqa: A002 -- the public contract
        system: Json = None,
        tools: Json = None,
        hold: float = 0.0,
    ) -> Turned:
        """`record` and then `view`, with one look at the store; `show`: False: no view.

        What `expect` raises is raised, and nothing is recorded then; the other arguments are those of `record` and `view`, and
        so are the errors. After CannotFit the messages are recorded. It needs the store: nothing is kept while that is away.
        """
        async with self._preparing:
            prepared = await prepare_in_pages(listed(messages), ids, self._fmt, origin or self._origin)
        batch = self._batch(prepared, usage, view)
        options = Options(
            model=checked_model(model),
            window=window,
            max_output=max_output,
            format=checked_format(format),
            system=system,
            tools=tools,
        )
        seconds, recorded, shown = checked_hold(hold), None, None
        async with self._open(fresh=True) as (links, cache):
            batch.expect = expect(place(cache.meta))
            if batch.prepared.entries or usage is not None:
                recorded = await self._record(links, cache, batch)
            if cache.stale:
                await cache.refresh()
            if show and not seconds:
                shown = await self._show(cache, options)
            now = place(cache.meta)
        if show and seconds:
            shown = await self._viewed(options, seconds)
        return Turned(recorded=recorded, view=shown and await self._with_media(shown), place=now)
