"""Reader of wire files of the Kimi CLI (JSON lines), as openai-chat messages: that format carries its reasoning.

The host's history is what its `context.` records make of it; prompts and steers are there once more, as they were typed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from offturn_engine.files import openai_chat
from offturn_engine.files.conversation import Boundary, Conversation, Item, Notes, Said
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Source
from offturn_engine.files.values import count, fields, listed, name, text
from offturn_engine.messages import Json, Origin


@dataclass(slots=True)
class _Thread:
    """A conversation while it grows, until the user clears it."""

    notes: Notes
    items: list[Item] = field(default_factory=list)
    history: list[str] = field(default_factory=list)  # keys as the host's own list has them; "" is none of ours
    steps: dict[str, int] = field(default_factory=dict)  # step -> index of its message
    typed: list[tuple[int, Said]] = field(default_factory=list)  # not yet in the history; (index it came at, message)

    def add(self, raw: dict[str, Any], place: str, origin: Origin | None = None) -> None:
        self.history.append(place)
        self.items.append(Said(raw=raw, place=place, key=place, origin=origin))


def _conversations(source: Source) -> list[Conversation]:
    """The one in use first, then those the user has cleared, the oldest last."""
    notes = source.notes
    threads, system = [_Thread(notes)], None
    for value, place in source.records(skip_broken=True):
        record = fields(value)
        kind = text(record.get("type"))
        system = text(record.get("systemPrompt")) or system
        if kind == "context.clear":
            threads.append(_Thread(Notes()))
        elif (handle := HANDLERS.get(kind)) is not None:
            handle(threads[-1], record, place)
        elif kind != "config.update":
            notes.count(f"{name(kind)} records skipped")
    return [
        openai_chat.conversation(_items(thread), title=title, system=system, source="kimi", notes=thread.notes)
        for title, thread in zip(["", *map("cleared {}".format, range(1, len(threads)))], threads[::-1], strict=True)
        if any(isinstance(item, Said) for item in thread.items)
    ]


def _items(thread: _Thread) -> list[Item]:
    """With what was typed and never came into the history: the host ended before it was sent."""
    items = list(thread.items)
    for at, said in reversed(thread.typed):
        thread.notes.count("prompts that were typed and not sent")
        items.insert(at, said)
    return items


def _typed(thread: _Thread, record: dict[str, Any], place: str) -> None:
    if fields(record.get("origin")).get("kind", "user") == "user" and (content := _parts(record.get("input"))):
        said = Said(raw={"role": "user", "content": content}, place=place)
        thread.typed.append((len(thread.items), said))


def _appended(thread: _Thread, record: dict[str, Any], place: str) -> None:
    message = fields(record.get("message"))
    role, content = message.get("role"), _parts(message.get("content"))
    kind = fields(message.get("origin")).get("kind", "user")
    raw: dict[str, Any] = {"role": role, "content": content}
    if role == "tool":
        raw["tool_call_id"] = message.get("toolCallId")
    elif role == "assistant" and (calls := listed(message.get("toolCalls"))):
        raw["tool_calls"] = [_call(fields(call)) for call in calls]
    said = next((i for i, (_, said) in enumerate(thread.typed) if said.raw["content"] == content), None)
    if said is not None:
        del thread.typed[said]
    thread.add(raw, place, "host" if kind != "user" and role == "user" else None)


def _event(thread: _Thread, record: dict[str, Any], place: str) -> None:
    """A step is a message: its parts and calls come one by one, and their results before it ends."""
    event = fields(record.get("event"))
    kind, step = event.get("type"), text(event.get("stepUuid")) or text(event.get("uuid"))
    if kind == "tool.result":
        result = fields(event.get("result"))
        thread.notes.count("marks of failed results not carried", int(bool(result.get("isError"))))
        content = _parts(result.get("output"))
        if note := text(result.get("note")):
            content = f"{content}\n{note}" if isinstance(content, str) else [*content, {"type": "text", "text": note}]
        thread.add({"role": "tool", "tool_call_id": event.get("toolCallId"), "content": content}, place)
    elif kind in ("step.begin", "step.end", "content.part", "tool.call"):
        if step not in thread.steps:
            thread.steps[step] = len(thread.items)
            thread.add({"role": "assistant", "content": None}, place)
        said = thread.items[thread.steps[step]]
        if isinstance(said, Said):
            thread.items[thread.steps[step]] = _grown(said, event)
    else:
        thread.notes.count(f"{name(kind)} events skipped")


def _grown(said: Said, event: dict[str, Any]) -> Said:
    raw, part = dict(said.raw), fields(event.get("part"))
    if event["type"] == "step.end":
        kinds = ("inputOther", "inputCacheRead", "inputCacheCreation")
        return replace(said, reported=sum(count(fields(event.get("usage")).get(kind)) for kind in kinds))
    if event["type"] == "tool.call":
        raw["tool_calls"] = [*raw.get("tool_calls", ()), _call(event)]
    elif part.get("type") == "think":
        raw["reasoning_content"] = raw.get("reasoning_content", "") + text(part.get("think"))
    elif part.get("type") == "text":
        raw["content"] = (raw["content"] or "") + text(part.get("text"))
    return replace(said, raw=raw)


def _compacted(thread: _Thread, record: dict[str, Any], place: str) -> None:
    """The host goes on with some of the user's messages, its summary, and what it did not cover."""
    rest = thread.history[count(record.get("compactedCount")) or len(thread.history) :]
    boundary = Boundary(
        place=place,
        summary=text(record.get("summary")),
        kept_from=next(filter(None, rest), ""),
        tokens_before=count(record.get("tokensBefore")),
    )
    thread.items.append(boundary)
    thread.history = [""] * (count(record.get("keptUserMessageCount")) + 1) + rest


def _undone(thread: _Thread, record: dict[str, Any], place: str) -> None:  # noqa: ARG001 -- one signature for all
    """The last turns are gone; a compaction is a border."""
    border = max((i for i, item in enumerate(thread.items) if isinstance(item, Boundary)), default=-1)
    turns = [i for i, item in enumerate(thread.items) if i > border and _is_human(item)]
    undone = count(record.get("count"))
    if 0 < undone <= len(turns):
        at = turns[-undone]
        gone = {item.key for item in thread.items[at:] if isinstance(item, Said)}
        thread.notes.count("turns undone by the user skipped", undone)
        thread.items = thread.items[:at]
        thread.history = [key for key in thread.history if key not in gone]
        thread.steps = {step: i for step, i in thread.steps.items() if i < at}
        thread.typed = [(i, said) for i, said in thread.typed if i <= at]


def _is_human(item: Item) -> bool:
    return isinstance(item, Said) and item.origin is None and item.raw.get("role") == "user"


def _call(call: dict[str, Any]) -> dict[str, Json]:
    function = fields(call.get("function"))
    arguments = call.get("args") or call.get("arguments") or function.get("arguments")
    return openai_chat.call(
        call.get("toolCallId") or call.get("id"), call.get("name") or function.get("name"), arguments
    )


def _parts(content: Json) -> Json:
    """Text as one string where it is all there is; images in the format's own shape."""
    parts = [{"type": "text", "text": part} if isinstance(part, str) else fields(part) for part in listed(content)]
    if not isinstance(content, list):
        return content
    if all(part.get("type") == "text" for part in parts):
        return "\n".join(text(part.get("text")) for part in parts)
    return [
        {"type": "image_url", "image_url": part["imageUrl"]} if isinstance(part.get("imageUrl"), dict) else part
        for part in parts
    ]


HANDLERS: Mapping[str, Callable[[_Thread, dict[str, Any], str], None]] = {
    "turn.prompt": _typed,
    "turn.steer": _typed,
    "context.append_message": _appended,
    "context.append_loop_event": _event,
    "context.apply_compaction": _compacted,
    "context.undo": _undone,
}


def _recognise(records: Sequence[Json]) -> str:
    for record in objects(records):
        if record.get("type") == "metadata" and "protocol_version" in record:
            return "the metadata of a wire protocol"
        if text(record.get("type")).startswith("context.append_"):
            return "a record appends to the history"
    return ""


READER = Reader("kimi", _recognise, _conversations)
