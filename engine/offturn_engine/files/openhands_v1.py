"""Reader of the events of OpenHands' software-agent SDK (V1), as openai-chat messages.

A conversation is a folder with one event a file; who calls the reader gives them as lines, in their order. An answer
with several calls is several events, which its id joins.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from offturn_engine.files import openai_chat
from offturn_engine.files.conversation import Boundary, Conversation, Item, Notes, Said
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Source
from offturn_engine.files.values import fields, listed, name, text
from offturn_engine.messages import Json, Origin

SOURCE = "openhands-v1"
ROLES = ("system", "user", "assistant")
REJECTED = "Action rejected: "
"""What the SDK writes before the reason when it tells the model."""


@dataclass(slots=True)
class _Talk:
    notes: Notes
    items: list[Item] = field(default_factory=list)
    answers: dict[str, int] = field(default_factory=dict)  # id of the model's answer -> its place among the items

    def say(self, place: str, key: str, origin: Origin | None = None, **raw: Json) -> None:
        self.items.append(Said(raw=raw, place=place, key=key, origin=origin))


def _conversations(source: Source) -> list[Conversation]:
    talk = _Talk(source.notes)
    for event, place in source.records(skip_broken=True, kept=False):
        kind = text(fields(event).get("kind"))
        handler = HANDLERS.get(kind)
        if handler is None:
            talk.notes.count(f"{name(kind)} records skipped")
            continue
        source.keep(event, place)
        handler(talk, fields(event), place)
    made = openai_chat.conversation(talk.items, title="", system=None, source=SOURCE, notes=source.notes)
    return [made] if made.messages else []


def _system(talk: _Talk, event: Mapping[str, Any], place: str) -> None:
    said = [text(fields(event.get(key)).get("text")) for key in ("system_prompt", "dynamic_context")]
    talk.say(place, text(event.get("id")), role="system", content="\n\n".join(filter(None, said)))


def _message(talk: _Talk, event: Mapping[str, Any], place: str) -> None:
    message, key = fields(event.get("llm_message")), text(event.get("id"))
    role, thought = text(message.get("role")), message.get("reasoning_content")
    if role not in ROLES:
        talk.notes.count("messages of another role skipped")
        return
    is_hosts = role == "user" and event.get("source") != "user"
    reasoning = {"reasoning_content": thought} if thought else {}
    talk.say(place, key, "host" if is_hosts else None, role=role, content=_content(message.get("content")), **reasoning)
    if added := _content(event.get("extended_content")):
        talk.say(place, "", "host", role="user", content=added)


def _action(talk: _Talk, event: Mapping[str, Any], place: str) -> None:
    """Further calls of an answer join its first; only that one has its thoughts."""
    told, answer = fields(event.get("tool_call")), text(event.get("llm_response_id"))
    call = openai_chat.call(
        event.get("tool_call_id") or told.get("id"), told.get("name") or event.get("tool_name"), told.get("arguments")
    )
    at = talk.answers.get(answer) if answer else None
    if at is not None and isinstance(first := talk.items[at], Said):
        talk.items[at] = replace(first, raw={**fields(first.raw), "tool_calls": [*first.raw["tool_calls"], call]})
        return
    talk.notes.count("signed reasoning left out", len(listed(event.get("thinking_blocks"))))
    thought = event.get("reasoning_content")
    reasoning = {"reasoning_content": thought} if thought else {}
    talk.answers[answer] = len(talk.items)
    content = _content(event.get("thought")) or None
    talk.say(place, text(event.get("id")), role="assistant", content=content, tool_calls=[call], **reasoning)


def _observation(talk: _Talk, event: Mapping[str, Any], place: str) -> None:
    seen = fields(event.get("observation"))
    content = _content(seen.get("content")) if "content" in seen else text(seen.get("output"))
    if not content and (beside := {k: v for k, v in seen.items() if k not in ("kind", "content", "is_error") and v}):
        content = json.dumps(beside, ensure_ascii=False)  # older tools: each has fields of its own
    _answer(talk, event, place, content)
    if added := _content(event.get("extended_content")):
        talk.say(place, "", "host", role="user", content=added)


def _rejection(talk: _Talk, event: Mapping[str, Any], place: str) -> None:
    _answer(talk, event, place, f"{REJECTED}{text(event.get('rejection_reason'))}")


def _error(talk: _Talk, event: Mapping[str, Any], place: str) -> None:
    _answer(talk, event, place, text(event.get("error")))


def _answer(talk: _Talk, event: Mapping[str, Any], place: str, content: Json) -> None:
    answered = text(event.get("tool_call_id"))
    talk.say(place, text(event.get("id")), role="tool", content=content, tool_call_id=answered)


def _earlier_compaction(talk: _Talk, event: Mapping[str, Any], place: str) -> None:
    """It forgets events by their ids; the ones after the last of these went on being shown."""
    forgotten = {id_ for id_ in listed(event.get("forgotten_event_ids")) if isinstance(id_, str)}
    keys = [item.key for item in talk.items if isinstance(item, Said)]
    last = max((i for i, key in enumerate(keys) if key in forgotten), default=-1)
    if not event.get("summary") or last < 0:
        talk.notes.count("condensations without a summary skipped")
        return
    kept_from = next((key for key in keys[last + 1 :] if key), "")
    talk.items.append(Boundary(place=place, summary=text(event.get("summary")), kept_from=kept_from))


def _content(content: Json) -> Json:
    """Text as one string where it is all there is; images in the format's own shape."""
    parts = objects(listed(content))
    if not any(part.get("type") == "image" for part in parts):
        return "\n".join(text(part.get("text")) for part in parts) if isinstance(content, list) else text(content)
    return [told for part in parts for told in _part(part)]


def _part(part: Mapping[str, Any]) -> list[dict[str, Json]]:
    if part.get("type") == "image":
        return [{"type": "image_url", "image_url": {"url": url}} for url in listed(part.get("image_urls"))]
    return [{"type": "text", "text": part["text"]}] if text(part.get("text")) else []


HANDLERS: Mapping[str, Callable[[_Talk, Mapping[str, Any], str], None]] = {
    "SystemPromptEvent": _system,
    "MessageEvent": _message,
    "ActionEvent": _action,
    "ObservationEvent": _observation,
    "UserRejectObservation": _rejection,
    "AgentErrorEvent": _error,
    "Condensation": _earlier_compaction,
}


def _recognise(records: Sequence[Json]) -> str:
    found = any(record.get("kind") in HANDLERS and "source" in record for record in objects(records))
    return "records are events of OpenHands' SDK" if found else ""


READER = Reader(SOURCE, _recognise, _conversations)
