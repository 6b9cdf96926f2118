"""How a policy measures: our estimate, or the rule of thumb the numbers of its original were tuned with.

`bytes4`: UTF-8 bytes / 4 (rule K1). `chars4`: characters / 4 and ten tokens for each message, calls by all they hold,
as Hermes Agent measures what it keeps (rule B1). Both read a third low on code and logs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import ceil
from typing import Literal

from offturn_engine.messages import Json
from offturn_engine.tokens import MESSAGE, Estimate, estimate_message, estimate_text, text_and_frame

Estimator = Literal["calibrated", "bytes4", "chars4"]

PER_TOKEN = 4
FRAME = 10  # chars4: tokens of a message beside its content and calls

_REASONING = ("reasoning", "reasoning_content", "reasoning_details", "codex_reasoning_items", "codex_message_items")


def message_estimate(estimator: Estimator) -> Estimate:
    """How a policy measures a raw message of any format."""
    return _MESSAGES[estimator]


def text_estimate(estimator: Estimator) -> Callable[[str], int]:
    """How a policy measures a text."""
    return _TEXTS[estimator]


def bytes4_message(raw: Json) -> int:
    """UTF-8 bytes of a message's texts / 4, and its frame as `estimate_message` counts it."""
    text, frame = text_and_frame(raw)
    return frame + bytes4_text(text)


def bytes4_text(text: str) -> int:
    """UTF-8 bytes / 4."""
    return ceil(len(text.encode("utf-8", "surrogatepass")) / PER_TOKEN)


def chars4_message(raw: Json) -> int:
    """A message's content, each of its calls, and each kind of its reasoning: characters / 4, rounded down one by one.

    A call counts with its id and name, by the length of its Python text: its escapes are part of the measure.
    """
    if not isinstance(raw, Mapping):
        return FRAME + len(str(raw)) // PER_TOKEN
    if "content" not in raw and "tool_calls" not in raw:  # an item or a content of another dialect
        return FRAME + len(str(raw)) // PER_TOKEN
    calls = raw.get("tool_calls") or ()
    tokens = FRAME + _characters(raw.get("content")) // PER_TOKEN
    tokens += sum(len(str(call)) // PER_TOKEN for call in calls)
    return tokens + sum(_serialised(raw.get(key)) // PER_TOKEN for key in _REASONING)


def chars4_text(text: str) -> int:
    """Characters / 4."""
    return len(text) // PER_TOKEN


def _characters(content: Json) -> int:
    if not isinstance(content, list):
        return len(str(content or ""))
    return sum(_of_part(part) for part in content)


def _of_part(part: Json) -> int:
    text, tokens = text_and_frame(part)
    return len(text) + (tokens - MESSAGE) * PER_TOKEN


def _serialised(value: Json) -> int:
    if value is None or isinstance(value, str):
        return len(value or "")
    return len(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))


_MESSAGES: Mapping[Estimator, Estimate] = {
    "calibrated": estimate_message,
    "bytes4": bytes4_message,
    "chars4": chars4_message,
}
_TEXTS: Mapping[Estimator, Callable[[str], int]] = {
    "calibrated": estimate_text,
    "bytes4": bytes4_text,
    "chars4": chars4_text,
}
