"""Files that hold message lists: openai-chat and anthropic in all their wrappings, and tau-bench."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from offturn_engine.files import anthropic, openai_chat
from offturn_engine.files.conversation import Conversation, Notes, UnreadableFile
from offturn_engine.files.source import Source
from offturn_engine.messages import Json

READERS: dict[str, Callable[..., Conversation]] = {
    "openai-chat": openai_chat.conversation,
    "anthropic": anthropic.conversation,
}
TITLES = ("title", "id", "session_id", "conversation_id")
BESIDE = ("tools", "kwargs", "response")
"""Fields of a recorded request that are no messages."""


def chats(source: Source, name: str) -> list[Conversation]:
    """One conversation, or several where the records are objects with `messages`, or lists."""
    if any(isinstance(record, dict) and "role" in record for record in source.records):
        return _filled([_conversation(source.records, {}, name, source.notes)])
    found = []
    for i, record in enumerate(source.records):
        messages = record.get("messages") if isinstance(record, dict) else record
        if not isinstance(messages, list):
            raise UnreadableFile(f"{source.place(i)}: neither a message, a list, nor an object with messages")
        notes = source.notes if len(source.records) == 1 else Notes()
        found.append(_conversation(messages, record if isinstance(record, dict) else {}, name, notes))
    return _filled(found)


def taubench(source: Source) -> list[Conversation]:
    """A conversation for each object with `traj`."""
    found = []
    for i, record in enumerate(source.records):
        if not isinstance(record, dict) or not isinstance(record.get("traj"), list):
            raise UnreadableFile(f"{source.place(i)}, field 'traj': must be a list of messages")
        title = f"task {record.get('task_id', i)}" + (f", trial {record['trial']}" if record.get("trial") else "")
        found.append(
            openai_chat.conversation(record["traj"], title=title, system=None, source="taubench", notes=Notes())
        )
    return _filled(found)


def _conversation(messages: Sequence[Json], wrapper: dict[str, Json], name: str, notes: Notes) -> Conversation:
    for field in BESIDE:
        notes.count(f"{field} beside the messages not read", int(field in wrapper))
    title = next((str(wrapper[key]) for key in TITLES if isinstance(wrapper.get(key), str | int)), "")
    system = wrapper.get("system") or wrapper.get("system_prompt") or None
    notes.count("system prompt beside the messages, not part of the transcript", int(system is not None))
    return READERS[name](messages, title=title, system=system, source=name, notes=notes)


def _filled(found: list[Conversation]) -> list[Conversation]:
    return [conversation for conversation in found if conversation.messages]
