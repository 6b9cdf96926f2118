"""Connections whose client does not end its request: they are closed, else a few clients could hold all there are."""

from __future__ import annotations

import asyncio

import h11

from offturn_http.refusing import Refusing

SECONDS = 60.0
"""That a request may take to arrive; it is looked at each time they are over, so it may take up to twice as long."""


class Patient(Refusing):
    """uvicorn's protocol, which waits for ever for a request's head and body."""

    _looking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """As uvicorn's."""
        super().connection_made(transport)
        self._look_later(waiting=self.conn.their_state in _UNSENT)

    def connection_lost(self, exc: Exception | None) -> None:
        """As uvicorn's."""
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def _look_later(self, *, waiting: bool) -> None:
        self._looking = self.loop.call_later(SECONDS, self._look, self.cycle, waiting)

    def _look(self, cycle: object, waiting: bool) -> None:
        now = self.conn.their_state in _UNSENT
        if now and waiting and cycle is self.cycle:
            self.transport.abort()
        else:
            self._look_later(waiting=now)


_UNSENT = (h11.IDLE, h11.SEND_BODY)
