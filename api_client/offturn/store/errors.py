"""Errors of the session store.

OffturnError
├── StoreUnavailable   no connection, no answer in time, or a server that cannot write now; retryable
│   ├── Archived       the session is in the archive, and was not brought back within the call; call again
│   └── NotConfirmed   what was deleted is gone from the primary, and may still be on a replica; call again
├── StoreFull          the server is at its memory limit; retryable once there is room
│   ├── TenantFull     the tenant's sessions are at their quota, bytes or number; retryable once there is room
│   └── SessionFull    the session is at its own limit; not retryable
├── StoreFault         the server refused a command for another reason (permissions, a bug): its error code, no content;
│                      or what it holds is incomplete or damaged
└── UnknownVersion     a stored record has a major version this release does not know; nothing was changed
"""

from __future__ import annotations

from redis import exceptions

from offturn_config.errors import OffturnError

NOT_NOW = ("READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "BUSY")


class StoreUnavailable(OffturnError):
    """The store did not answer. What was sent may have taken effect; sent again under its operation id it does so once.

    To a host that means: `record` or `mirror` again, with the same messages and on the same session object.
    """

    retryable = True


class NotConfirmed(StoreUnavailable):
    """A purge or redact is done on the primary, and a replica has not said that it has it."""


class Archived(StoreUnavailable):
    """The session is in the archive. A worker brings it back; the call that found it there did nothing."""


class StoreFull(OffturnError):
    """The store is at its memory limit; nothing was written."""

    retryable = True


class TenantFull(StoreFull):
    """The tenant is at a quota its operator has set; nothing was written."""


class SessionFull(StoreFull):
    """The session's log is at the quota of its policy; nothing was written."""

    retryable = False


class StoreFault(OffturnError):
    """The store refused a command, then the message carries the server's error code only; or it has lost data."""


def torn(session: str, held: int, length: int) -> StoreFault:
    """The error for a log that the server has lost a part of."""
    return StoreFault(
        f"session {session!r}: the log holds {held} of {length} messages: the server lost or evicted data, restore it "
        "(and set maxmemory-policy noeviction), or purge the session"
    )


class UnknownVersion(OffturnError):
    """A record of an unknown major version: another release wrote it. It is left as it is."""


def refused(error: BaseException) -> BaseException | None:
    """The refusal of credentials that this is, or that redis-py made a lost connection of, as it does over a Unix socket."""
    kinds = exceptions.AuthenticationError, exceptions.AuthorizationError
    return next((one for one in (error, error.__cause__) if isinstance(one, kinds)), None)


class mapped:  # noqa: N801 -- used as `contextmanager` would be, which costs every command more
    """Errors of the Redis client as errors of this store.

    The server's texts may quote arguments, so only its error code goes on.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:  # at once: each union of types below is made anew
            return
        if refusal := refused(error):
            raise StoreFault(f"the store refused the credentials ({type(refusal).__name__})") from None
        if isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError | OSError):
            raise StoreUnavailable(f"the store does not answer ({type(error).__name__})") from None
        if isinstance(error, exceptions.RedisError):
            raise _refusal(error) from None


RESTORE = "restore the store, or purge the session"


class readable:  # noqa: N801 -- as `mapped`; a log is read entry by entry
    """What reads like nothing that any release writes, as an error of this store. What stands there is not in it."""

    __slots__ = ("_remedy", "_what")

    def __init__(self, what: str, remedy: str = RESTORE) -> None:
        self._what = what
        self._remedy = remedy

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and isinstance(error, ValueError | LookupError | TypeError | AttributeError):
            raise StoreFault(
                f"{self._what} cannot be read: it is damaged, or another program wrote over it; {self._remedy}"
            ) from None


def _refusal(error: exceptions.RedisError) -> OffturnError:
    text = str(error)
    if isinstance(error, exceptions.OutOfMemoryError) or "OOM " in text:
        return StoreFull("the store is at its memory limit (maxmemory): give it more, or purge sessions")
    if isinstance(error, exceptions.ReadOnlyError):
        return StoreUnavailable("the store cannot write now (READONLY)")
    # Redis 6.2 puts what a script met behind words of its own.
    code = next((one for one in NOT_NOW if f"-{one} " in text), text.split(" ", 1)[0])
    if code == "MOVED":
        return StoreFault("the store's keys are on another node of this cluster: name that node in the store's URL")
    if code in NOT_NOW:
        return StoreUnavailable(f"the store cannot serve now ({code})")
    return StoreFault(f"the store refused a command ({type(error).__name__} {code if code.isupper() else ''})".strip())
