"""What a session or a tenant at its quota, or a server at its memory limit, means to a host."""

from __future__ import annotations

from offturn.store.errors import SessionFull, StoreFull, TenantFull
from offturn.store.replies import Overfull
from offturn_config.keys import SessionKey

SERVER_FULL = "the store is full: this view was made for this call only, and a newer generation may wait"


def no_room(key: SessionKey, reply: Overfull) -> StoreFull:
    """The error, with the numbers and what can be done."""
    if reply.of == "tenant-bytes":
        return TenantFull(
            f"tenant {key.tenant!r}: its sessions' logs have {reply.bytes} of {reply.quota} bytes and {reply.more} do not "
            f"fit; nothing was written: purge sessions, or raise it with `offturn tenant quota {key.tenant} --bytes ...`"
        )
    if reply.of == "tenant-sessions":
        return TenantFull(
            f"tenant {key.tenant!r} has {reply.bytes} of {reply.quota} sessions, session {key.session!r} would be one more; "
            f"nothing was written: purge some, or raise it with `offturn tenant quota {key.tenant} --sessions ...`"
        )
    return SessionFull(
        f"session {key.session!r}: its log has {reply.bytes} of {reply.quota} bytes and {reply.more} do not fit; nothing "
        'was written: give it more with configure(overrides={"session.bytes": ...}), or go on in another session: a new id, or '
        "fork(new_id, at=...), which copies a part (a copy of the whole path is as large as that path)"
    )
