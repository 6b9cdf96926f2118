"""Event streams that are open: so many of a process, and so many of one key, so that no key takes them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from offturn_http.problems import BUSY, KEYS_STREAMS, Problem

MEDIA = "text/event-stream"
AGAIN = {"Retry-After": "5"}


@dataclass(slots=True)
class Streams:
    """most: of all keys together; per_key: of one."""

    most: int
    per_key: int
    _open: Counter[str] = field(default_factory=Counter)

    def response(self, key: str, chunks: AsyncIterator[bytes], headers: Mapping[str, str]) -> StreamingResponse:
        """A stream, which has its place from now until it ends. Raises Problem where there is none left."""
        if self._open.total() >= self.most:
            raise Problem(BUSY, headers=AGAIN)
        if self._open[key] >= self.per_key:
            raise Problem(KEYS_STREAMS, f"at most {self.per_key} at a time", headers=AGAIN)
        return _Held(self._open, key, chunks, headers)


class _Held(StreamingResponse):
    """Its place is given back also where its client was gone before it began."""

    def __init__(
        self, places: Counter[str], key: str, chunks: AsyncIterator[bytes], headers: Mapping[str, str]
    ) -> None:
        super().__init__(chunks, media_type=MEDIA, headers=headers)
        self._places = places
        self._key = key
        places[key] += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._places[self._key] -= 1
            if not self._places[self._key]:
                del self._places[self._key]
