"""A request that was too long for its provider: how to tell, and what the provider says of its sizes.

No SDK is imported. Exceptions of OpenAI's and Anthropic's name the same facts alike (`status_code`, `code` or
`error_code`, `type`, `body`, `message`), Gemini's has its status as `code`. A stopped answer has a `stop_reason`, one of
the Responses API that failed or is incomplete says why in itself, and a plain mapping may be the error's body. What the facts mean is
`offturn_engine.provider_errors`' decision. OpenAI's finish reasons are not looked at: `length` is the answer's own cap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from offturn.usage import Usage
from offturn_config.errors import InvalidSetting
from offturn_config.limits import SMALLEST_WINDOW
from offturn_engine.provider_errors import ProviderProblem, classify

COUNTS = ("n_prompt_tokens", "n_ctx")  # fields of llama.cpp's error


@dataclass(frozen=True, slots=True)
class Overflow:
    """What a provider said about a request that was too long: its tokens, and the window; None where it gave none."""

    tokens: int | None
    window: int | None

    @classmethod
    def of(cls, value: Any) -> Self | None:
        """From an exception or a response of either SDK; None where it is something else."""
        stopped = _get(value, "stop_reason") or _text(_get(_get(value, "incomplete_details"), "reason"))
        said = _said(value) if stopped is None else classify(status=None, code=_text(stopped), wire_type=None, text="")
        if said.kind != "too_long":
            return None
        if stopped is not None:
            used = Usage.from_response(value)
            return cls(used.input_tokens, used.input_tokens + used.output_tokens) if used else cls(None, None)
        # A request above a minute's allowance is counted with the answer it might get.
        tokens = None if _status(value) == 429 else said.tokens
        return cls(tokens or None, said.limit if said.limit and said.limit >= SMALLEST_WINDOW else None)


def is_overflow(error_or_response: Any) -> bool:
    """Does this exception or response of a provider's SDK say that the prompt was too long?

    Both SDKs, compatible servers, and mappings: `{"error": {...}}` or an answer as JSON. An answer that reached its own
    cap (`length`, `max_tokens`) is none.
    """
    return Overflow.of(error_or_response) is not None


def unrecognised(value: Any) -> BaseException:
    """What to raise for something that is no overflow: the same error, or InvalidSetting for a response."""
    if isinstance(value, BaseException):
        return value
    return InvalidSetting(
        f"overflow: a {type(value).__name__} that does not say that the prompt was too long: "
        "ask is_overflow first, or give the SDK's exception"
    )


def _said(value: Any) -> ProviderProblem:
    sources = _sources(value)
    found = [_text(_get(source, "message")) for source in sources]
    if isinstance(value, BaseException):
        found.append(str(value))
    counts = [f"{name}: {n}" for source in sources for name in COUNTS if isinstance(n := _get(source, name), int)]
    return classify(
        status=_status(value),
        code=_first(sources, "error_code", "code"),
        wire_type=_first(sources, "type"),
        text="\n".join([*counts, *dict.fromkeys(filter(None, found))]),
    )


def _sources(value: Any) -> list[Any]:
    """Where an error's facts are, the innermost first; nothing for an answer."""
    body = _get(value, "body") if isinstance(value, BaseException) else value
    inner = _get(body, "error")
    outer = [body, value] if isinstance(value, BaseException) else []
    return [source for source in (inner, *outer) if source is not None]


def _status(value: Any) -> int | None:
    places = ((value, "status_code"), (value, "status"), (value, "code"), (_get(value, "response"), "status_code"))
    for source, name in places:
        if isinstance(status := _get(source, name), int):
            return status
    return None


def _first(sources: list[Any], *names: str) -> str | None:
    return next((text for source in sources for name in names if (text := _text(_get(source, name)))), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
