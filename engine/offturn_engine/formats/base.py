"""What a format must offer. A format is stateless; `get(name)` in this package returns one.

Law: for every message that `parse` accepts, `edit(message, ())` is the very raw value, and `parse(edit(m, e))` differs
from `m` only in the parts that `e` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from offturn_engine.messages import Edit, Json, Message, Origin, RawMessage
from offturn_engine.tokens import Estimate, estimate_json


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a provider would refuse a request: index of the message, the rule's name, one sentence without content."""

    index: int
    rule: str
    text: str


class Format(Protocol):
    """One provider dialect."""

    name: str
    estimate: Estimate  # tokens of a raw message
    in_items: bool  # a reply may be several messages, whose calls stand side by side before their results
    by_place: bool  # what a message is depends on the one before it: see `after`

    def parse(self, raw: Json, *, index: int = 0, origin: Origin | None = None) -> Message:
        """A neutral message. `origin` overrides the format's own rule for user-role messages.

        Raises InvalidMessage(index, field, problem) for what the provider would refuse.
        """
        ...

    def after(self, message: Message, before: Message | None) -> Message:
        """The message as it reads behind another one; formats whose results wear the user role tell them by that."""
        ...

    def edit(self, message: Message, edits: Sequence[Edit]) -> RawMessage:
        """The raw message with edits of its parts applied; other fields and parts are the same JSON values."""
        ...

    def without(self, message: Message, parts: frozenset[int]) -> RawMessage | None:
        """The raw message without these parts; None when nothing sendable is left."""
        ...

    def block(self, message: Message, part: int) -> Json:
        """The raw value of one part."""
        ...

    def user(self, text: str) -> RawMessage:
        """A new user-role message."""
        ...

    def assistant(self, text: str) -> RawMessage:
        """A new assistant-role message."""
        ...

    def result(self, call_id: str, name: str, text: str) -> RawMessage:
        """A synthetic tool result."""
        ...

    def canonical(self, raw: RawMessage) -> Json:
        """The value two messages are compared by: no cache markers, no nulls, one shape for text content."""
        ...

    def redacted(self, raw: RawMessage) -> RawMessage:
        """What is left of a recorded message whose content is deleted: role, call ids and function names."""
        ...

    def problems(self, messages: Sequence[RawMessage]) -> list[Problem]:
        """What the provider would refuse in this list: roles, first message, pairs, empty content, arguments."""
        ...

    def overhead(self, system: Json, tools: Json) -> int:
        """Estimated tokens of a system prompt and a tool list given apart from the messages."""
        ...

    def request(self, messages: Sequence[RawMessage], system: Json) -> Mapping[str, Any]:
        """Keyword arguments for the provider's SDK call: the messages, and the system prompt in its place."""
        ...


class ByItself:
    """For formats whose messages are what they say, wherever they stand, with `role` and `content`."""

    in_items = False
    by_place = False

    def after(self, message: Message, before: Message | None) -> Message:  # noqa: ARG002 -- the place tells nothing
        """The message itself."""
        return message

    def user(self, text: str) -> RawMessage:
        """A new user message."""
        return {"role": "user", "content": text}

    def assistant(self, text: str) -> RawMessage:
        """A new assistant message."""
        return {"role": "assistant", "content": text}


class SystemApart(ByItself):
    """The same, for APIs that take the system prompt beside the messages."""

    estimate: Estimate

    def overhead(self, system: Json, tools: Json) -> int:
        """Estimated tokens of a system prompt and a tool list."""
        prompt = self.estimate({"content": system}) if system else 0
        return prompt + (estimate_json(tools) if tools else 0)
