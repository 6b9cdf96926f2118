"""Reader of Inspect's logs (JSON): a conversation for each sample, as openai-chat messages.

Long texts and images stand in a sample's attachments, and come back to their places. What its events repeat is not read,
but for the tokens that the provider counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn_engine.files import openai_chat
from offturn_engine.files.conversation import Conversation, Notes, Said, UnreadableFile
from offturn_engine.files.reader import Listed, Reader, in_lists, objects
from offturn_engine.files.values import count, fields, listed, name
from offturn_engine.messages import Json, RawMessage

SOURCE = "inspect"
ATTACHMENT = "attachment://"
DEEPEST = 50  # levels of a message that are looked through for attachments
KEPT = ("role", "tool_call_id")


def counted_only(sample: Json) -> Json:
    """A sample with no more of its events than the tokens they tell of."""
    if not isinstance(sample, dict):
        return sample
    kept = ("id", "epoch", "messages", "attachments")
    told = [{"output": _told(fields(event.get("output")))} for event in objects(listed(sample.get("events")))]
    return {key: sample[key] for key in kept if key in sample} | {
        "events": [event for event in told if event["output"]]
    }


def _told(output: Mapping[str, Any]) -> dict[str, Json]:
    ids = [fields(choice.get("message")).get("id") for choice in objects(listed(output.get("choices")))]
    named: list[Json] = [{"message": {"id": id_}} for id_ in ids]
    return {"choices": named, "usage": output["usage"]} if output.get("usage") else {}


def _conversation(one: Listed, notes: Notes) -> Conversation:
    sample = one.holder
    attachments = fields(sample.get("attachments"))
    counted = _counted(sample.get("events"))
    items = []
    for i, message in enumerate(sample["messages"]):
        at = f"{one.place}, message {i}"
        if not isinstance(message, dict):
            raise UnreadableFile(f"{at} is a {type(message).__name__}, not an object with a role")
        raw = _message(message, attachments, notes)
        items.append(Said(raw=raw, place=at, reported=counted.get(str(message.get("id")), 0)))
    epoch = sample.get("epoch")
    title = f"sample {sample.get('id', '')}" + (f", epoch {epoch}" if isinstance(epoch, int) and epoch > 1 else "")
    return openai_chat.conversation(items, title=title, system=None, source=SOURCE, notes=notes)


def _counted(events: Json) -> dict[str, int]:
    """Input tokens, cached ones included, by the id of the message that answered."""
    found: dict[str, int] = {}
    for event in objects(listed(events)):
        output = fields(event.get("output"))
        for choice in objects(listed(output.get("choices"))):
            usage, answer = fields(output.get("usage")), fields(choice.get("message"))
            tokens = count(usage.get("total_tokens")) - count(usage.get("output_tokens"))
            found[str(answer.get("id"))] = max(0, tokens)
    return found


def _message(message: Mapping[str, Any], attachments: Mapping[str, Json], notes: Notes) -> RawMessage:
    kept = {key: message[key] for key in KEPT if message.get(key) is not None}
    error = message.get("error")
    if message.get("role") == "tool" and isinstance(error, dict) and error.get("message"):
        return {**kept, "content": error["message"]}  # which is what the model was told
    content = _resolved(message.get("content"), attachments)
    made: dict[str, Json] = {**kept, "content": content}
    if isinstance(content, list):
        thoughts = [str(part["reasoning"]) for part in objects(content) if part.get("reasoning")]
        made["content"] = [told for part in objects(content) for told in _part(part, notes)] or None
        made |= {"reasoning_content": "\n\n".join(thoughts)} if thoughts else {}
    if isinstance(message.get("tool_calls"), list):
        calls = [_resolved(call, attachments) for call in objects(message["tool_calls"])]
        made["tool_calls"] = [{k: call.get(k) for k in ("id", "function", "arguments")} for call in calls]
    return made


def _part(part: Mapping[str, Any], notes: Notes) -> list[RawMessage]:
    kind = part.get("type")
    if kind == "text":
        return [{"type": "text", "text": part.get("text")}] if part.get("text") else []
    if kind == "image":
        return [{"type": "image_url", "image_url": {"url": part.get("image")}}]
    if kind != "reasoning":
        notes.count(f"{name(kind)} parts skipped")
    return []


def _resolved(value: Json, attachments: Mapping[str, Json], depth: int = 0) -> Json:
    """The value with each text that names an attachment as the text it stands for."""
    if isinstance(value, str):
        return attachments.get(value.removeprefix(ATTACHMENT), value) if value.startswith(ATTACHMENT) else value
    if depth < DEEPEST and isinstance(value, list):
        return [_resolved(item, attachments, depth + 1) for item in value]
    if depth < DEEPEST and isinstance(value, dict):
        return {key: _resolved(item, attachments, depth + 1) for key, item in value.items()}
    return value


def _recognise(records: Sequence[Json]) -> str:
    for record in objects(records):
        samples = record.get("samples")
        if isinstance(record.get("eval"), dict) and isinstance(samples, list):
            return "an object has eval and samples"
    return ""


READER = Reader(SOURCE, _recognise, in_lists("samples", "sample", _conversation))
