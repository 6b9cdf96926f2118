"""What the reasons of outcomes mean, in words for people; `--json` has the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "nothing_to_cover": "all that may be covered is covered already, the newest messages stay as they are",
        "no_gain": "no summary would save enough",
        "resting": "enough is done, more messages have to come first",
        "too_dense": "what may not be left out is above the ceiling by itself",
        "facts_lost": "with the summary fewer facts would be kept than the policy demands",
        "below_trigger": "the view is small enough",
        "below_phase_minimum": "the view is too small for the end of a phase to be worth one",
        "phases_off": "the policy does nothing at the end of a phase",
        "not_wanted": "nothing wants a compaction any more",
        "blocked": "compactions in a row made no room",
        "tenant_busy": "the tenant has as many jobs as it may",
        "paused": "an operator has paused it: `offturn resume`",
        "busy": "another process is at it",
        "idle": "nothing is due",
        "parked": "too many jobs ended badly",
        "gone": "the session was purged",
        "withdrawn": "a rollback or cancel took the request back",
        "no_conversation": "the file holds none",
    }
)


_OWN_MODEL: Mapping[str, str] = MappingProxyType(
    {
        "used": "written by the session's own model, out of its provider's cache",
        "no_endpoint": "no key for its provider, or another format than that provider's",
        "other_view": "its provider has not seen this view",
        "cold": "after a silence its provider has forgotten the conversation",
        "no_frame": "its system prompt and tools are not known: give them to view()",
        "not_cached": "the last time it was not read from the cache",
        "no_price": "a price is not known",
        "dearer": "the summarizer is cheaper",
        "failed": "it gave no usable answer",
    }
)


def own_model(why: str) -> str:
    """Whether the session's own model wrote it, or why not, where the policy asks for that."""
    words = _OWN_MODEL.get(why, why)
    return words if why in ("", "used") else f"not by the session's own model: {words}"


def explained(reason: str) -> str:
    """` (code: words)`, as far as there are any."""
    words = _WORDS.get(reason)
    return "" if not reason else f" ({reason})" if words is None else f" ({reason}: {words})"
