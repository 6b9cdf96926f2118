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
        """Usage of a response, a usage object or a mapping of any of the SDKs; None where it holds none.

        OpenAI's and Gemini's input counts cached tokens already; Anthropic's excludes what was read from and written to
        the cache. Gemini's output includes its thoughts.
        """
        if value is None or isinstance(value, Usage):
            return value
        usage = _get(value, "usage") or _either(value, "usage_metadata", "usageMetadata") or value
        if (asked := _either(usage, "prompt_token_count", "promptTokenCount")) is not None:
            said = _int(_either(usage, "candidates_token_count", "candidatesTokenCount"))
            thought = _int(_either(usage, "thoughts_token_count", "thoughtsTokenCount"))
            cached = _either(usage, "cached_content_token_count", "cachedContentTokenCount")
            return cls(_int(asked), said + thought, _int(cached))
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


def _either(value: Any, *names: str) -> Any:
    return next((found for name in names if (found := _get(value, name)) is not None), None)


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0
