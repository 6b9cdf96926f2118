"""Files that hold message lists: those of four message formats in all their wrappings, and tau-bench."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from offturn_engine.files import anthropic, gemini, openai_chat, text_observation
from offturn_engine.files.conversation import Conversation, Layout, Notes, Said, UnreadableFile
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Record, Source
from offturn_engine.files.values import fields
from offturn_engine.messages import Json

TITLES = ("title", "id", "session_id", "conversation_id", "instance_id")
BESIDE = ("tools", "kwargs", "response")
"""Fields of a recorded request that are no messages."""
BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use", "compaction"}
)
"""Content types only anthropic messages have."""


def _reads(make: Callable[..., Conversation], name: str) -> Callable[[Source], list[Conversation]]:
    """One conversation, or several where the records are objects with `messages`, or lists."""

    def conversation(
        messages: Sequence[Record], wrapper: dict[str, Json], notes: Notes, layout: Layout
    ) -> Conversation:
        for field in BESIDE:
            notes.count(f"{field} beside the messages not read", int(field in wrapper))
        title = next((str(wrapper[key]) for key in TITLES if isinstance(wrapper.get(key), str | int)), "")
        system = wrapper.get("system") or wrapper.get("system_prompt") or None
        notes.count("system prompt beside the messages, not part of the transcript", int(system is not None))
        items = [Said(raw=raw, place=place) for raw, place in messages]
        made = make(items, title=title, system=system, source=name, notes=notes)
        return replace(made, layout=layout, wrapper={**wrapper, "messages": None} if wrapper else {})

    def conversations(source: Source) -> list[Conversation]:
        records = list(source.records())
        if any(map(_is_message, objects([record.value for record in records]))):
            told = records if source.is_lines else _numbered([record.value for record in records])
            return _filled([conversation(told, {}, source.notes, "lines" if source.is_lines else "list")])
        found = []
        for value, place in records:
            messages = value.get("messages") if isinstance(value, dict) else value
            if not isinstance(messages, list):
                raise UnreadableFile(f"{place}: neither a message, a list, nor an object with messages")
            notes = source.notes if len(records) == 1 else Notes()
            wrapper = fields(value)
            found.append(conversation(_numbered(messages), wrapper, notes, "object" if wrapper else "list"))
        return _filled(found)

    return conversations


def _taubench(source: Source) -> list[Conversation]:
    """A conversation for each object with `traj`."""
    found = []
    for i, (value, place) in enumerate(source.records()):
        if not isinstance(value, dict) or not isinstance(value.get("traj"), list):
            raise UnreadableFile(f"{place}, field 'traj': must be a list of messages")
        title = f"task {value.get('task_id', i)}" + (f", trial {value['trial']}" if value.get("trial") else "")
        items = [Said(raw=raw, place=at) for raw, at in _numbered(value["traj"])]
        found.append(openai_chat.conversation(items, title=title, system=None, source="taubench", notes=Notes()))
    return _filled(found)


def _numbered(messages: Sequence[Json]) -> list[Record]:
    return [Record(raw, f"message {i}") for i, raw in enumerate(messages)]


def is_bare(value: Json) -> bool:
    """Is it a message of a chat and nothing else, as no host writes one into its log?"""
    return isinstance(value, dict) and "role" in value and "content" in value and "type" not in value


def _filled(found: list[Conversation]) -> list[Conversation]:
    return [conversation for conversation in found if conversation.messages]


def _is_taubench(records: Sequence[Json]) -> str:
    found = any(isinstance(record.get("traj"), list) for record in objects(records))
    return "an object has a traj list" if found else ""


def _is_anthropic(records: Sequence[Json]) -> str:
    messages, why = _messages(records)
    block = next((b for m in messages for b in _block_types(m) if b in BLOCKS), None)
    if block:
        return f"{why}, with {block} blocks"
    if any("system" in record and isinstance(record.get("messages"), list) for record in objects(records)):
        return f"{why}, with system beside them"
    return ""


def _is_text_observation(records: Sequence[Json]) -> str:
    messages, why = _messages(records)
    found = text_observation.recognise(messages)
    return f"{why}, {found}" if found else ""


def _is_gemini(records: Sequence[Json]) -> str:
    messages, why = _messages(records)
    return f"{why}, which have parts" if any(isinstance(m.get("parts"), list) for m in messages) else ""


def _is_openai_chat(records: Sequence[Json]) -> str:
    return _messages(records)[1] if records else "the file is empty"


def _messages(records: Sequence[Json]) -> tuple[list[dict[str, Json]], str]:
    """Messages of a list of messages, of objects with `messages`, or of lists of messages; and which it is."""
    if any(map(_is_message, objects(records))):
        return objects(records), "a list of messages"
    wrapped = [r["messages"] for r in objects(records) if isinstance(r.get("messages"), list)]
    if wrapped:
        return _flat(wrapped), "messages inside an object"
    lists = [r for r in records if isinstance(r, list)]
    return (_flat(lists), "lists of messages") if lists and len(lists) == len(records) else ([], "")


def _is_message(record: dict[str, Json]) -> bool:
    """A content of gemini may lack a role: it is the user's then."""
    return "role" in record or isinstance(record.get("parts"), list)


def _flat(lists: Sequence[list[Json]]) -> list[dict[str, Json]]:
    return [m for items in lists for m in items if isinstance(m, dict)]


def _block_types(message: dict[str, Json]) -> list[str]:
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [b["type"] for b in content if isinstance(b, dict) and isinstance(b.get("type"), str)]


GEMINI = Reader("gemini", _is_gemini, _reads(gemini.conversation, "gemini"))
TEXT_OBSERVATION = Reader(
    "text-observation", _is_text_observation, _reads(text_observation.conversation, "text-observation")
)
TAUBENCH = Reader("taubench", _is_taubench, _taubench)
ANTHROPIC = Reader("anthropic", _is_anthropic, _reads(anthropic.conversation, "anthropic"))
OPENAI_CHAT = Reader("openai-chat", _is_openai_chat, _reads(openai_chat.conversation, "openai-chat"))
