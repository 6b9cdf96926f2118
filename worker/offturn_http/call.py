"""One request as its handler sees it: who calls, what it is about, and what it says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from starlette.requests import Request

from offturn import CompactionClient, Session
from offturn.operations import named_operation, operation_of
from offturn_config.keys import SessionKey
from offturn_http.auth import Caller
from offturn_http.problems import KEY_REUSED, Problem
from offturn_http.service import Service
from offturn_http.wire import Given

T = TypeVar("T")
G = TypeVar("G", bound=Given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """id: of the session in the path, "" where it has none. key: what a repeat of this request has too, "": none was given."""

    request: Request
    service: Service
    caller: Caller
    id: str
    key: str
    raw: bytes
    given_query: Given | None
    given_body: Given | None

    @property
    def client(self) -> CompactionClient:
        """Of the caller's tenant."""
        return self.service.client(self.caller.tenant)

    def query(self, kind: type[G]) -> G:
        """The query, parsed."""
        assert isinstance(self.given_query, kind)
        return self.given_query

    def body(self, kind: type[G]) -> G:
        """The body, parsed."""
        assert isinstance(self.given_body, kind)
        return self.given_body

    async def session(self) -> Session:
        """The one of the path. Raises NothingRecorded."""
        return await self.service.handles.existing(self.caller.tenant, self.id)

    async def once(self, write: Callable[[], Awaitable[T]], *, kind: str = "write", on: str | None = None) -> T | None:
        """Do it, or nothing where a request with the same Idempotency-Key has done it: then None.

        kind: as `offturn.operations` names the write; on: the session it writes to, else the path's.
        """
        if await self.is_done(kind=kind, on=on):
            return None
        with self.named():
            return await write()

    def named(self) -> AbstractContextManager[None]:
        """Writes of the block are those of the request's Idempotency-Key, where it has one."""
        return named_operation(self.key) if self.key else nullcontext()

    async def is_unchanged(self) -> None:
        """Raises Problem where the same Idempotency-Key came with another request."""
        if not self.key:
            return
        print_ = sha256(self.raw).hexdigest()
        said = await self.service.once.said(self.caller.tenant, self.caller.key, self.key, print_)
        if said != print_:
            raise Problem(KEY_REUSED, "give each request a key of its own, and repeat it unchanged")

    async def is_done(self, *, kind: str = "write", on: str | None = None) -> bool:
        """Has a request with the same Idempotency-Key done it? Raises Problem where that was another request."""
        await self.is_unchanged()
        if not self.key:
            return False
        store = (await self.service.links()).store
        return await store.did(
            SessionKey(self.caller.tenant, self.id if on is None else on), operation_of(self.key, kind)
        )
