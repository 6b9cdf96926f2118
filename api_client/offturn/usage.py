"""What a model call cost in tokens, from whatever the host has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from offturn_config.errors import InvalidSetting

MOST = 10**13  # the store counts no further


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call; `input_tokens` includes `cached_tokens`. Raises InvalidSetting for what is no number of them."""

    input_tokens: int
    output_tokens: int = 0
    cached_tokens: int = 0

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens", "cached_tokens"):
            if not _counts(value := getattr(self, name)):
                raise InvalidSetting(f"usage: {name} {value!r:.40}: use a whole number of tokens from 0")

    @classmethod
    def from_response(cls, value: Any) -> Usage | None:
        """Usage of a response, a usage object or a mapping of any of the SDKs; None where it holds none that can be.

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
            return cls.told(asked, said + thought, cached)
        if (asked := _get(usage, "prompt_tokens")) is not None:
            cached = _get(_get(usage, "prompt_tokens_details"), "cached_tokens")
            return cls.told(asked, _get(usage, "completion_tokens"), cached)
        asked, said = _get(usage, "input_tokens"), _get(usage, "output_tokens")
        details = _get(usage, "input_tokens_details")
        if details is not None or not _counts(asked):
            return cls.told(asked, said, _get(details, "cached_tokens"))
        read, written = _int(_get(usage, "cache_read_input_tokens")), _int(_get(usage, "cache_creation_input_tokens"))
        return cls.told(asked + read + written, said, read)

    @classmethod
    def told(cls, asked: object, said: object = 0, cached: object = 0) -> Usage | None:
        """Of numbers that others counted: None where the input's is none, 0 in the place of the others that are none."""
        return cls(asked, _int(said), _int(cached)) if _counts(asked) else None


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _either(value: Any, *names: str) -> Any:
    return next((found for name in names if (found := _get(value, name)) is not None), None)


def _int(value: Any) -> int:
    return value if _counts(value) else 0


def _counts(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
