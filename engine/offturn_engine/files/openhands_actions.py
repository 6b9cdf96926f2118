"""Calls and results of OpenHands' events as openai-chat messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from offturn_engine.files.values import count, fields
from offturn_engine.messages import Json, RawMessage

OF_THE_HOST = frozenset(
    [
        "action",
        "thought",
        "source",
        "id",
        "timestamp",
        "message",
        "timeout",
        "cause",
        "tool_call_metadata",
        "llm_metrics",
        "keep_prompt",
        "is_confirmed",
        "confirmation_state",
        "action_risk",
        "security_risk",
        "kernel_init_code",
        "blocking",
        "hidden",
        "is_input",
        "is_static",
        "cwd",
        "translated_ipython_code",
        "impl_source",
        "include_extra",
        "wait_for_response",
    ]
)
"""Fields of an action that are no arguments of the model's."""


class Call(NamedTuple):
    """A call's message, the id of the model's answer it stands in, and the input tokens of that answer."""

    answer: str
    raw: RawMessage
    tokens: int


def spoken(event: Mapping[str, Any]) -> Json:
    """What a message, or a last word, says: text, or parts where there are images."""
    args = _args(event)
    texts = [args.get(key) for key in ("content", "thought", "final_thought")]
    said = list(dict.fromkeys(text for text in texts if isinstance(text, str) and text.strip()))
    urls = args.get("image_urls") or args.get("images_urls")
    images = [{"type": "image_url", "image_url": {"url": url}} for url in urls] if isinstance(urls, list) else []
    text = "\n\n".join(said)
    return [*([{"type": "text", "text": text}] if text else []), *images] if images else text


def call_of(event: Mapping[str, Any]) -> Call:
    """The call of an action, with the others of the same answer where the event keeps that."""
    metadata = fields(event.get("tool_call_metadata"))
    response = fields(metadata.get("model_response"))
    choices = response.get("choices")
    choice = fields(choices[0]) if isinstance(choices, list) and choices else {}
    message = fields(choice.get("message"))
    tokens = fields(response.get("usage")).get("prompt_tokens")
    if isinstance(message.get("tool_calls"), list):
        calls = [
            {k: v for k, v in call.items() if k != "index"} for call in message["tool_calls"] if isinstance(call, dict)
        ]
        kept = {k: v for k, v in message.items() if v is not None and k != "function_call"}
        raw = {**kept, "role": "assistant", "content": message.get("content"), "tool_calls": calls}
        return Call(str(response.get("id") or ""), raw, count(tokens))
    return Call("", _made(event, metadata), 0)


def _made(event: Mapping[str, Any], metadata: Mapping[str, Any]) -> RawMessage:
    args = _args(event)
    name = str(metadata.get("function_name") or event["action"])
    told = {k: v for k, v in args.items() if k not in OF_THE_HOST and v is not None}
    function = {"name": name, "arguments": json.dumps(told, ensure_ascii=False)}
    call = {"type": "function", "function": function, **_id(metadata, event.get("id"))}
    return {"role": "assistant", "content": args.get("thought") or None, "tool_calls": [call]}


def result_of(event: Mapping[str, Any]) -> RawMessage:
    """The result an observation is; without ids it answers the open call before it."""
    metadata, extras = fields(event.get("tool_call_metadata")), fields(event.get("extras"))
    shell = fields(extras.get("metadata"))
    content = event.get("content")
    if isinstance(content, str):
        content = f"{shell.get('prefix') or ''}{content}{shell.get('suffix') or _failure(event, extras)}"
    answered = _id(metadata, event.get("cause"))
    return {"role": "tool", "content": content, **({"tool_call_id": answered["id"]} if answered else {})}


def _failure(event: Mapping[str, Any], extras: Mapping[str, Any]) -> str:
    code = extras.get("exit_code", event.get("exit_code"))
    return f"\n[exit code {code}]" if code else ""


def _id(metadata: Mapping[str, Any], event: Json) -> dict[str, str]:
    """The model's id of a call, else one made of its event's; none where the file has neither."""
    if metadata.get("tool_call_id"):
        return {"id": str(metadata["tool_call_id"])}
    return {} if event is None else {"id": f"event_{event}"}


def _args(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Older events have their arguments beside the rest."""
    return event["args"] if isinstance(event.get("args"), dict) else event
