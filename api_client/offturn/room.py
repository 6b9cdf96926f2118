"""What a session at its byte quota, or a server at its memory limit, means to a host."""

from __future__ import annotations

from offturn.store.errors import SessionFull
from offturn.store.replies import Overfull
from offturn_config.keys import SessionKey

SERVER_FULL = "the store is full: this view was made for this call only, and a newer generation may wait"


def session_full(key: SessionKey, reply: Overfull) -> SessionFull:
    """The error, with the numbers and what can be done."""
    return SessionFull(
        f"session {key.member!r}: its log has {reply.bytes} of {reply.quota} bytes and {reply.more} do not fit; nothing "
        'was written: go on in another session (fork, or a new id), or configure(overrides={"session.bytes": ...})'
    )
