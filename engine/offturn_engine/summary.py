"""What is asked of a summarizer and what it answers: two values, so that the seam to every provider is one method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from offturn_engine.messages import Json, RawMessage

Finish = Literal["stop", "length", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The beginning of a host's own request, in the words of the SDK of its format; `tokens`: estimate of all of it."""

    messages: tuple[RawMessage, ...] = field(repr=False)
    system: Json = field(repr=False)  # None where the format has it among the messages
    tools: Json = field(repr=False)
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """One model call. `content` holds the fenced transcript text first and the instructions after it.

    With a `prefix` the transcript is that, as the host sends it, and `content` the instructions, as a last user message.

    `max_output_tokens` is sent to the provider as a cap: a cut answer is a failure, never a summary.
    `source` is the text every path, URL and number of the answer must come from (transcript and previous summary).
    """

    system: str
    content: str
    max_output_tokens: int
    titles: tuple[str, ...]
    source: str = field(repr=False)
    key: str  # hash(text, previous summary, prompt version, budget): under it a paid result is kept
    template: str = "nine-section"
    prefix: Prefix | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryReply:
    """The answer. Tokens as the provider reported them; input includes cached."""

    text: str = field(repr=False)
    finish: Finish
    model: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    milliseconds: int = 0
