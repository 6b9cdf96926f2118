"""What stands around the messages of a host's request, and a view as it goes out with it.

A provider's prompt cache holds tools, system prompt and messages in this order, so who wants to read a conversation from
it repeats all three as the host sends them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from offturn_engine.compaction import ViewRecord
from offturn_engine.formats.base import Format
from offturn_engine.messages import Json, Message, RawMessage
from offturn_engine.notes import with_note
from offturn_engine.plain import Item
from offturn_engine.render import Rendering, is_system, render
from offturn_engine.summary import Prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """System prompt and tools as the host gave them; `lead`: its own leading system messages, in place of the recorded ones."""

    system: Json = None
    tools: Json = None
    lead: tuple[RawMessage, ...] = ()

    def to_json(self) -> str:
        """For the store. Raises TypeError and ValueError for what is no JSON."""
        return json.dumps({"system": self.system, "tools": self.tools, "lead": self.lead}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Frame:
        """From the store."""
        values = json.loads(text)
        return cls(system=values["system"], tools=values["tools"], lead=tuple(values["lead"]))


def framed(path: Sequence[Message], record: ViewRecord, fmt: Format, frame: Frame) -> Rendering:
    """What goes out as messages. The note stands once: on a system prompt given apart, else on the first system message."""
    shown = record if frame.system is None else record.model_copy(update={"system_note": ""})
    return led(render(path, shown, fmt), frame.lead, record.system_note, fmt)


def led(rendering: Rendering, lead: Sequence[RawMessage], note: str, fmt: Format) -> Rendering:
    """With the host's own leading system messages in place of the recorded ones, the note on the first of them."""
    if not lead:
        return rendering
    rest = dropwhile(lambda item: is_system(item.raw), rendering.items)
    noted = (with_note(lead[0], note), *lead[1:])
    own = (Item(raw, -1, "message", fmt.estimate(raw)) for raw in noted)
    return replace(rendering, items=(*own, *rest))


def prefix(path: Sequence[Message], record: ViewRecord, fmt: Format, frame: Frame, tail: int) -> Prefix:
    """The beginning of the request a host makes with the view of `record`, up to the message at index `tail` of the path."""
    later = {message.seq for message in path[tail:]}
    items: list[Item] = []
    for item in framed(path, record, fmt, frame).items:
        if item.seq in later:
            break
        items.append(item)
    sent = fmt.request([item.raw for item in items], with_note(frame.system, record.system_note))
    return Prefix(
        messages=tuple(sent["messages"]),
        system=sent.get("system"),
        tools=frame.tools,
        tokens=sum(item.tokens for item in items) + fmt.overhead(frame.system, frame.tools),
    )
