"""What is asked of a provider's compaction endpoint and what it answers: two values, as in `summary`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from offturn_engine.compaction import Opaque, Spent
from offturn_engine.messages import RawMessage

Mode = Literal["openai-compact", "anthropic-compact"]

ON_DEMAND_BETA = "compact-2026-09-04"
"""Of Anthropic's beta API: what makes an item on demand, and what every request needs that carries one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRequest:
    """Messages as the mode's endpoint takes them: input items, or Anthropic's messages. `previous`: an earlier item, between `before` and `messages`.

    `model` without its provider.
    """

    mode: Mode
    model: str
    messages: tuple[RawMessage, ...] = field(repr=False)
    previous: Opaque | None = field(default=None, repr=False)
    before: tuple[RawMessage, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteReply:
    """The item, and what it cost."""

    opaque: Opaque = field(repr=False)
    spent: Spent
