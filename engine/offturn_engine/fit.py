"""It fits (invariant 11): a draft gives way in a fixed order until its view is within the limit.

Order: restores, the oldest first, ledger detail, tail results to stubs, tail messages down to the current turn and then into it (the request is
replayed), the head behind the system prompt, long texts that are not human middle-cut, human messages middle-cut and at last by handle, system messages
that are not the first ones, pinned messages, the oldest first. Never: the last unanswered human message, pinned constraints. Each concession is counted;
facts and human words that gave way in vain are given back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from offturn_config.groups import Prune
from offturn_engine.boundaries import at
from offturn_engine.draft import Candidate, Draft, assemble, floor
from offturn_engine.errors import CannotFit
from offturn_engine.groups import pending
from offturn_engine.invariants import legal_cut_points
from offturn_engine.media import without_encoded
from offturn_engine.messages import Edit, Message, TextPart
from offturn_engine.path import Path
from offturn_engine.pins import GAVE_WAY, marked, pinned
from offturn_engine.prune import pressed, prune
from offturn_engine.ranges import length
from offturn_engine.turns import humans, last_unanswered

LEDGER = ("ledger_detail",)
HUMAN = ("human_budget", "human_by_handle")
LONG_TEXT = 4_000  # characters of a text that is not human, kept when everything else gave way


def concede(draft: Draft, limit: int, policy: Prune) -> Candidate:
    """The first candidate within `limit` (estimate units). Raises CannotFit with the smallest size reached."""
    made: Candidate | None = None
    step = draft
    sizes: list[int] = []
    for step in concessions(draft, policy):
        if floor(step) <= limit:
            made = assemble(step, made.account if made else None)
            sizes.append(made.rendering.tokens)
            if sizes[-1] <= limit:
                return _given_back(made, draft, limit)
    raise CannotFit(min(sizes or [assemble(step).rendering.tokens]), limit)


def _given_back(made: Candidate, draft: Draft, limit: int) -> Candidate:
    """With the human words and facts that gave way in vain: what gave way after them may have been enough alone."""
    given = made.draft
    if given.split is draft.split and given.edits == draft.edits and given.human_budget == draft.human_budget:
        return made
    for back in (LEDGER + HUMAN, HUMAN, LEDGER):
        if not given.concessions.keys() & set(back):
            continue
        full = replace(
            given,
            ledger_budget=draft.ledger_budget if LEDGER[0] in back else given.ledger_budget,
            human_budget=draft.human_budget if HUMAN[0] in back else given.human_budget,
            concessions={name: count for name, count in given.concessions.items() if name not in back},
        )
        tried = assemble(full, made.account)
        if tried.rendering.tokens <= limit:
            return tried
    return made


def without_turn(draft: Draft) -> Draft | None:
    """All covered, the request replayed: for a last group that nothing makes smaller. None where that cannot be.

    It cannot while calls are pending, nor where no request would be left to end the view with.
    """
    if last_unanswered(draft.path) is None or pending(draft.path):
        return None
    return next(_covering(draft, "whole_turn", len(draft.path)), None)


def concessions(draft: Draft, policy: Prune) -> Iterator[Draft]:
    """The draft as it is, then after each concession."""
    yield draft
    while draft.restores:
        draft = draft.conceding("restores", 1, restores=draft.restores[1:])
        yield draft
    for budget in (draft.ledger_budget // 2, draft.ledger_budget // 4, 0):
        draft = draft.conceding("ledger_detail", 1, ledger_budget=budget)
        yield draft
    for group in (_tail_results, _tail_messages, _head, _long_texts, _human, _system_messages, _pins):
        for step in group(draft, policy):
            draft = step
            yield draft


def _tail_results(draft: Draft, policy: Prune) -> Iterator[Draft]:
    """Stubs for the tail's results: first those before the current turn, then all of them."""
    tail = _tail(draft)
    asked = last_unanswered(draft.path)
    turn = {m.seq for m in draft.path[asked:]} if asked is not None else set[int]()
    edited = {(e.seq, e.part): e for e in draft.edits}
    for protected in ((turn,) if turn else ()) + (set[int](),):
        report = prune(tail, policy=pressed(policy), protected=protected, edited=edited, goal=None)
        if report.edits:
            edited |= {(e.seq, e.part): e for e in report.edits}
            draft = draft.conceding("tail_results", len(report.edits), edits=tuple(edited.values()))
            yield draft


def _tail_messages(draft: Draft, _: Prune) -> Iterator[Draft]:
    """Cover more of the tail in whole units, halving what is left, with a stop where the current turn starts."""
    start = draft.split.tail if draft.split else _first_visible(draft)
    cuts: Sequence[int] = [i for i in legal_cut_points(draft.path) if i > start]
    left = [*accumulate(reversed([m.tokens for m in draft.path]), initial=0)][::-1]
    asked = last_unanswered(draft.path) or 0
    turn = max((i for i in cuts if i <= asked), default=0)
    while cuts:
        half = next((i for i in cuts if left[i] <= left[start] // 2), cuts[-1])
        start = turn if start < turn < half else half
        cuts = [i for i in cuts if i > start]
        for step in _covering(draft, "tail_messages", start):
            draft = step
            yield draft


def _covering(draft: Draft, name: str, start: int, **changes: int) -> Iterator[Draft]:
    """The draft with a tail that starts here; nothing where that covers no more than before."""
    system, head = changes.get("system_budget", draft.system_budget), changes.get("head", draft.head)
    human = changes.get("keep_human", draft.keep_human)
    split = at(draft.path, draft.base.covered, start, system=system, head=head, human=human)
    if length(split.cover) > (length(draft.split.cover) if draft.split else 0):
        method = "extractive" if draft.method == "prune" else draft.method
        yield draft.conceding(name, 1, split=split, method=method, **changes)


def _head(draft: Draft, _: Prune) -> Iterator[Draft]:
    if draft.split and draft.head:
        yield from _covering(draft, "head_messages", draft.split.tail, head=0)


def _long_texts(draft: Draft, _: Prune) -> Iterator[Draft]:
    done = {(e.seq, e.part) for e in draft.edits}
    edits = [
        Edit(seq=message.seq, part=part, rule="middle-cut", text=_middle_cut(body.text, message.seq))
        for message in _tail(draft)
        if message.origin not in ("human", "system") and not message.pinned
        for part, body in enumerate(message.parts)
        if isinstance(body, TextPart) and len(body.text) > LONG_TEXT and (message.seq, part) not in done
    ]
    if edits:
        yield draft.conceding("long_texts", len(edits), edits=(*draft.edits, *edits))


def _human(draft: Draft, _: Prune) -> Iterator[Draft]:
    budget = min(draft.human_budget, sum(draft.path[i].tokens for i in humans(draft.path)))
    for smaller in (budget // 2, budget // 4, budget // 8):
        if draft.keep_human and draft.split:
            for step in _covering(draft, "human_messages", draft.split.tail, keep_human=smaller):
                draft = step
        draft = draft.conceding("human_budget", 1, human_budget=smaller)
        yield draft
    yield draft.conceding("human_by_handle", 1, human_budget=1)  # 0 would keep an excerpt of each


def _system_messages(draft: Draft, _: Prune) -> Iterator[Draft]:
    if draft.split:
        yield from _covering(draft, "system_messages", draft.split.tail, system_budget=0)


def _pins(draft: Draft, policy: Prune) -> Iterator[Draft]:
    """One pinned message after the other becomes like any other; at last the tail gives way once more, without them."""
    held = [draft.path[i].seq for i in pinned(draft.path)]
    for i, _ in enumerate(held):
        draft = draft.conceding(GAVE_WAY, 1, path=Path.of(marked(draft.path, held[i + 1 :])))
        start = draft.split.tail if draft.split else _first_visible(draft)
        if (more := next(_covering(draft, GAVE_WAY, start), None)) is not None:
            draft = replace(more, concessions=draft.concessions)
        yield draft
    for group in (_tail_results, _tail_messages, _long_texts) if held else ():
        for step in group(draft, policy):
            draft = step
            yield draft


def _middle_cut(text: str, seq: int) -> str:
    half, text = LONG_TEXT // 2, without_encoded(text)
    if len(text) <= LONG_TEXT:
        return f"{text}\n[base64 left out, recall m{seq}]"
    return f"{text[:half]}\n[... {len(text) - LONG_TEXT} characters left out, recall m{seq} ...]\n{text[-half:]}"


def _tail(draft: Draft) -> list[Message]:
    start = draft.split.tail if draft.split else 0
    places = draft.path.outside(draft.base.covered)
    return [m for low, high in places if high > start for m in draft.path[max(low, start) : high]]


def _first_visible(draft: Draft) -> int:
    visible = (i for low, high in draft.path.outside(draft.base.covered) for i in range(low, high))
    return next((i for i in visible if draft.path[i].origin != "system"), 0)
