"""Every Redis key offturn uses.

`offturn:{s00}:<tenant>:<session>:meta|log|gen:<n>|chunks|chunksq|ops|opsq|ids|events|packs|marks|life`,
`offturn:{s00}:<tenant>:inflight|sinks|sink-<name>|usage|sizes|once:<digest>|onceq:<id>` and
`offturn:{s00}:due|dead|packing|archived|trash|walk|tenants|workers|seen|probe|routes|rates|paused|swept|api-keys|login:<digest>`. The
hash tag is the shard: all keys a script touches hash to one slot on every topology. `chunksq` is the order in which
`chunks` are forgotten, as `opsq` that of `ops` was in older releases; `life` is the incarnation of a session that may expire.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote, unquote

from offturn_config.errors import InvalidSetting

SHARD = "s00"
QUEUE = "offturn:queue"
WAKE = "offturn:wake"  # the channel on which a ring is told
JOB_PREFIX = "offturn:"
MAX_SESSION_BYTES = 256

_TENANT = re.compile(r"[a-z0-9_-]{1,64}\Z")
_SINK = re.compile(r"[a-z0-9_-]{1,64}\Z")


def due(shard: str = SHARD) -> str:
    """The sorted set of due sessions; score = when it is due, in ms of Redis TIME."""
    return f"offturn:{{{shard}}}:due"


def dead(shard: str = SHARD) -> str:
    """Parked sessions with their reason, never content."""
    return f"offturn:{{{shard}}}:dead"


def packing(shard: str = SHARD) -> str:
    """Sessions with covered messages that are not packed; score = of the first compaction that did so, in ms of Redis TIME."""
    return f"offturn:{{{shard}}}:packing"


def workers(shard: str = SHARD) -> str:
    """The workers that are there: a hash, worker id -> what it said of itself at its last beat."""
    return f"offturn:{{{shard}}}:workers"


def seen(shard: str = SHARD) -> str:
    """When a worker was seen last, in ms of Redis TIME; gone when somebody is missed."""
    return f"offturn:{{{shard}}}:seen"


def probe(shard: str = SHARD) -> str:
    """What workers write to see that a server takes writes."""
    return f"offturn:{{{shard}}}:probe"


def swept(shard: str = SHARD) -> str:
    """There for as long as the last sweep of any worker is enough."""
    return f"offturn:{{{shard}}}:swept"


def routes(shard: str = SHARD) -> str:
    """Entries of routes that are in trouble, and until when they are not asked. All workers share it."""
    return f"offturn:{{{shard}}}:routes"


def rates(shard: str = SHARD) -> str:
    """What is left of each provider's requests and tokens of a minute."""
    return f"offturn:{{{shard}}}:rates"


def paused(shard: str = SHARD) -> str:
    """What is paused: a hash, tenant or `*` -> since and until when, and why."""
    return f"offturn:{{{shard}}}:paused"


def archived(shard: str = SHARD) -> str:
    """Sessions in the archive: a hash, member -> where, since when and how large, as JSON."""
    return f"offturn:{{{shard}}}:archived"


def trash(shard: str = SHARD) -> str:
    """Objects of the archive that are to be deleted; score = from when on, in ms of Redis TIME."""
    return f"offturn:{{{shard}}}:trash"


def walk(shard: str = SHARD) -> str:
    """The walk that looks for idle sessions: whose turn it is, and how far it is."""
    return f"offturn:{{{shard}}}:walk"


def inflight(tenant: str, shard: str = SHARD) -> str:
    """A tenant's running jobs; score = when each is no longer believed, in ms of Redis TIME."""
    return f"offturn:{{{shard}}}:{tenant}:inflight"


def usage(tenant: str, shard: str = SHARD) -> str:
    """What a tenant's sessions take, and may take: a hash of numbers."""
    return f"offturn:{{{shard}}}:{tenant}:usage"


def sizes(tenant: str, shard: str = SHARD) -> str:
    """A tenant's sessions in the store: a hash, member -> bytes of its log as they are counted in `usage`."""
    return f"offturn:{{{shard}}}:{tenant}:sizes"


def tenants(shard: str = SHARD) -> str:
    """Every tenant that has had a session: a set."""
    return f"offturn:{{{shard}}}:tenants"


def api_keys(shard: str = SHARD) -> str:
    """Keys of the HTTP service: a hash, id -> what the key may do, and the digest of its secret, as JSON."""
    return f"offturn:{{{shard}}}:api-keys"


def login(digest: str, shard: str = SHARD) -> str:
    """A browser's login to the HTTP service, by the digest of its token: the id of the key it was made with."""
    return f"offturn:{{{shard}}}:login:{digest}"


def once(tenant: str, key: str, shard: str = SHARD) -> str:
    """The digest of the request that came with an Idempotency-Key first."""
    return f"offturn:{{{shard}}}:{tenant}:once:{key}"


def once_order(tenant: str, api_key: str, shard: str = SHARD) -> str:
    """The digests of the Idempotency-Keys that came with an API key, oldest first: the order in which they are forgotten."""
    return f"offturn:{{{shard}}}:{tenant}:onceq:{api_key}"


def sinks(tenant: str, shard: str = SHARD) -> str:
    """A tenant's write-back sinks: a hash, name -> `new` or `ready`."""
    return f"offturn:{{{shard}}}:{tenant}:sinks"


def sink(tenant: str, name: str, shard: str = SHARD) -> str:
    """Sessions whose current generation a sink has not been told of; score = when it is, in ms of Redis TIME."""
    if not isinstance(cast("object", name), str) or not _SINK.match(name):
        raise InvalidSetting(f"sink {name!r:.80}: use 1 to 64 of a-z, 0-9, _ and -")
    return f"offturn:{{{shard}}}:{tenant}:sink-{name}"


def every_meta(tenant: str, shard: str = SHARD) -> str:
    """SCAN pattern of the meta keys of a tenant's sessions. A tenant's name holds nothing that SCAN would read."""
    return f"offturn:{{{shard}}}:{tenant}:*:meta"


def polling(worker_id: str) -> str:
    """Where arq notes on the queue's server, about every 10 s, that a worker has looked at the queue."""
    return f"{QUEUE}:health-check:{worker_id}"


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A session's name: tenant `[a-z0-9_-]{1,64}`, id of at most 256 bytes (UTF-8). Raises InvalidSetting."""

    tenant: str
    session: str

    def __post_init__(self) -> None:
        tenant, session = cast("object", self.tenant), cast("object", self.session)
        if not isinstance(tenant, str) or not _TENANT.match(tenant):
            raise InvalidSetting(f"tenant {tenant!r:.80}: use 1 to 64 of a-z, 0-9, _ and -")
        if not isinstance(session, str):
            kind = type(session).__name__
            raise InvalidSetting(f"session id is of type {kind}: use a string such as f'telegram:{{chat_id}}'")
        try:
            size = len(session.encode())
        except UnicodeEncodeError:
            raise InvalidSetting("session id holds a lone surrogate: use valid Unicode") from None
        if not 0 < size <= MAX_SESSION_BYTES:
            raise InvalidSetting(f"session id of {size} bytes: use 1 to {MAX_SESSION_BYTES} bytes")

    @property
    def member(self) -> str:
        """The session's member in the due set: `<tenant>:<percent-encoded id>`."""
        return f"{self.tenant}:{quote(self.session, safe='')}"

    @classmethod
    def of_member(cls, member: str) -> SessionKey:
        """The session a member of the due set names. Raises InvalidSetting."""
        tenant, _, session = member.partition(":")
        return cls(tenant, unquote(session))

    @classmethod
    def of_meta(cls, name: str) -> SessionKey:
        """The session a meta key belongs to. Raises InvalidSetting."""
        return cls.of_member(name.split(":", 2)[2].removesuffix(":meta"))

    def key(self, kind: str, shard: str = SHARD) -> str:
        """One of its keys; kind is `meta`, `log`, `gen:3`, `chunks`, `ops`, `ids`, `events`, `opsq`, `chunksq`,
        `packs`, `marks`, `life`."""
        return f"offturn:{{{shard}}}:{self.member}:{kind}"
