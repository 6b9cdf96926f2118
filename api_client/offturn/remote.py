"""Compaction by a provider's own endpoint: what is sent, what comes back, and where its item may be used.

The item is opaque and bound to the model that made it. It is kept as it came, beside a ledger and the human messages,
which need nobody: that is what a view shows wherever the item cannot be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from offturn.config import SessionConfig
from offturn.summarizer import Summarizer
from offturn_config.policy import Policy
from offturn_engine.boundaries import at
from offturn_engine.compaction import Compaction, Opaque, ViewRecord
from offturn_engine.formats.anthropic import Anthropic
from offturn_engine.formats.base import Format
from offturn_engine.formats.openai_chat import OpenAIChat
from offturn_engine.formats.openai_responses import OpenAIResponses
from offturn_engine.formats.responses import items
from offturn_engine.invariants import legal_cut_points
from offturn_engine.plain import Item
from offturn_engine.plan import Summarise
from offturn_engine.ranges import contains
from offturn_engine.remote import RemoteReply, RemoteRequest
from offturn_engine.render import render
from offturn_engine.turns import answers

PROVIDERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "openai-compact": ("openai", (OpenAIResponses.name, OpenAIChat.name)),
    "anthropic-compact": ("anthropic", (Anthropic.name,)),
}
"""Provider and message formats of each mode."""

BOUND = "generation {}: its {} item is bound to {}, and this session's model is {}: its ledger stands in for it"
BEHIND = "generation {}: messages stand before its {} item, which must be the first: its ledger stands in for it"
UNFIT = "policy {}: remote.mode {!r} needs format {!r} and a model of {!r}, such as model='{}:NAME': offturn compacts"


class Remote(Protocol):
    """Providers' endpoints."""

    async def compact(self, request: RemoteRequest) -> RemoteReply:
        """Raises SummarizerError."""
        ...

    def summarizer(self, model: str) -> Summarizer:
        """A model named `provider:name`. Raises InvalidSetting where there is no such provider or no key for it."""
        ...


def asks(policy: Policy, fmt: Format, model: str | None) -> bool:
    """Does the policy want a provider to compact, and can the provider of this model do it in this format?"""
    provider, formats = PROVIDERS.get(policy.remote.mode, ("", ()))
    return fmt.name in formats and bool(model) and str(model).partition(":")[0] == provider


def aligned(planned: Summarise) -> Summarise:
    """With a tail that starts after a finished turn: Anthropic compacts no conversation that ends within one."""
    draft = planned.draft
    if planned.policy.remote.mode != "anthropic-compact" or draft.split is None:
        return planned
    ended = answers(draft.path)
    cuts = [i for i in legal_cut_points(draft.path) if 0 < i <= draft.split.tail and ended[i - 1]]
    if not cuts:
        return planned
    split = at(
        draft.path, draft.base.covered, cuts[-1], system=draft.system_budget, head=draft.head, human=draft.keep_human
    )
    covered = tuple(m for m in draft.path if contains(split.cover, m.seq))
    return replace(planned, draft=replace(draft, split=split), messages=covered) if covered else planned


def request(planned: Summarise, base: Compaction, model: str) -> RemoteRequest:
    """What is sent: the view of the base as far as the tail. An item of the same model stands for what it covers."""
    draft, policy = planned.draft, planned.policy
    assert draft.split is not None
    shown = render(draft.path[: draft.split.tail], base, draft.fmt).items
    told = next((i for i, item in enumerate(shown) if item.kind == "summary"), 0)
    known = base.opaque if base.opaque and base.opaque.model == model else None
    previous = known if known and (known.provider == "openai" or leads(shown)) else None
    before, after = (
        tuple(item.raw for item in part) for part in (shown[:told], shown[told + 1 :] if previous else shown)
    )
    if draft.fmt.name == OpenAIChat.name:
        before, after = tuple(items(before)), tuple(items(after))
    return RemoteRequest(
        mode="openai-compact" if policy.remote.mode == "openai-compact" else "anthropic-compact",
        model=model.partition(":")[2],
        messages=after,
        previous=previous,
        before=before if previous else (),
    )


def leads(shown: Sequence[Item]) -> bool:
    """Is the summary the first message?"""
    return bool(shown) and shown[0].kind == "summary"


def usable(record: ViewRecord, shown: Sequence[Item], config: SessionConfig) -> tuple[Opaque | None, list[str]]:
    """The item of a record where this session's model may get it, and why not where it may not."""
    opaque = record.opaque
    if opaque is None:
        return None, _unfit(config)
    if config.model != opaque.model:
        return None, [BOUND.format(record.number, opaque.provider, opaque.model, config.model or "not named")]
    if opaque.provider == "anthropic" and not leads(shown):
        return None, [BEHIND.format(record.number, opaque.provider)]
    return opaque, []


def _unfit(config: SessionConfig) -> list[str]:
    mode = config.policy.remote.mode
    if mode not in PROVIDERS:
        return []
    provider, formats = PROVIDERS[mode]
    if config.format in formats and (config.model or "").partition(":")[0] == provider:
        return []
    return [UNFIT.format(config.policy.name, mode, formats[-1], provider, provider)]
