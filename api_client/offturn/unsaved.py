"""Paid results that the store would not take, kept by this process until it does: they must not be paid for twice."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TypeAlias

from offturn_config.keys import SessionKey

KEPT_BYTES = 16 * 1024 * 1024
KEPT_SECONDS = 3_600  # what no job asked for since then is of a session that has moved on

Place: TypeAlias = tuple[SessionKey, int, str]
"""Session, incarnation, key of the request."""


class Unsaved:
    """The newest of them, within a size and a time."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Place, tuple[float, str]] = OrderedDict()

    def get(self, place: Place) -> str | None:
        """The result, or None."""
        self._shorten()
        found = self._kept.get(place)
        return found[1] if found else None

    def add(self, place: Place, value: str) -> None:
        """Keep it."""
        self._kept.pop(place, None)
        self._kept[place] = time.monotonic(), value
        self._shorten()

    def drop(self, place: Place) -> None:
        """The store has it now."""
        self._kept.pop(place, None)

    def _shorten(self) -> None:
        oldest, size = time.monotonic() - KEPT_SECONDS, sum(len(value) for _, value in self._kept.values())
        for place, (at, value) in list(self._kept.items()):
            if size <= KEPT_BYTES and at >= oldest:
                break
            del self._kept[place]
            size -= len(value)


UNSAVED = Unsaved()
"""Of this process: a later job of the same session starts from it, whichever client or worker loop runs it."""
