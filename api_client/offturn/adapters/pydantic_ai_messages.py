"""pydantic-ai's messages as `openai-chat` ones, to be measured and compacted, and a view's messages as pydantic-ai's.

One request of pydantic-ai holds several messages of the provider. Whatever is shown unedited goes back as the part it
came from, and a message of which all is shown as the message itself; so the conversion need not carry everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryFeedbackPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_core import to_jsonable_python

from offturn.adapters.originals import restored
from offturn_engine.messages import Json, RawMessage


@dataclass(frozen=True, slots=True)
class Piece:
    """What one raw message came from: parts of a message, of which there are `pieces`. A response is one piece."""

    message: ModelMessage
    parts: tuple[Any, ...]
    pieces: int


def flat(messages: Iterable[ModelMessage]) -> list[tuple[RawMessage, Piece]]:
    """The raw messages in order, each with what it came from."""
    made: list[tuple[RawMessage, Piece]] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            made.append((_answer(message), Piece(message, tuple(message.parts), 1)))
        else:
            found = _requested(message)
            made += [(raw, Piece(message, parts, len(found))) for raw, parts in found]
    return made


def rebuilt(shown: Sequence[RawMessage], given: Sequence[tuple[RawMessage, Piece]]) -> list[ModelMessage]:
    """The messages of a view. `given`: of the list it was made from."""
    names = _names([*(raw for raw, _ in given), *shown])
    back: list[ModelMessage] = []
    run: list[Piece] = []
    for piece in restored(shown, given, lambda raw: _made(raw, names)):
        if run and piece.message is not run[0].message:
            back.append(_joined(run))
            run = []
        run.append(piece)
    return [*back, _joined(run)] if run else back


def _joined(run: list[Piece]) -> ModelMessage:
    message = run[0].message
    if len(run) == run[0].pieces:
        return message
    return replace(cast("ModelRequest", message), parts=[part for piece in run for part in piece.parts])


def _requested(message: ModelRequest) -> list[tuple[RawMessage, tuple[ModelRequestPart, ...]]]:
    """A raw message for each part that says something; what the framework notes for itself goes with the next such part."""
    found: list[tuple[RawMessage, tuple[ModelRequestPart, ...]]] = []
    noted: tuple[ModelRequestPart, ...] = ()
    for part in message.parts:
        raw = _said(part)
        if raw is None:
            noted += (part,)
        else:
            found.append((raw, (*noted, part)))
            noted = ()
    if noted and found:
        raw, parts = found.pop()
        found.append((raw, parts + noted))
    elif noted:
        found.append(({"role": "developer", "content": ", ".join(part.part_kind for part in noted)}, noted))
    return found


def _said(part: ModelRequestPart) -> RawMessage | None:
    match part:
        case SystemPromptPart(content=text):
            return {"role": "system", "content": text}
        case UserPromptPart(content=str() as text):
            return {"role": "user", "content": text}
        case UserPromptPart(content=items):
            return {"role": "user", "content": [_item(item) for item in items if not isinstance(item, CachePoint)]}
        case ToolReturnPart(tool_call_id=call_id):
            return {"role": "tool", "tool_call_id": call_id, "content": part.model_response_str()}
        case RetryFeedbackPart():
            return {"role": "developer", "content": part.model_response()}
    return None


def _item(item: UserContent) -> Json:
    match item:
        case str() | TextContent():
            return {"type": "text", "text": item if isinstance(item, str) else item.content}
        case ImageUrl(url=url):
            return {"type": "image_url", "image_url": {"url": url}}
        case BinaryContent(is_image=True):
            return {"type": "image_url", "image_url": {"url": item.data_uri}}
    return {**_json(item), "type": getattr(item, "kind", type(item).__name__)}


def _answer(message: ModelResponse) -> RawMessage:
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    content = [_answered(part) for part in message.parts if not isinstance(part, ToolCallPart)]
    text = content[0]["text"] if len(content) == 1 and content[0]["type"] == "text" else content or None
    raw: dict[str, Json] = {"role": "assistant", "content": text}
    if calls:
        functions = [{"name": call.tool_name, "arguments": call.args_as_json_str()} for call in calls]
        raw["tool_calls"] = [
            {"id": call.tool_call_id, "type": "function", "function": function}
            for call, function in zip(calls, functions, strict=True)
        ]
    elif text is None:
        raw["content"] = ""
    return raw


def _answered(part: ModelResponsePart) -> dict[str, Json]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.content}
    return {**_json(part), "type": part.part_kind}


def _json(value: object) -> dict[str, Json]:
    return cast("dict[str, Json]", to_jsonable_python(value, serialize_unknown=True))


def _names(raws: Iterable[RawMessage]) -> dict[str, str]:
    """The tool of each call, which pydantic-ai wants to know of a result."""
    calls = (call for raw in raws for call in raw.get("tool_calls") or ())
    return {call["id"]: call["function"]["name"] for call in calls}


def _made(raw: RawMessage, names: dict[str, str]) -> Piece:
    """What a compaction has written: a summary, a stub, an answer that was made shorter."""
    content = raw.get("content")
    message: ModelMessage
    if raw["role"] == "assistant":
        said = [TextPart(text) for text in _texts(content) if text]
        calls = [
            ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"])
            for call in raw.get("tool_calls") or ()
        ]
        message = ModelResponse(parts=[*said, *calls])
    else:
        text = "\n\n".join(_texts(content))
        part: ModelRequestPart
        if raw["role"] == "tool":
            part = ToolReturnPart(names.get(raw["tool_call_id"], ""), text, raw["tool_call_id"])
        else:
            part = UserPromptPart(text) if raw["role"] == "user" else SystemPromptPart(text)
        message = ModelRequest(parts=[part])
    return Piece(message, tuple(message.parts), 1)


def _texts(content: Json) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if part.get("type") == "text"]
