"""What every request works with, in `app.state.service`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from starlette.requests import HTTPConnection

from offturn import CompactionClient
from offturn.links import Connector, Links
from offturn_http.handles import Handles
from offturn_http.metrics import HttpMetrics
from offturn_http.once import Once
from offturn_http.rate import Rate
from offturn_http.settings import Limits
from offturn_http.streams import Streams
from offturn_http.tailing import Tail
from offturn_http.tries import Tries
from offturn_worker.fleet import Fleet

if TYPE_CHECKING:
    from offturn_http.auth import Keys


@dataclass(slots=True)
class Service:
    """One process: the connections of `connector` serve all tenants. autocompact_pct: as in `CompactionClient`; fleet: what
    `/metrics` tells of all workers, None: nothing.
    """

    connector: Connector
    keys: Keys
    limits: Limits
    autocompact_pct: int | None = None
    fleet: Fleet | None = None
    handles: Handles = field(init=False)
    once: Once = field(init=False)
    rate: Rate = field(init=False)
    tries: Tries = field(init=False)
    tail: Tail = field(init=False)
    streams: Streams = field(init=False)
    metrics: HttpMetrics = field(init=False)

    def __post_init__(self) -> None:
        self.handles = Handles(self.client, self.connector, self.limits.handles)
        self.once = Once(self.connector)
        self.rate = Rate(self.connector, self.limits.requests_per_minute)
        self.tries = Tries(self.limits.wrong_keys_per_minute)
        self.tail = Tail(self.connector)
        self.streams = Streams(self.limits.streams, self.limits.streams_per_key)
        self.metrics = HttpMetrics(lambda: self.tail.open)

    def client(self, tenant: str) -> CompactionClient:
        """The client of one tenant's sessions; cheap, and not to be closed."""
        return CompactionClient(self.connector, tenant, self.autocompact_pct)

    async def links(self) -> Links:
        """The connections, for what the client's public methods do not do. Raises Closed."""
        return await self.connector.links()


def service_of(request: HTTPConnection) -> Service:
    """The service that answers this request."""
    return cast("Service", request.app.state.service)
