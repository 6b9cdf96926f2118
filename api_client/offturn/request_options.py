"""What a view asks of the provider beside its messages: cache breakpoints, context edits, compaction in band.

Field names and betas are those of the installed SDK (anthropic 2.14: `client.beta.messages`). Other formats' APIs
take none of them; what a policy asks for there is done by us, or a warning says that it is not done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from offturn.config import SessionConfig
from offturn_engine.formats.anthropic import Anthropic
from offturn_engine.formats.base import Format
from offturn_engine.formats.gemini import Gemini
from offturn_engine.formats.openai_chat import OpenAIChat
from offturn_engine.formats.openai_responses import OpenAIResponses
from offturn_engine.formats.text_observation import TextObservation
from offturn_engine.messages import Json, Message, ThinkingPart
from offturn_engine.protect import may_clear
from offturn_engine.remote import ON_DEMAND_BETA

Method = Literal[
    "messages.create",
    "beta.messages.create",
    "chat.completions.create",
    "responses.create",
    "models.generate_content",
]

METHODS: Mapping[str, Method] = {
    OpenAIChat.name: "chat.completions.create",
    TextObservation.name: "chat.completions.create",
    OpenAIResponses.name: "responses.create",
    Gemini.name: "models.generate_content",
    Anthropic.name: "messages.create",
}

EDITS_BETA = "context-management-2025-06-27"
COMPACT_BETA = "compact-2026-01-12"
LEAST_COMPACT_TRIGGER = 50_000  # tokens; the API refuses less
NEWEST_MARKED = 3  # the API takes four breakpoints: one is the system prompt's
NOT_MARKED = frozenset({"thinking", "redacted_thinking"})
MARKER: Mapping[str, str] = {"type": "ephemeral"}

NOT_MANAGED = "policy {}: remote.mode 'managed' needs format 'anthropic', this session has {!r}: offturn compacts"


def method(fmt: str, options: Mapping[str, Json]) -> Method:
    """The SDK's call that takes these arguments, after `client.`."""
    return "beta.messages.create" if "betas" in options else METHODS[fmt]


def provider_options(config: SessionConfig, path: Sequence[Message]) -> dict[str, Json]:
    """`betas` and `context_management` for Anthropic's beta API, or nothing. Triggers are real tokens of a request."""
    remote = config.policy.remote
    if config.format != Anthropic.name:
        return {}
    edits, betas = [], []
    if remote.provider_edits:
        betas.append(EDITS_BETA)
        edits += _clearing(config, path)
    if remote.mode == "managed":
        betas.append(COMPACT_BETA)
        edits.append(_compacting(config))
    options: dict[str, Json] = {"context_management": {"edits": edits}} if edits else {}
    if remote.mode == "anthropic-compact":
        betas.append(ON_DEMAND_BETA)
    return {**options, "betas": betas} if betas else {}


def provider_warnings(config: SessionConfig) -> list[str]:
    """What the policy asks of a provider and this format's API cannot do."""
    if config.policy.remote.mode == "managed" and config.format != Anthropic.name:
        return [NOT_MANAGED.format(config.policy.name, config.format)]
    return []


def sets_breakpoints(config: SessionConfig, fmt: Format) -> bool:
    """Does the policy set cache breakpoints in requests of this format? Only Anthropic's API takes them so."""
    return fmt.name == Anthropic.name and config.policy.after.cache == "system_and_3"


def marked(arguments: dict[str, Any]) -> dict[str, Any]:
    """`system_and_3`: breakpoints on the system prompt and the last three messages, in place of any the host has set.

    `arguments` are Anthropic's, and ours to change.
    """
    for message in arguments["messages"]:
        _unmark(message.get("content"))
    system = arguments.get("system")
    if isinstance(system, str) and system.strip():
        system = arguments["system"] = [{"type": "text", "text": system}]
    if isinstance(system, list) and system:
        _unmark(system)
        system[-1]["cache_control"] = dict(MARKER)
    left = NEWEST_MARKED
    for message in reversed(arguments["messages"]):
        if not left:
            break
        left -= _mark(message)
    return arguments


def _mark(message: dict[str, Any]) -> bool:
    """Mark its last block that can be marked; False where it has none."""
    content = message["content"]
    if isinstance(content, str):
        content = message["content"] = [{"type": "text", "text": content}]
    block = next((b for b in reversed(content) if b["type"] not in NOT_MARKED), None)
    if block is not None:
        block["cache_control"] = dict(MARKER)
    return block is not None


def _unmark(content: Json) -> None:
    for block in content if isinstance(content, list) else ():
        block.pop("cache_control", None)
        if block.get("type") == "tool_result":
            _unmark(block.get("content"))


def _clearing(config: SessionConfig, path: Sequence[Message]) -> list[dict[str, Json]]:
    """Thinking first, as the API wants it, and only where the model thinks: the API refuses that edit without.

    The provider judges by tool, not by call: a tool with one result that must stay is left out as a whole.
    """
    prune = config.policy.prune
    edits: list[dict[str, Json]] = []
    if any(isinstance(part, ThinkingPart) for message in path for part in message.parts):
        edits.append({"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}})
    kept = sorted({c.name for message in path for _, c in message.calls if not may_clear(c, prune)})
    edit: dict[str, Json] = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": config.limits.soft},
        "keep": {"type": "tool_uses", "value": prune.protected_results},
    }
    return [*edits, {**edit, "exclude_tools": kept} if kept else edit]


def _compacting(config: SessionConfig) -> dict[str, Json]:
    """Before our own soft level, so that the provider comes first."""
    limits = config.limits
    first = max(LEAST_COMPACT_TRIGGER, limits.soft - limits.minimum_growth)
    return {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": first}}
