"""Replies as traces name them."""

from __future__ import annotations

from dataclasses import replace

from offturn.store.replies import Busy, Claim, Finished, Limited, Recorded, Refused, Reply, Undone


def plain(reply: Reply | bool) -> Reply | bool:
    """Without what depends on the clock."""
    if isinstance(reply, Recorded):
        return replace(reply, unattended=False, at=0)
    if isinstance(reply, Undone):
        return replace(reply, at=0)
    if isinstance(reply, Claim):
        return replace(reply, waited_ms=0)
    return replace(reply, remaining_ms=0) if isinstance(reply, Busy | Limited) else reply


def word(reply: Reply | bool) -> str:
    """What a trace expects: the reason of a refusal, whether a finish leaves the session due, else the reply's name."""
    if isinstance(reply, Refused):
        return reply.why
    if isinstance(reply, Finished):
        return "due" if reply.due else "done"
    return type(reply).__name__.lower() if isinstance(reply, Reply) else str(reply).lower()
