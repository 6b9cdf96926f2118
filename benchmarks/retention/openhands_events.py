"""Imported inside the environment of openhands-sdk alone: messages of openai-chat as its events, condensed, and back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from openhands.sdk.context.condenser.llm_summarizing_condenser import default_condenser
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, LLMConvertibleEvent, MessageEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool.schema import Observation

Messages = list[dict[str, Any]]


class Result(Observation):
    """What a tool gave, as text."""


def condensed(messages: Messages, summary: str, kept: dict[str, Any]) -> Messages:
    """What its agent would send next; adds the CPU seconds of the condenser to `kept`."""
    condenser = default_condenser(
        TestLLM.from_messages([Message(role="assistant", content=[TextContent(text=summary)])])
    )
    view = View.from_events(list(_events(messages)))  # its agent holds one that grows with the conversation
    began = time.process_time()
    made = condenser.condense(view)
    if not isinstance(made, View):
        view.append_event(made)
    kept["seconds"] = kept.get("seconds", 0.0) + time.process_time() - began
    return [_shown(message) for message in LLMConvertibleEvent.events_to_messages(view.events)]


def _events(messages: Messages) -> Iterator[Any]:
    actions: dict[str, Any] = {}
    for place, message in enumerate(messages):
        text, role = TextContent(text=_text(message)), message["role"]
        if role == "system":
            yield SystemPromptEvent(system_prompt=text, tools=[])
        elif role == "tool":
            action, result = actions[message["tool_call_id"]], Result.from_text(text.text)
            names = {"tool_name": action.tool_name, "tool_call_id": action.tool_call_id}
            yield ObservationEvent(observation=result, action_id=action.id, **names)
        elif message.get("tool_calls"):
            made = _actions(message["tool_calls"], text, f"r{place}")
            actions |= {action.tool_call_id: action for action in made}
            yield from made
        else:
            source = "user" if role == "user" else "agent"
            yield MessageEvent(source=source, llm_message=Message(role=role, content=[text]))


def _actions(calls: list[Any], text: Any, reply: str) -> list[Any]:
    """One for each call of a message; the first has its text."""
    made = []
    for call in calls:
        name, known = call["function"]["name"], call["id"]
        asked = MessageToolCall(id=known, name=name, arguments=call["function"]["arguments"], origin="completion")
        ids = {"tool_name": name, "tool_call_id": known, "llm_response_id": reply}
        made.append(ActionEvent(thought=[] if made or not text.text else [text], tool_call=asked, **ids))
    return made


def _shown(message: Any) -> dict[str, Any]:
    said = "\n".join(part.text for part in message.content if isinstance(part, TextContent))
    made: dict[str, Any] = {"role": message.role, "content": said or None}
    if message.role == "tool":
        made["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        calls = [(call.id, {"name": call.name, "arguments": call.arguments}) for call in message.tool_calls]
        made["tool_calls"] = [{"id": known, "type": "function", "function": function} for known, function in calls]
    return made


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
