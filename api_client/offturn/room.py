"""What a session at its byte quota, or a server at its memory limit, means to a host."""

from __future__ import annotations

from offturn.store.errors import SessionFull
from offturn.store.replies import Overfull
from offturn_config.keys import SessionKey

SERVER_FULL = "the store is full: this view was made for this call only, and a newer generation may wait"


def session_full(key: SessionKey, reply: Overfull) -> SessionFull:
    """The error, with the numbers and what can be done."""
    return SessionFull(
        f"session {key.session!r}: its log has {reply.bytes} of {reply.quota} bytes and {reply.more} do not fit; nothing "
        'was written: give it more with configure(overrides={"session.bytes": ...}), or go on in another session: a new id, or '
        "fork(new_id, at=...), which copies a part (a copy of the whole path is as large as that path)"
    )
