"""The compaction: the immutable, self-contained record of one generation over the raw log.

`render(path, compaction)` needs nothing but this record and the log. Stored as JSON with `v`; unknown fields of a known
major are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from offturn_engine.messages import Edit
from offturn_engine.ranges import Ranges

VERSION = 1

Method = Literal["model", "extractive", "prune", "remote", "imported"]
"""Who made it: a summarizer, code alone, pruning, a provider's endpoint, or the host that kept the session before."""
Placement = Literal["first", "last"]
Reason = Literal["threshold", "phase", "manual", "overflow", "idle"]
SummaryRole = Literal["user", "alternating"]


class Record(BaseModel):
    """Base of everything stored: frozen, tolerant of fields a newer minor version added."""

    model_config = ConfigDict(frozen=True, extra="ignore")


FactKind = Literal[
    "file", "command", "error", "constraint", "call", "preference", "decision", "next", "value", "todo", "identifier"
]


class LedgerItem(Record):
    """One fact taken from the transcript by code.

    `key` identifies it (a path, a command, an error's first line); a later item of the same kind and key replaces an
    earlier one. `text` is the line shown after the key; `seq` is where it was last seen.
    """

    kind: FactKind
    key: str
    text: str
    seq: int
    count: int = 1


class PhaseEnd(Record):
    """The host said that a phase was over: at the last message that the path had then, and what it said of it."""

    seq: int
    note: str


class HumanItem(Record):
    """What a human wrote in one covered message; `text` is verbatim. `answered`: an assistant replied later."""

    seq: int
    text: str
    answered: bool = True
    media: int = 0


class Sections(Record):
    """What the summarizer wrote, by section title in the order of `template`; empty where no model was asked."""

    titles: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    template: str = "nine-section"

    def items(self) -> list[tuple[str, str]]:
        """(title, body) pairs."""
        return list(zip(self.titles, self.bodies, strict=True))


class Spent(Record):
    """Summarizer calls of one compaction. Tokens as the provider reported them; input includes cached.

    prefix_tokens: estimate of what repeated the host's own request, for the provider's cache; 0: nothing did.
    """

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    milliseconds: int = 0
    prefix_tokens: int = 0

    def plus(self, other: Spent) -> Spent:
        """Both."""
        return Spent(**{name: getattr(self, name) + getattr(other, name) for name in Spent.model_fields})


class Restore(Record):
    """What a covered message holds, shown again after the summary: one result or argument of a call, or a whole text.

    `name`: the file's path or the skill's name. `characters` of its text are shown, `tokens` is what that message costs.
    `changed`: seq of a later change of the file; -1 where none is known.
    """

    seq: int
    part: int
    kind: Literal["file", "skill", "host"]
    name: str
    characters: int
    tokens: int
    changed: int = -1


class Opaque(Record):
    """A provider's own compaction item, as it came. Only `model` (`provider:name`) can use it; `data` is its JSON."""

    provider: str
    model: str
    data: str


class Economics(Record):
    """What a compaction cost and saves, US dollars at the prices known when it was made; None: unknown.

    cost: of the summarizer's calls. lost_prefix: of the first request after it, which the cache does not hold. saving: of
    each later request. break_even: requests until cost and lost prefix are paid for; None also where that never is.
    after_20: savings of 20 requests less cost and lost prefix.
    """

    cost: float | None = None
    lost_prefix: float | None = None
    saving: float | None = None
    break_even: int | None = None
    after_20: float | None = None


UNPRICED = Economics()
NO_SECTIONS = Sections()
NOTHING_SPENT = Spent()


Verdict = Literal["kept", "recoverable", "lost", "mutated"]
"""What became of a fact; see `offturn_engine.audit`."""


class KindAudit(Record):
    """The verdicts on all facts of one kind, counted."""

    kind: str
    kept: int = 0
    recoverable: int = 0
    lost: int = 0
    mutated: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.kept + self.recoverable + self.lost + self.mutated


class NotKept(Record):
    """A fact that the view does not show as it is, by where it was last seen."""

    kind: str
    seq: int
    verdict: Verdict


class Audit(Record):
    """What became of the covered facts: counts of ledger items and human messages.

    Not audited, as in an emergency: no `kinds`, `kept` and `recoverable` count what the ledger's text lists and leaves
    out. not_kept: the gravest first, bounded.
    """

    kept: int = 0
    recoverable: int = 0
    lost: int = 0
    mutated: int = 0
    human_verbatim: int = 0
    human_cut: int = 0
    human_by_handle: int = 0
    kinds: tuple[KindAudit, ...] = ()
    not_kept: tuple[NotKept, ...] = ()


class ViewRecord(Record):
    """What a view reads of a generation. `number`, `nonce` and `replaces` are given by the store at commit."""

    v: int = VERSION
    number: int = 0
    nonce: str = ""
    base: int = 0
    replaces: int = 0
    covered: Ranges = ()  # seqs the summary accounts for
    edits: tuple[Edit, ...] = ()  # of visible messages only
    summary: str = ""  # the whole text of the summary message; "" where nothing is covered
    placement: Placement = "first"  # where the summary stands among the covered messages
    replay: int | None = None  # seq of the covered, unanswered human message shown right after the summary
    role: SummaryRole = "user"
    system_note: str = ""  # put at the end of the system prompt, from the first compaction on
    pinned: tuple[int, ...] = ()  # seqs of covered messages shown again as they are, before the restores
    restores: tuple[Restore, ...] = ()  # oldest first; of covered messages only
    opaque: Opaque | None = None  # stands for exactly `covered`
    seen: int = 0  # log length it was planned on; the last seq it covers or edits is below
    provisional: bool = False
    method: Method = "prune"
    reason: Reason = "threshold"
    policy: str = ""  # Policy.hash
    model: str = ""
    format: str = ""
    tokens_before: int = Field(default=0, description="estimate of the base's view, uncalibrated")
    tokens_after: int = Field(default=0, description="estimate of this view at `seen`, uncalibrated")
    over_target: bool = False
    spent: Spent = NOTHING_SPENT
    concessions: dict[str, int] = Field(
        default_factory=dict, description="what gave way so that the view fits, counted"
    )
    at: int = 0  # ms since the epoch, by the store's clock


class Compaction(ViewRecord):
    """One generation: beside what its view reads, what later ones are made from, and what is told of it.

    This part grows with what is covered. A new field goes here, unless a view cannot do without it.
    """

    sections: Sections = NO_SECTIONS
    ledger: tuple[LedgerItem, ...] = ()  # of the kinds that every release of this major knows
    stated: tuple[LedgerItem, ...] = ()  # of the other kinds: who does not know them passes them over
    phases: tuple[PhaseEnd, ...] = ()  # told so far, oldest first
    human: tuple[HumanItem, ...] = ()  # every human message of the covered ranges
    audit: Audit = Audit()
    economics: Economics = UNPRICED

    @property
    def facts(self) -> tuple[LedgerItem, ...]:
        """All of the ledger, ordered by seq as far as it was stored so."""
        return tuple(sorted((*self.ledger, *self.stated), key=lambda item: item.seq))


FIRST_KINDS: frozenset[FactKind] = frozenset({"file", "command", "error", "constraint", "call"})
"""Kinds of `Compaction.ledger`: a reader of an older release refuses a record with any other there."""


def stored(facts: Iterable[LedgerItem]) -> dict[str, tuple[LedgerItem, ...]]:
    """The fields of a compaction that hold these facts."""
    every = tuple(facts)
    return {
        "ledger": tuple(item for item in every if item.kind in FIRST_KINDS),
        "stated": tuple(item for item in every if item.kind not in FIRST_KINDS),
    }


NOTHING = Compaction()
"""Generation 0: the raw transcript."""
