"""The view: what the host sends to the model next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from offturn.copying import copied
from offturn_engine.formats import get
from offturn_engine.messages import Json, RawMessage
from offturn_engine.ranges import Ranges

Kind = Literal["raw", "compacted", "emergency"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What one call asks for; None: as the session has it. `generation`: show this one, adopt nothing.

    `urgent`: give way at the hard level already, not only where it does not fit.
    `lead`: the host's own leading system messages, which go out in place of the recorded ones.
    `allowed`: real tokens of a request, as the provider has it; `most`: estimate of the messages.
    """

    window: int | None = None
    max_output: int | None = None
    system: Json = None
    tools: Json = None
    generation: int | None = None
    urgent: bool = False
    lead: tuple[RawMessage, ...] = ()
    allowed: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Messages ready to send, and what is known about them.

    messages: raw messages in the session's format; an unedited one is the value the host recorded. Read only
    system: the system prompt given to `view()`, passed through
    generation: number in force; 0 is the raw transcript
    path: the seq ranges of the log the session shows
    kind: `raw`, `compacted`, or `emergency` (made without a model so that the request fits)
    stale: made without the store, which was away or full, of what this process knows: what other processes did since is
    missing, messages kept meanwhile are in it under provisional seqs, and nothing was committed or adopted. The next view
    is tried with the store again. behind: the host's list is a strict prefix of the session's
    tokens: estimate of the whole request (system and tools included), calibrated; limit: what it may be
    prefix: leading messages that are the same as in the view before (per handle)
    tail_from: index of the first message recorded after the generation was planned
    tail_edits: recorded edits among the shown messages
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
    tail_edits: int = 0
    warnings: tuple[str, ...] = ()
    id: str = ""
    estimate: int = field(default=0, repr=False)  # uncalibrated, messages only: what usage is measured against
    declared: int = field(default=0, repr=False)  # uncalibrated, of the system prompt and tools given
    options: Options = field(default=Options(), repr=False, compare=False)  # what the call that made it asked for

    def kwargs(self) -> dict[str, Any]:
        """Arguments for the provider's SDK call: `messages`, and `system` where the format has it apart.

        They are copies: set cache markers in them as you like.
        """
        return {name: copied(value) for name, value in get(self.format).request(self.messages, self.system).items()}
