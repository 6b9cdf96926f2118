"""Reader of SWE-agent's trajectories: the `history` alone, as openai-chat or, where tools are called by text, as
text-observation messages. The steps repeat it once each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn_engine.files import openai_chat, text_observation
from offturn_engine.files.conversation import Conversation, Notes, Said, UnreadableFile
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Source
from offturn_engine.files.values import fields, listed, text
from offturn_engine.messages import Json, Origin

SOURCE = "swe-agent"
KEPT = ("role", "content", "tool_calls", "thinking_blocks")


def _conversations(source: Source) -> list[Conversation]:
    records = list(source.records())
    found = []
    for value, place in records:
        if not isinstance(value, dict) or not isinstance(value.get("history"), list):
            raise UnreadableFile(f"{place}, field 'history': must be a list of messages")
        found.append(_conversation(value, place, source.notes if len(records) == 1 else Notes()))
    return [conversation for conversation in found if conversation.messages]


def _conversation(record: Mapping[str, Any], place: str, notes: Notes) -> Conversation:
    history = record["history"]
    notes.count("steps that repeat the history not read", len(listed(record.get("trajectory"))))
    items: list[Said] = []
    is_running = False
    for i, message in enumerate(history):
        at = f"{place}, message {i}"
        if not isinstance(message, dict):
            raise UnreadableFile(f"{at} is a {type(message).__name__}, not an object with a role")
        is_running = is_running or (message.get("role") == "assistant" and not message.get("is_demo"))
        items.append(Said(raw=_raw(message), place=at, origin=_origin(message, is_running=is_running)))
    has_tools = any(message.get("role") == "tool" or message.get("tool_calls") for message in history)
    make = openai_chat.conversation if has_tools else text_observation.conversation
    return make(items, title=text(record.get("environment")), system=None, source=SOURCE, notes=notes)


def _raw(message: Mapping[str, Any]) -> dict[str, Json]:
    raw = {key: message[key] for key in KEPT if message.get(key) is not None}
    if isinstance(raw.get("tool_calls"), list):
        raw["tool_calls"] = [{k: v for k, v in fields(call).items() if k != "index"} for call in raw["tool_calls"]]
    answered = listed(message.get("tool_call_ids"))
    return {**raw, "tool_call_id": answered[0]} if answered else raw


def _origin(message: Mapping[str, Any], *, is_running: bool) -> Origin | None:
    """A demonstration is the host's, and so is whatever else it says in the user's place once the agent works."""
    is_host = message.get("role") == "user" and (is_running or message.get("is_demo"))
    return "host" if is_host else None


def _recognise(records: Sequence[Json]) -> str:
    for record in objects(records):
        if "trajectory" in record and any("role" in message for message in objects(listed(record.get("history")))):
            return "an object has a trajectory and a history of messages"
    return ""


READER = Reader(SOURCE, _recognise, _conversations)
