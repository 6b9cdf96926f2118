"""Errors of the session store.

OffturnError
├── StoreUnavailable   no connection, no answer in time, or a server that cannot write now; retryable
│   └── NotConfirmed   what was deleted is gone from the primary, and may still be on a replica; call again
├── StoreFull          the server is at its memory limit; retryable once there is room
│   └── SessionFull    the session is at its own limit; not retryable
├── StoreFault         the server refused a command for another reason (permissions, a bug): its error code, no content;
│                      or what it holds is incomplete or damaged
└── UnknownVersion     a stored record has a major version this release does not know; nothing was changed
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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


class StoreFull(OffturnError):
    """The store is at its memory limit; nothing was written."""

    retryable = True


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


@contextmanager
def mapped() -> Iterator[None]:
    """Errors of the Redis client as errors of this store.

    The server's texts may quote arguments, so only its error code goes on.
    """
    try:
        yield
    except (exceptions.AuthenticationError, exceptions.AuthorizationError) as error:
        raise StoreFault(f"the store refused the credentials ({type(error).__name__})") from None
    except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
        raise StoreUnavailable(f"the store does not answer ({type(error).__name__})") from None
    except exceptions.RedisError as error:
        raise _refusal(error) from None


RESTORE = "restore the store, or purge the session"


@contextmanager
def readable(what: str, remedy: str = RESTORE) -> Iterator[None]:
    """What reads like nothing that any release writes, as an error of this store. What stands there is not in it."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError):
        raise StoreFault(f"{what} cannot be read: it is damaged, or another program wrote over it; {remedy}") from None


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
