"""The audit: what became of each fact of the ledger in the view that a generation makes.

kept         the view shows it: word for word, or a passage that holds its names, its amounts and most of its words
recoverable  the view does not, but names its message by handle or by range, and that message holds it
lost         neither
mutated      the summary's prose says something else of it: another amount, file or name, or the opposite

`mutated` counts also where the fact stands beside it: such a view contradicts itself. Presence in a text is necessary for
being known to a model, not sufficient. Linear in the size of the view; the ledger is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from offturn_config.groups import Audit as Rules
from offturn_engine.compaction import Audit, Compaction, KindAudit, LedgerItem, NotKept, Verdict
from offturn_engine.contradictions import contradictions, said
from offturn_engine.draft import SUMMARY_HEAD, Candidate
from offturn_engine.formats import parse_all
from offturn_engine.formats.base import Format
from offturn_engine.groups import pair
from offturn_engine.handles import handle
from offturn_engine.messages import Message
from offturn_engine.ranges import contains, inside, ranges_of
from offturn_engine.render import render
from offturn_engine.statements import Statement, statement, words_of
from offturn_engine.transcript_text import clean
from offturn_engine.visible import Visible, told_by, words

LISTED = 100
"""Facts that a record lists as not kept."""

KEYED = frozenset({"file", "command", "call", "error", "todo", "identifier"})
"""Kinds that are looked for by their key; the text of the others is a sentence."""

LITERAL = frozenset({"file", "command", "call", "identifier"})
"""Kinds that have no other words."""

LONGEST = 1_000  # characters of a fact that are compared
MOST_OF = 0.7  # of a fact's words, in a passage that tells it
FEW = 2  # words that no other fact has, and that then have to be there
HELD = 0.8  # of a fact's words, in the message that holds it
CUT = "\u2026"

_GRAVITY: Sequence[Verdict] = ("mutated", "lost", "recoverable")


class Fact(NamedTuple):
    """A fact as it is looked for. `told`: None of a literal one. `own`: stems that no other fact has."""

    item: LedgerItem
    text: str
    words: tuple[str, ...]
    told: Statement | None
    own: frozenset[str]


def audited(candidate: Candidate) -> Candidate:
    """The candidate with its audit in the record."""
    record, draft = candidate.compaction, candidate.draft
    items = candidate.account.facts if record.covered else ()
    if not items:
        return candidate
    view = parse_all(draft.fmt, candidate.rendering.messages)
    verdicts = judge(items, view, record, draft.path)
    audit = tally(items, verdicts, record.audit)
    return replace(candidate, compaction=record.model_copy(update={"audit": audit}))


def audit_of(record: Compaction, path: Sequence[Message], fmt: Format) -> Audit | None:
    """The audit of a record that was committed without one, over the view it made then.

    Log and record never change, so it is what it would have been. None where there is nothing to audit, or the path no
    longer holds all that is covered.
    """
    then = [message for message in path if message.seq < record.seen]
    if not record.covered or not record.facts or not inside(record.covered, ranges_of(m.seq for m in then)):
        return None
    view = parse_all(fmt, render(then, record, fmt).messages)
    return tally(record.facts, judge(record.facts, view, record, then), record.audit)


def judge(
    items: Sequence[LedgerItem], view: Sequence[Message], record: Compaction, path: Sequence[Message]
) -> list[Verdict]:
    """One verdict per fact. `view`: the messages that are shown; `path`: those that handles lead to."""
    facts, stems = _facts(items)
    visible = Visible(view, stems)
    changed = _changed(facts, record, path)
    holding = _Holding(path)
    told = SUMMARY_HEAD in record.summary
    found: list[Verdict] = []
    for i, fact in enumerate(facts):
        seq = fact.item.seq
        reached = visible.names(seq) or (told and contains(record.covered, seq))
        if i in changed:
            found.append("mutated")
        elif _kept(fact, visible):
            found.append("kept")
        else:
            found.append("recoverable" if reached and holding.holds(seq, fact.words) else "lost")
    return found


def tally(items: Sequence[LedgerItem], verdicts: Sequence[Verdict], before: Audit) -> Audit:
    """`before` with the counts, and the gravest of what is not kept, the newest first."""
    counted = Counter((item.kind, verdict) for item, verdict in zip(items, verdicts, strict=True))
    total = Counter(verdicts)
    missing = [NotKept(kind=i.kind, seq=i.seq, verdict=v) for i, v in zip(items, verdicts, strict=True) if v != "kept"]
    missing.sort(key=lambda one: (_GRAVITY.index(one.verdict), -one.seq, one.kind))
    kinds = tuple(
        KindAudit(
            kind=kind,
            kept=counted[kind, "kept"],
            recoverable=counted[kind, "recoverable"],
            lost=counted[kind, "lost"],
            mutated=counted[kind, "mutated"],
        )
        for kind in sorted({item.kind for item in items})
    )
    return before.model_copy(
        update={
            "kept": total["kept"],
            "recoverable": total["recoverable"],
            "lost": total["lost"],
            "mutated": total["mutated"],
            "kinds": kinds,
            "not_kept": tuple(missing[:LISTED]),
        }
    )


def short(audit: Audit, rules: Rules) -> frozenset[str]:
    """The kinds of which less than the policy's share is kept or recoverable."""
    return frozenset(
        one.kind
        for one in audit.kinds
        if one.kept + one.recoverable < one.total * (rules.constraints if one.kind == "constraint" else rules.others)
    )


def missing(candidate: Candidate, kinds: frozenset[str]) -> list[LedgerItem]:
    """The facts of these kinds that are lost or mutated, as far as the record lists them, in the ledger's order."""
    gone = {(one.kind, one.seq) for one in candidate.compaction.audit.not_kept if one.verdict != "recoverable"}
    return [item for item in candidate.account.facts if item.kind in kinds and (item.kind, item.seq) in gone]


def handed_back(facts: Iterable[LedgerItem]) -> str:
    """Facts as the records of a transcript, for a summarizer that has to put them right."""
    return "".join(
        f"[{handle(item.seq)} {'tool' if item.kind in KEYED else 'human'}]\n"
        f"- {clean(f'{item.key}: {item.text}' if item.kind in KEYED else item.text)}\n\n"
        for item in facts
    )


def _facts(items: Sequence[LedgerItem]) -> tuple[list[Fact], frozenset[str]]:
    """The facts, and the stems of all of them."""
    ends = _ends([words(item.key) for item in items if item.kind == "file"])
    texts = [item.key if item.kind in KEYED else item.text for item in items]
    told = [
        None if item.kind in LITERAL else statement(text[:LONGEST]) for item, text in zip(items, texts, strict=True)
    ]
    stems = [one.words if one else words_of(text[:LONGEST]) for one, text in zip(told, texts, strict=True)]
    times = Counter(stem for each in stems for stem in each)
    found: list[Fact] = []
    for item, text, one, each in zip(items, texts, told, stems, strict=True):
        looked = _whole_words(text)
        if item.kind == "file":
            looked = list(next(end for end in _suffixes(looked) if ends[end] == 1 or len(end) == len(looked)))
        found.append(Fact(item, text, tuple(looked), one, frozenset(s for s in each if times[s] == 1)))
    return found, frozenset(times)


def _whole_words(text: str) -> list[str]:
    """The words of a fact, without the one that its cut went through: the message holds that in full."""
    if not text.endswith(CUT):
        return words(text)
    whole, blank, _ = text.removesuffix(CUT).rpartition(" ")
    return words(whole) if blank else words(text)[:-1]


def _ends(paths: Iterable[list[str]]) -> Mapping[tuple[str, ...], int]:
    """How many paths end so."""
    return Counter(end for path in paths for end in _suffixes(path))


def _suffixes(path: list[str]) -> list[tuple[str, ...]]:
    """The ends of a path, the shortest first: a name and its ending are one."""
    return [tuple(path[-n:]) for n in range(min(2, len(path)), len(path) + 1)] or [()]


def _kept(fact: Fact, visible: Visible) -> bool:
    if visible.shows(fact.words):
        return True
    one = fact.told
    if one is None or not one.words:
        return False
    own = fact.own if len(fact.own) <= FEW else frozenset[str]()
    return any(
        own <= passage.bag
        and one.names <= passage.names
        and _amounts_in(one, passage)
        and one.negative == passage.negative
        for passage in visible.passages(one.bag, MOST_OF)
    )


def _amounts_in(one: Statement, passage: Statement) -> bool:
    if one.numbers <= passage.numbers:
        return True
    whole = len(one.amounts) >= len(one.numbers)
    return whole and all(any(mine.same(there) for there in passage.amounts) for mine in one.amounts)


def _changed(facts: Sequence[Fact], record: Compaction, path: Sequence[Message]) -> set[int]:
    """The facts of which the prose says something else."""
    prose = "\n\n".join(body for body in record.sections.bodies if body.strip())
    stated = [i for i, fact in enumerate(facts) if fact.item.kind not in KEYED]
    if not prose or not stated:
        return set()
    humans = said(item.text for item in record.human)
    source = "\n".join(told_by(m) for m in path if contains(record.covered, m.seq))
    texts = {humans[found.said].text for found in contradictions(prose, humans, source)}
    return {i for i in stated if any(text in facts[i].text for text in texts)}


class _Holding:
    """Which messages hold what, the call of a result with it."""

    def __init__(self, path: Sequence[Message]) -> None:
        self._path = path
        self._at = {message.seq: i for i, message in enumerate(path)}
        self._calls = pair(path).call_of
        self._words: dict[int, frozenset[str]] = {}

    def holds(self, seq: int, looked: Sequence[str]) -> bool:
        if seq not in self._at:
            return False
        if seq not in self._words:
            at = self._at[seq]
            calls = {self._calls[at, part][0] for part, _ in self._path[at].results if (at, part) in self._calls}
            self._words[seq] = frozenset(w for i in (at, *calls) for w in words(told_by(self._path[i])))
        known = self._words[seq]
        return sum(word in known for word in looked) >= HELD * len(looked)
