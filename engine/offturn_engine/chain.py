"""The chain hash: one value that stands for the whole log up to a seq.

The store's record script links each entry to the one before with the same two rules, so that a commit can prove in
O(1) that it was made from exactly these messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha1, sha256

from offturn_engine.messages import RawMessage

EMPTY = ""
"""The chain hash before the first message."""


def digest(raw: RawMessage, origin: str, host_id: str | None) -> str:
    """64 hex digits over a message's JSON value (key order apart), its origin and the host's id."""
    text = json.dumps([raw, origin, host_id], sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def link(previous: str, entry: str) -> str:
    """The chain hash after an entry: sha1 over the previous one and the entry's digest, 40 hex digits."""
    return sha1((previous + entry).encode(), usedforsecurity=False).hexdigest()


def chain(digests: Iterable[str], start: str = EMPTY) -> str:
    """The chain hash after all these digests."""
    for entry in digests:
        start = link(start, entry)
    return start
