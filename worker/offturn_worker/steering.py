"""What an operator does about a session in the queue, and what is said of it."""

from __future__ import annotations

from secrets import token_hex

from offturn.links import Links
from offturn.store.replies import Steered
from offturn_config.keys import SessionKey


async def again(links: Links, key: SessionKey) -> str:
    """Try a session again now: it gets all its attempts back and is rung for. Raises what the store raises."""
    meta = await links.store.meta(key)
    if meta is None:
        return "gone"
    if meta.leased:
        return "running"
    reply = await links.store.unblock(key, op=token_hex(16), incarnation=meta.incarnation)
    if not isinstance(reply, Steered):
        return "gone"
    number, wait = reply.request_no, await links.store.due_in_ms(key)
    if wait:  # a back-off outlasts that
        told = (meta.reason, meta.focus, meta.note) if meta.asked > meta.served else ("threshold", "", "")
        words = dict(zip(("reason", "focus", "note"), told, strict=True))
        asked = await links.store.request(key, op=token_hex(16), incarnation=meta.incarnation, **words)
        number, wait = getattr(asked, "request_no", number), 0
    if wait is None:
        return "nothing is due"
    await links.ring(key, number)
    return "due, and rung for"


async def dropped(links: Links, key: SessionKey) -> str:
    """Take a session off due: requests are withdrawn, and the next compaction waits for growth. Raises what the store raises."""
    meta = await links.store.meta(key)
    if meta is None:
        return "gone"
    reply = await links.store.cancel(key, op=token_hex(16), incarnation=meta.incarnation, hold=True)
    if not isinstance(reply, Steered):
        return "gone"
    return "parked, nothing is due" if meta.parked else "off due until it grows"
