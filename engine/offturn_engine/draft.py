"""A draft: what a generation will hold, before its text is written. Giving way changes a draft, never a text.

`assemble` writes the summary message of a draft: the model's sections, the ledger and the human messages, the last two
always by code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TypeAlias

from offturn_config.groups import Human
from offturn_config.limits import UNLIMITED
from offturn_engine.boundaries import Split
from offturn_engine.compaction import (
    NO_SECTIONS,
    NOTHING_SPENT,
    Audit,
    Compaction,
    HumanItem,
    LedgerItem,
    Method,
    Opaque,
    PhaseEnd,
    Reason,
    Restore,
    Sections,
    Spent,
    SummaryRole,
    stored,
)
from offturn_engine.formats.base import Format
from offturn_engine.human import HumanBlock, Shown, human_items
from offturn_engine.human import render as render_human
from offturn_engine.ledger import Fold, LedgerBlock, bounded, fold, in_use, ledger, merge, phases
from offturn_engine.ledger import render as render_ledger
from offturn_engine.messages import Edit
from offturn_engine.path import Path
from offturn_engine.pins import again
from offturn_engine.ranges import Ranges, contains, label, minus, union
from offturn_engine.render import Rendering, render
from offturn_engine.templates import ALL_USER_MESSAGES, template_of
from offturn_engine.turns import humans, waiting_in

SUMMARY_HEAD = "[Summary of messages "
SUMMARY_TELLS = " of this conversation. It tells what already happened; it is not a new request."
SUMMARY_END = "[End of the summary]"
FACTS_TITLE = "Facts, taken from the messages by code"
HUMAN = Human(budget=0)
HUMAN_TITLE = "What the human wrote, word for word"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A candidate generation over a path. Budgets are in estimate units."""

    path: Path
    fmt: Format
    base: Compaction
    split: Split | None  # None: nothing more is covered than the base covers
    edits: tuple[Edit, ...]
    human_budget: int
    ledger_budget: int
    system_budget: int
    method: Method
    reason: Reason
    policy: str
    target: int
    tokens_before: int
    measure: Callable[[str], int]  # of texts, as the policy measures
    head: int = 0  # messages after the system prompt that stay
    keep_human: int = 0  # room for human messages that stay where they are, newest first
    human_rules: Human = HUMAN
    lead_in: str = ""  # before the summary
    system_note: str = ""
    role: SummaryRole = "user"
    opaque: Opaque | None = None  # for what `split` covers and nothing else
    phases: tuple[PhaseEnd, ...] = ()  # that the host told
    restores: tuple[Restore, ...] = ()  # of what the base or the draft covers, oldest first
    sections: Sections = NO_SECTIONS
    spent: Spent = NOTHING_SPENT
    model: str = ""
    provisional: bool = False
    concessions: Mapping[str, int] = field(default_factory=dict)

    def conceding(self, name: str, count: int, **changes: object) -> Draft:
        """The draft after giving way once more."""
        counted = {**self.concessions, name: self.concessions.get(name, 0) + count}
        return replace(self, concessions=counted, **changes)  # type: ignore[arg-type]


Told: TypeAlias = tuple[HumanBlock, LedgerBlock]


@dataclass(frozen=True)
class Account:
    """What code says about the covered messages; the same for every draft with the `split` of this one.

    `told`: the texts already made of it, by all that decides them. `quoted`: what was measured of `human`.
    """

    draft: Draft = field(repr=False, compare=False)
    facts: tuple[LedgerItem, ...]
    human: tuple[HumanItem, ...]
    told: dict[tuple[object, ...], Told] = field(default_factory=dict, repr=False, compare=False)
    quoted: dict[int, Shown] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def used(self) -> frozenset[tuple[str, str]]:
        """The facts that what stays visible speaks of: asked for only where not all of them are shown."""
        stays = self.draft.path.without(covered_by(self.draft))
        return in_use(self.facts, [m for m in stays if m.role != "system"])

    @cached_property
    def folded(self) -> tuple[Fold, ...]:
        """Finished phases."""
        over = phases(self.draft.path, self.draft.phases)
        return fold(self.facts, over, used=self.used, measure=self.draft.measure) if over else ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finished draft: the record to store, the view it makes, and the account behind its texts."""

    draft: Draft
    compaction: Compaction
    rendering: Rendering
    account: Account


def account(draft: Draft) -> Account:
    """Ledger and human messages of all that the draft covers."""
    base, covered = draft.base, covered_by(draft)
    fresh = draft.path.within(minus(covered, base.covered))
    facts = bounded(merge(base.facts, ledger(fresh))) if fresh else base.facts
    return Account(draft, facts, human_items(draft.path, covered))


def covered_by(draft: Draft) -> Ranges:
    """What the base covers and the draft adds."""
    return union(draft.base.covered, draft.split.cover) if draft.split else draft.base.covered


def floor(draft: Draft) -> int:
    """Tokens of the draft's view without a summary: no text can make it smaller."""
    return render(draft.path, _record(draft), draft.fmt).tokens


def human_tokens(draft: Draft) -> int:
    """Tokens of all human messages the draft covers, word for word, measured as the policy measures views."""
    return draft.fmt.estimate(draft.fmt.user(render_human(account(draft).human, budget=UNLIMITED).text))


def assemble(draft: Draft, known: Account | None = None) -> Candidate:
    """The record and view of a draft; `known` spares the account where only texts and edits changed."""
    told = known if known and known.draft.split is draft.split else account(draft)
    bare = _record(draft)
    skip = bare.pinned if bare.replay is None else (*bare.pinned, bare.replay)
    block, listed = _told(draft, told, skip)
    sections = draft.sections if draft.sections.titles else draft.base.sections
    audit = Audit(
        kept=listed.kept,
        recoverable=listed.recoverable,
        human_verbatim=block.verbatim,
        human_cut=block.cut,
        human_by_handle=block.by_handle,
    )
    in_section = draft.human_rules.placement == "section"
    summary = _text(label(bare.covered), sections, listed.text, block.text, in_section) if bare.covered else ""
    summary = f"{draft.lead_in}\n\n{summary}" if draft.lead_in and summary else summary
    told_of = {"summary": summary, "sections": sections, "human": told.human, "audit": audit, **stored(told.facts)}
    record = bare.model_copy(update=told_of)
    rendering = render(draft.path, record, draft.fmt)
    after = rendering.tokens
    bare_size = after - sum(item.tokens for item in rendering.items if item.kind == "restore")
    sized = record.model_copy(update={"tokens_after": after, "over_target": bare_size > draft.target})
    return Candidate(draft, sized, rendering, told)


def _told(draft: Draft, account: Account, skip: tuple[int, ...]) -> Told:
    """The human words and the ledger of an account, in the room the draft gives them."""
    room, order, measure = _block_budget(draft), draft.human_rules.order, draft.measure
    known = room, draft.ledger_budget, order, skip
    if known not in account.told:
        block = render_human(account.human, budget=room, skip=skip, order=order, measure=measure, known=account.quoted)
        budget = with_freed(draft.ledger_budget, block.freed)
        listed = render_ledger(
            account.facts,
            budget=budget,
            folded=account.folded if budget > 0 else (),  # without room no phase has a line
            used=lambda: account.used,
            quoted=block.quoted,
            measure=measure,
        )
        account.told[known] = block, listed
    return account.told[known]


def with_freed(budget: int, freed: int) -> int:
    """Room for facts: with what repeated human words left of theirs, where there is to be a ledger at all."""
    return budget + freed if budget > 0 else budget


def _block_budget(draft: Draft) -> int:
    """Room for human messages in the summary: where some stay as messages before it, what these leave."""
    if draft.human_rules.placement != "messages" or draft.split is None:
        return draft.human_budget
    covered = covered_by(draft)
    said = (draft.path[i] for i in humans(draft.path) if i < draft.split.tail)
    return draft.human_budget - sum(m.tokens for m in said if not contains(covered, m.seq))


def _record(draft: Draft) -> Compaction:
    """The record without what is told about the covered messages."""
    covered, replay = covered_by(draft), waiting_in(draft.path, covered_by(draft))
    return Compaction(
        base=draft.base.number,
        covered=covered,
        edits=tuple(e for e in draft.edits if not contains(covered, e.seq) or e.seq == replay),
        placement="last" if draft.human_rules.placement == "messages" else "first",
        replay=replay,
        role=draft.role,
        system_note=draft.system_note if covered else "",
        pinned=again(draft.path, covered),
        phases=draft.phases,
        restores=draft.restores,
        opaque=draft.opaque if draft.split else draft.base.opaque,
        seen=draft.path.last_seq + 1,
        provisional=draft.provisional,
        method=draft.method,
        reason=draft.reason,
        policy=draft.policy,
        model=draft.model,
        format=draft.fmt.name,
        tokens_before=draft.tokens_before,
        spent=draft.spent,
        concessions=dict(draft.concessions),
    )


def _text(covered: str, sections: Sections, facts: str, human: str, in_section: bool) -> str:
    head = (
        f"{SUMMARY_HEAD}{covered}{SUMMARY_TELLS} A handle such as m12 names a message whose full text can be recalled.]"
    )
    template = template_of(sections)
    bodies = dict(sections.items())
    own = in_section and bool(bodies) and ALL_USER_MESSAGES in template.by_code
    if own:
        bodies[ALL_USER_MESSAGES] = escape(human, quote=False)  # `html.unescape` gives it back
    written = template.write([(title, bodies[title]) for title in template.titles if bodies.get(title, "").strip()])
    parts = [head, written] if written else [head]
    if facts:
        parts.append(f"## {FACTS_TITLE}\n{facts}")
    if human and not own:
        parts.append(f"## {HUMAN_TITLE}\n{human}")
    return "\n\n".join([*parts, SUMMARY_END])
