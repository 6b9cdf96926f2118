"""Handles of sessions, kept open between requests, so that a turn costs what is new in it and not the whole log."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from offturn import CompactionClient, Session
from offturn.errors import NothingRecorded
from offturn.links import Connector
from offturn_config.keys import SessionKey
from offturn_http.models import SessionGiven

NONE = "no session {!r}"


@dataclass(slots=True)
class Handles:
    """At most `most` of them; the one that was used longest ago goes first. A handle holds its session's log."""

    client: Callable[[str], CompactionClient]
    connector: Connector
    most: int
    _open: OrderedDict[tuple[str, str], Session] = field(default_factory=OrderedDict)

    async def existing(self, tenant: str, id: str) -> Session:  # noqa: A002 -- as the client calls it
        """Of a session that exists, or did when it was opened. Raises NothingRecorded, and what the store raises."""
        known = self._open.get((tenant, id))
        if known is not None:
            self._open.move_to_end((tenant, id))
            return known
        config = await self.client(tenant).stored_config(id)
        if config is None:
            raise NothingRecorded(NONE.format(id))
        return self._kept(tenant, id, Session(SessionKey(tenant, id), config, self.connector, None, True))

    def created(self, tenant: str, id: str, given: SessionGiven) -> Session:  # noqa: A002 -- as the client calls it
        """Of a session that the first record begins. Raises what `CompactionClient.session` raises."""
        return self._kept(tenant, id, self.client(tenant).session(id, **given.arguments()))

    def forget(self, tenant: str, id: str) -> None:  # noqa: A002 -- as the client calls it
        """The next request opens it anew."""
        self._open.pop((tenant, id), None)

    def _kept(self, tenant: str, id: str, session: Session) -> Session:  # noqa: A002 -- as the client calls it
        self._open[tenant, id] = session
        self._open.move_to_end((tenant, id))
        while len(self._open) > self.most:
            self._open.popitem(last=False)
        return session
