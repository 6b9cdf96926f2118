"""The folder in which OpenHands' SDK keeps a conversation, as lines its reader takes: one event each, in their order."""

from __future__ import annotations

import json
from pathlib import Path

from offturn_engine.files import LONGEST, Lines, UnreadableFile

EVENTS = "event-*.json"  # their names begin with a number that grows


def events_in(folder: Path) -> list[Path]:
    """The events of a conversation's folder, or of the folder `events` in it; none in any other."""
    return sorted(folder.glob(EVENTS)) or sorted((folder / "events").glob(EVENTS))


def lines(events: list[Path]) -> Lines:
    """Reads each file when it is its turn. Raises UnreadableFile, naming the file, for one that is no event."""
    return lambda: map(_line, events)


def _line(event: Path) -> str:
    if event.stat().st_size > LONGEST:
        raise UnreadableFile(f"{event.name} is larger than {LONGEST // 2**20} MB: no host writes such a message")
    try:
        return json.dumps(json.loads(event.read_bytes()))
    except (ValueError, RecursionError):
        raise UnreadableFile(f"{event.name} is not JSON: repair or remove it") from None
