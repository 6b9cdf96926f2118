"""The view: what the host sends to the model next."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from offturn.copying import copied
from offturn.request_options import Method, marked, method
from offturn_config.errors import InvalidSetting
from offturn_engine.attachments import resolved
from offturn_engine.compaction import Opaque
from offturn_engine.formats import get
from offturn_engine.formats.anthropic import Anthropic
from offturn_engine.formats.openai_chat import OpenAIChat
from offturn_engine.formats.openai_responses import OpenAIResponses
from offturn_engine.formats.responses import items
from offturn_engine.messages import Json, RawMessage
from offturn_engine.ranges import Ranges

Kind = Literal["raw", "compacted", "emergency"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What one call asks for; None: as the session has it. `generation`: show this one, adopt nothing.

    `urgent`: give way at the hard level already, not only where it does not fit.
    `model`: another than the session's. `lead`: the host's own leading system messages, which go out in place of the recorded ones.
    `allowed`: real tokens of a request, as the provider has it; `most`: estimate of the messages.
    """

    model: str | None = None
    window: int | None = None
    max_output: int | None = None
    format: str | None = None
    system: Json = None
    tools: Json = None
    generation: int | None = None
    urgent: bool = False
    lead: tuple[RawMessage, ...] = ()
    allowed: int | None = None
    most: int | None = None


@dataclass(frozen=True, kw_only=True)  # no slots: see `copying`
class View:
    """Messages ready to send, and what is known about them.

    messages: raw messages in `format`, the session's own unless another was asked for; in the session's own an unedited
    one is the value the host recorded, references to attachments included. Read only
    system: the system prompt given to `view()`; the policy may add a note at its end
    generation: number in force; 0 is the raw transcript
    path: the seq ranges of the log the session shows
    kind: `raw`, `compacted`, or `emergency` (made without a model so that the request fits)
    stale: made without the store, which was away or full, of what this process knows: what other processes did since is
    missing, messages kept meanwhile are in it under provisional seqs, and nothing was committed or adopted. The next view
    is tried with the store again. behind: the host's list is a strict prefix of the session's
    tokens: estimate of the whole request (system and tools included), calibrated; limit: what it may be
    prefix: leading messages that are the same as in the view before (per handle)
    tail_from: index of the first message recorded after the generation was planned; tail_at: its place on the path, so the
    index in a host's own list of all of it
    tail_edits: recorded edits among the shown messages
    held: seconds that this call waited for a compaction, where `hold` was given
    warnings: sentences without content
    """

    messages: Sequence[RawMessage]
    system: Json
    format: str
    generation: int
    path: Ranges
    kind: Kind
    stale: bool = False
    behind: bool = False
    tokens: int
    limit: int
    prefix: int = 0
    tail_from: int = 0
    tail_at: int = 0
    tail_edits: int = 0
    held: float = field(default=0.0, compare=False)
    warnings: tuple[str, ...] = ()
    id: str = ""
    request_options: Mapping[str, Json] = field(default_factory=dict)  # what the policy asks of the provider
    breakpoints: bool = False  # `kwargs()` sets cache breakpoints
    opaque: Opaque | None = field(default=None, repr=False)  # a provider's item for the summary at `opaque_at`
    opaque_at: int = 0
    attachments: Mapping[str, Json] = field(
        default_factory=dict, repr=False, compare=False
    )  # by reference, for `kwargs()`
    estimate: int = field(default=0, repr=False)  # uncalibrated, messages only: what usage is measured against
    declared: int = field(default=0, repr=False)  # uncalibrated, of the system prompt and tools given
    options: Options = field(default=Options(), repr=False, compare=False)  # what the call that made it asked for

    @property
    def method(self) -> Method:
        """The SDK's call that takes `kwargs()`, after `client.`: of anthropic `messages.create`, or `beta.messages.create`
        where the policy asks for beta options; of openai-chat and text-observation `chat.completions.create`, of
        openai-responses `responses.create`, of gemini `models.generate_content`."""
        return method(self.format, self.request_options)

    def kwargs(self) -> dict[str, Any]:
        """Arguments for the provider's SDK call (`method`): the messages, the system prompt where the format has it, and
        what the policy asks of the provider.

        anthropic: `messages`, `system`. openai-chat, text-observation: `messages`. openai-responses: `input`,
        `instructions`. gemini: `contents`, in which neighbours of one role are joined, and `config` with the system
        instruction, to which you add what else you configure.

        They are copies: set cache markers in them as you like, where the policy sets none.
        """
        messages: Sequence[RawMessage] = resolved(self.messages, self.attachments, self.format)
        if self.opaque is not None and self.format == Anthropic.name:
            block = {"role": "assistant", "content": [json.loads(self.opaque.data)]}
            messages = [block, *messages[self.opaque_at + 1 :]]
        elif self.opaque is not None and self.format == OpenAIResponses.name:
            item = json.loads(self.opaque.data)
            messages = [*messages[: self.opaque_at], item, *messages[self.opaque_at + 1 :]]
        request = get(self.format).request(messages, self.system)
        arguments = {name: copied(value) for name, value in {**request, **self.request_options}.items()}
        return marked(arguments) if self.breakpoints else arguments

    def responses_kwargs(self) -> dict[str, Any]:
        """Of a view in `openai-chat`: arguments for `client.responses.create`, for hosts that call that API.

        A compaction item of OpenAI's stands where it may be used (`opaque`), else the ledger that `messages` shows.
        Raises InvalidSetting for another format.
        """
        if self.format != OpenAIChat.name:
            raise InvalidSetting(f"a view in format {self.format!r}: use kwargs()")
        before, after = resolved(self.messages, self.attachments, self.format), list[RawMessage]()
        own: list[Json] = []
        if self.opaque is not None:
            before, after = before[: self.opaque_at], [*before[self.opaque_at + 1 :]]
            own = [json.loads(self.opaque.data)]
        given = get(self.format).request([], self.system)["messages"]
        return {"input": [*items([*given, *before]), *own, *items(after)], "store": False}
