"""What a model call cost in tokens, from whatever the host has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call; `input_tokens` includes `cached_tokens`."""

    input_tokens: int
    output_tokens: int = 0
    cached_tokens: int = 0

    @classmethod
    def from_response(cls, value: Any) -> Usage | None:
        """Usage of a response, a usage object or a mapping of either SDK; None where it holds none.

        OpenAI's input counts cached tokens already; Anthropic's excludes what was read from and written to the cache.
        """
        if value is None or isinstance(value, Usage):
            return value
        usage = _get(value, "usage") or value
        if _get(usage, "prompt_tokens") is not None:
            cached = _get(_get(usage, "prompt_tokens_details"), "cached_tokens")
            return cls(_int(_get(usage, "prompt_tokens")), _int(_get(usage, "completion_tokens")), _int(cached))
        if _get(usage, "input_tokens") is None:
            return None
        details = _get(usage, "input_tokens_details")
        if details is not None:
            cached = _int(_get(details, "cached_tokens"))
            return cls(_int(_get(usage, "input_tokens")), _int(_get(usage, "output_tokens")), cached)
        read, written = _int(_get(usage, "cache_read_input_tokens")), _int(_get(usage, "cache_creation_input_tokens"))
        return cls(_int(_get(usage, "input_tokens")) + read + written, _int(_get(usage, "output_tokens")), read)


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0
