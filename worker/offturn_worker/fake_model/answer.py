"""What the server answers: a summary, or the scripted likeness of a model gone wrong."""

from __future__ import annotations

from offturn_engine.tokens import estimate_text
from offturn_worker.fake_model.behaviour import Behaviour
from offturn_worker.fake_model.summary import summarise
from offturn_worker.fake_model.wire import Answer, Asked, Ending

_JUNK = "## Next Steps []\n" * 40
_PLAIN = "I have looked at it, and it is as you say."  # what is no request for a summary
_ERROR_TEXT = "Error: upstream request failed with status 502. Please try again later."


def compose(asked: Asked, wanted: Behaviour, *, tokens: int, cached: int) -> Answer:
    """The answer to a request of `tokens`, of which `cached` are said to come from the cache."""
    text, ending = _text(asked, wanted)
    return Answer(
        text=text,
        ending=ending,
        input_tokens=tokens,
        cached_tokens=cached,
        output_tokens=min(estimate_text(text), asked.max_tokens),
    )


def _text(asked: Asked, wanted: Behaviour) -> tuple[str, Ending]:
    match wanted.name:
        case "empty":
            return "", "stop"
        case "refusal":
            return "", "refused"
        case "garbage":
            return _JUNK, "stop"
        case "error_text":
            return _ERROR_TEXT, "stop"
        case "longer":
            return f"{summarise(asked.system, asked.content, max_tokens=asked.max_tokens)}\n{asked.content}", "stop"
    if asked.compact:
        return f"A summary of {len(asked.content)} characters.", "stop"
    text = summarise(asked.system, asked.content, max_tokens=asked.max_tokens) or _PLAIN
    match wanted.name:
        case "cut":
            return text[: len(text) // 2], "length"
        case "too_long_late":
            return text[: len(text) // 2], "window"
    over = estimate_text(text) - asked.max_tokens
    return (
        (text, "stop") if over <= 0 else (text[: len(text) * asked.max_tokens // (asked.max_tokens + over)], "length")
    )
