"""Operation ids of host writes: random, or those of a key that the host's own client repeats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from secrets import token_urlsafe

RANDOM_BYTES = 12  # of an id: one is kept for each write
_key: ContextVar[str | None] = ContextVar("offturn_operation", default=None)


@contextmanager
def named_operation(key: str) -> Iterator[None]:
    """Writes inside the block take effect once for this key, whichever process repeats them.

    The store answers them from the newest 128 replies of the session, so `key` must differ by session, call and client.
    """
    token = _key.set(key)
    try:
        yield
    finally:
        _key.reset(token)


def operation_id(kind: str = "write") -> str:
    """A new one; inside `named_operation` the one of its key. kind: writes of one call that differ in it have different ids."""
    key = _key.get()
    return token_urlsafe(RANDOM_BYTES) if key is None else operation_of(key, kind)


def operation_of(key: str, kind: str = "write") -> str:
    """The id of a key's write."""
    return sha256(f"{kind}:{key}".encode()).hexdigest()[:32]
