"""What a host can catch.

    OffturnError
    ├── StoreUnavailable   no answer from the store within the deadline; retryable
    │   ├── Archived       the session is in the archive, and no worker has brought it back yet: call again
    │   └── NotConfirmed   a purge or redact is done on the primary, and may not be on a replica: make the same call again
    ├── StoreFull          the store takes no more writes; retryable after room was made
    │   ├── TenantFull     the tenant's sessions are at the quota its operator has set (`offturn tenant quota`)
    │   └── SessionFull    this session's log is at the quota of its policy (`session.bytes`); not retryable
    ├── StoreFault         the store refused a command, or has lost or damaged data: permissions, eviction, a bug
    ├── UnknownVersion     another release wrote what is stored; nothing was changed
    ├── Conflict           an id came again with other content, a list that is not this session's, a path that moved, a purged session
    │   ├── Moved          `expect` names another seq than the next message gets; nothing was written
    │   └── NotRecorded    the store refused messages that were kept while it was away: `Session.undelivered` has them
    ├── Behind             the store has lost, or another host has changed, what this host acknowledged
    ├── InvalidMessage     a message no provider would take: index, field, remedy; nothing was stored
    ├── CannotFit          the last human message and the system prompt alone exceed the window, or for the provider they do
    ├── Refused            what the session as it is does not allow: a generation that is not kept, or too large
    │   └── NothingRecorded   no session of that id: nothing is recorded under it
    ├── Closed             the client was closed before this call
    └── ConfigError        UnknownPolicy, InvalidPolicy, InvalidSetting, UnknownFormat

Errors hold ids, indexes, field names and sizes, never content.
"""

from offturn.store.errors import (
    Archived,
    NotConfirmed,
    SessionFull,
    StoreFault,
    StoreFull,
    StoreUnavailable,
    TenantFull,
    UnknownVersion,
)
from offturn.wording import several
from offturn_config.errors import ConfigError, InvalidPolicy, InvalidSetting, OffturnError, UnknownPolicy
from offturn_engine.errors import CannotFit, InvalidMessage, UnknownFormat

__all__ = [
    "Archived",
    "Behind",
    "CannotFit",
    "Closed",
    "ConfigError",
    "Conflict",
    "InvalidMessage",
    "InvalidPolicy",
    "InvalidSetting",
    "Moved",
    "NotConfirmed",
    "NotRecorded",
    "NothingRecorded",
    "OffturnError",
    "Refused",
    "SessionFull",
    "StoreFault",
    "StoreFull",
    "StoreUnavailable",
    "TenantFull",
    "UnknownFormat",
    "UnknownPolicy",
    "UnknownVersion",
]


class Conflict(OffturnError):
    """What the host says contradicts what the session holds; nothing was written."""


class Moved(Conflict):
    """The log has another length than `expect` said: the next message gets another seq. Nothing was written."""


class NotRecorded(Conflict):
    """The store is back and refused `count` messages that were kept while it was away; said once, at the next call.

    Nothing of that call was done: make it again.
    """

    def __init__(self, count: int, why: str) -> None:
        self.count = count
        super().__init__(
            f"{several(count, 'message')} kept while the store was away, refused when it was back ({why}): undelivered() "
            "of this session has what was refused; nothing of this call was done, make it again"
        )


class Behind(OffturnError):
    """The session's log is not the one this host acknowledged; read it again (a new handle) before writing."""


class Refused(OffturnError):
    """The operation is not allowed on the session as it is; nothing was changed."""


class NothingRecorded(Refused):
    """No session has that id: nothing is recorded under it, or it was purged."""


class Closed(OffturnError):
    """The client was closed; sessions and tickets made with it end with it."""
