"""The model of a session that leaves for the archive and comes back. See model.py.

What is away is as it was: the state keeps it, and only says that it is archived.
"""

from __future__ import annotations

from tests.protocol.facts import State


def archive(s: State, *, changed: bool = False) -> tuple[State, str]:
    """changed: between the writing and the eviction somebody wrote."""
    if changed:
        return s, "changed"
    if s.archived:
        return s, "archived"
    if not s.alive:
        return s, "gone"
    if s.leased:
        return s, "running"
    if s.due or s.doze == "asleep":
        return s, "due"
    return s._replace(archived=True), "kept"


def restore(s: State) -> tuple[State, bool]:
    return (s._replace(archived=False, due=False) if s.archived else s), s.archived


def want(s: State) -> tuple[State, bool]:
    return s._replace(due=s.due or s.archived), s.archived
