"""Reader of event files of the Copilot CLI (JSON lines), as openai-chat messages: it may change its system prompt.

Of a user's message the words are read, not what the host wraps around them for the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from offturn_engine.files import openai_chat
from offturn_engine.files.conversation import Boundary, Conversation, Item, Notes, Said
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Source
from offturn_engine.files.values import count, fields, listed, name, text
from offturn_engine.messages import Json

PREFIXES = ("session.", "system.", "user.", "assistant.", "tool.", "subagent.", "hook.", "skill.", "abort")


@dataclass(slots=True)
class _Thread:
    """The main conversation, or that of an agent a tool call has started."""

    notes: Notes
    items: list[Item] = field(default_factory=list)
    system: str = ""
    asked: set[str] = field(default_factory=set)  # ids of calls


def _conversations(source: Source) -> list[Conversation]:
    threads = {"": _Thread(source.notes)}
    title = ""
    for value, place in source.records(skip_broken=True):
        event = fields(value)
        data = fields(event.get("data"))
        owner = text(data.get("parentToolCallId"))
        thread = threads.setdefault(owner, _Thread(Notes()))
        if event.get("type") == "session.start":
            title = text(data.get("sessionId"))
        else:
            _read(thread, text(event.get("type")), data, place)
    return [
        openai_chat.conversation(
            thread.items,
            title=f"agent of {owner}" if owner else title,
            system=None,
            source="copilot",
            notes=thread.notes,
        )
        for owner, thread in threads.items()
        if any(isinstance(item, Said) for item in thread.items)
    ]


def _read(thread: _Thread, kind: str, data: dict[str, Any], place: str) -> None:
    items, notes = thread.items, thread.notes
    if kind == "system.message":
        prompt = text(data.get("content"))
        if prompt != thread.system:
            items.append(Said(raw={"role": "system", "content": prompt}, place=place))
        notes.count("system prompts repeated word for word skipped", int(prompt == thread.system))
        thread.system = prompt
    elif kind == "user.message":
        items.append(_user(data, place, notes))
    elif kind == "assistant.message":
        items.append(_assistant(data, place, thread))
    elif kind == "tool.execution_start":
        if (call_id := text(data.get("toolCallId"))) not in thread.asked:
            notes.count("calls known only by their start")
            thread.asked.add(call_id)
            call = openai_chat.call(call_id, data.get("toolName"), data.get("arguments"))
            items.append(Said(raw={"role": "assistant", "content": None, "tool_calls": [call]}, place=place))
    elif kind == "tool.execution_complete":
        items.append(_result(data, place, notes))
    elif kind == "session.compaction_complete" and data.get("summaryContent"):
        before = count(data.get("preCompactionTokens"))
        items.append(Boundary(place=place, summary=text(data["summaryContent"]), tokens_before=before))
    else:
        notes.count(f"{name(kind)} events skipped")


def _user(data: dict[str, Any], place: str, notes: Notes) -> Said:
    """Without words of the user it is the host that speaks."""
    words = data.get("content")
    notes.count("attachments of messages not read", len(listed(data.get("attachments"))))
    if words:
        notes.count("what the host wrapped around a message not read", int(bool(data.get("transformedContent"))))
        return Said(raw={"role": "user", "content": words}, place=place)
    return Said(raw={"role": "user", "content": data.get("transformedContent")}, place=place, origin="host")


def _assistant(data: dict[str, Any], place: str, thread: _Thread) -> Said:
    raw: dict[str, Any] = {"role": "assistant", "content": data.get("content") or None}
    requests = [fields(request) for request in listed(data.get("toolRequests"))]
    if requests:
        raw["tool_calls"] = [openai_chat.call(r.get("toolCallId"), r.get("name"), r.get("arguments")) for r in requests]
        thread.asked.update(text(request.get("toolCallId")) for request in requests)
    if reasoning := text(data.get("reasoningText")):
        raw["reasoning_content"] = reasoning
    thread.notes.count("encrypted reasoning dropped, its text kept", int(bool(data.get("reasoningOpaque"))))
    return Said(raw=raw, place=place)


def _result(data: dict[str, Any], place: str, notes: Notes) -> Said:
    content = fields(data.get("result")).get("content")
    if data.get("success") is False:
        notes.count("marks of failed results not carried")
        content = content or fields(data.get("error")).get("message")
    return Said(raw={"role": "tool", "tool_call_id": data.get("toolCallId"), "content": content}, place=place)


def _recognise(records: Sequence[Json]) -> str:
    events = [
        r for r in objects(records) if text(r.get("type")).startswith(PREFIXES) and isinstance(r.get("data"), dict)
    ]
    return "events such as user.message hold data" if events and "parentId" in events[0] else ""


READER = Reader("copilot", _recognise, _conversations)
