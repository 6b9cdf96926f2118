"""The recorded transcripts beside this checkout; without them the parts that need them are left out, and said to be."""

from __future__ import annotations

from pathlib import Path

from offturn_engine.files import Conversation, UnreadableFile
from offturn_engine.formats import get, parse_all
from offturn_engine.messages import Message
from offturn_worker.cli.reading import conversations_of

SHARED = Path(__file__).resolve().parents[3] / "shared" / "transcripts"


def conversation(file: str) -> Conversation | None:
    """The first conversation of a file, None where it is not there."""
    try:
        return conversations_of(SHARED / file, None)[0]
    except (UnreadableFile, OSError, IndexError):
        return None


def path_of(found: Conversation) -> list[Message]:
    """Its messages as the engine works on them."""
    parsed = parse_all(get(found.format), found.messages, found.origins)
    return [message.placed(i) for i, message in enumerate(parsed)]
