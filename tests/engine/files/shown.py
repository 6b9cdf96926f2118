"""A conversation in few words, for comparing."""

from __future__ import annotations

from offturn_engine import files, formats
from offturn_engine.files import Conversation
from offturn_engine.messages import Message
from tests.engine.test_files import TRANSCRIPTS


def parsed(conversation: Conversation) -> list[Message]:
    format_ = formats.get(conversation.format)
    return [format_.parse(raw, origin=conversation.origins.get(i)) for i, raw in enumerate(conversation.messages)]


def shown(conversation: Conversation) -> list[tuple[str, str]]:
    """(origin, what is said, called or answered) of each message."""
    return [
        (message.origin, " | ".join(filter(None, (message.text, _ids(message))))) for message in parsed(conversation)
    ]


def _ids(message: Message) -> str:
    return " ".join([*(c.id for _, c in message.calls), *(f"={r.call_id}" for _, r in message.results)])


def recorded(name: str) -> list[Conversation]:
    return files.read((TRANSCRIPTS / name).read_bytes())
