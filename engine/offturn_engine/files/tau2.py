"""Reader of tau2 results: a conversation for each simulation, as openai-chat messages.

The simulated user has tools too. What the agent was never shown is kept, as a call and its result like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from offturn_engine.files import openai_chat
from offturn_engine.files.conversation import Conversation, Notes, Said, UnreadableFile
from offturn_engine.files.reader import Listed, Reader, in_lists, objects
from offturn_engine.files.values import count, fields, listed
from offturn_engine.messages import Json

SOURCE = "tau2"
KEPT = ("role", "content")


def _conversation(one: Listed, notes: Notes) -> Conversation:
    simulation, policy = one.holder, one.holder.get("policy") or _policy(one.record)
    items = [
        said
        for i, message in enumerate(simulation["messages"])
        for said in _said(message, f"{one.place}, message {i}", notes)
    ]
    notes.count("system prompt beside the messages, not part of the transcript", int(bool(policy)))
    trial = f", trial {simulation['trial']}" if simulation.get("trial") else ""
    title = f"task {simulation.get('task_id', '')}{trial}"
    return openai_chat.conversation(items, title=title, system=policy or None, source=SOURCE, notes=notes)


def _said(message: Json, place: str, notes: Notes) -> Iterator[Said]:
    if not isinstance(message, dict):
        raise UnreadableFile(f"{place} is a {type(message).__name__}, not an object with a role")
    kept = {key: message.get(key) for key in KEPT}
    if message.get("role") == "tool":
        yield Said(raw={**kept, "tool_call_id": message.get("id")}, place=place)
        return
    calls = [_call(call) for call in objects(listed(message.get("tool_calls")))]
    if message.get("role") != "assistant" and calls:
        notes.count("messages with calls of the user shown as two", 1)
        yield Said(raw=kept, place=place)
        kept = {"role": "assistant", "content": None}
    usage = fields(message.get("usage") if message.get("role") == "assistant" else None)
    raw = {**kept, "tool_calls": calls} if calls else kept
    yield Said(raw=raw, place=place, reported=count(usage.get("prompt_tokens")))


def _call(call: Mapping[str, Any]) -> dict[str, Json]:
    arguments = json.dumps(call.get("arguments") or {}, ensure_ascii=False)
    return {"id": call.get("id"), "type": "function", "function": {"name": call.get("name"), "arguments": arguments}}


def _policy(results: Mapping[str, Any]) -> Json:
    return fields(fields(results.get("info")).get("environment_info")).get("policy")


def _recognise(records: Sequence[Json]) -> str:
    simulations = [one for record in objects(records) for one in objects(listed(record.get("simulations")))]
    has_messages = any("messages" in simulation for simulation in simulations)
    return "an object has simulations with messages" if has_messages else ""


READER = Reader(SOURCE, _recognise, in_lists("simulations", "simulation", _conversation))
