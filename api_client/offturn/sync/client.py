"""The client for blocking hosts: the async one, on the background loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeAlias

from offturn import client as aio
from offturn import session as aio_session
from offturn import writing_back as aio_writing_back
from offturn.background import background
from offturn.links import OnOutage
from offturn.sync.session import Session, Ticket
from offturn.sync.wrapping import Wrapper, blocking, blocking_as, on_loop, wrapped
from offturn.view import View

Sink: TypeAlias = Callable[[Session, View], None]
"""As that of `offturn`, but it blocks: it is called in a thread of its own."""


class WriteBack(Wrapper[aio_writing_back.WriteBack]):
    """As `offturn.WriteBack`."""

    close = blocking(aio_writing_back.WriteBack.close)
    forget = blocking(aio_writing_back.WriteBack.forget)

    @property
    def failing(self) -> Mapping[str, BaseException]:
        """As `offturn.WriteBack.failing`."""
        return self._inner.failing


class CompactionClient(Wrapper[aio.CompactionClient]):
    """As `offturn.CompactionClient`. Use as a context manager, or call `close()`; else the end of the process does."""

    sessions = blocking(aio.CompactionClient.sessions)
    parked = blocking(aio.CompactionClient.parked)
    stored_config = blocking(aio.CompactionClient.stored_config)
    health = blocking(aio.CompactionClient.health)
    run_due = blocking(aio.CompactionClient.run_due)
    undelivered = on_loop(aio.CompactionClient.undelivered)
    session = wrapped(aio.CompactionClient.session, Session)
    compact = blocking_as(aio.CompactionClient.compact, Ticket)

    @classmethod
    def from_url(
        cls,
        store: str,
        *,
        queue: str | None = None,
        tenant: str = "default",
        timeout: float = 2.0,
        on_outage: OnOutage = "degrade",
    ) -> Self:
        """As `offturn.CompactionClient.from_url`."""
        inner = aio.CompactionClient.from_url(store, queue=queue, tenant=tenant, timeout=timeout, on_outage=on_outage)
        loop = background()
        loop.at_exit[inner] = inner.close
        return cls(inner, loop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.at_exit.pop(self._inner, None)
        self._loop.run(self._inner.__aexit__(kind, error, trace))

    def close(self) -> None:
        """As `offturn.CompactionClient.close`."""
        self._loop.at_exit.pop(self._inner, None)
        self._loop.run(self._inner.close())

    def on_generation(self, sink: Sink, *, name: str = "default") -> WriteBack:
        """As `offturn.CompactionClient.on_generation`; the sink blocks nothing but its own thread."""
        own = ThreadPoolExecutor(1, "offturn-sink")  # of the loop's threads a sink that hangs would take one a minute

        async def told(session: aio_session.Session, view: View) -> None:
            await asyncio.get_running_loop().run_in_executor(own, sink, Session(session, self._loop), view)

        return WriteBack(self._loop.run(self._inner.on_generation(told, name=name)), self._loop)
