"""A briefing for another agent: where a conversation stands, in text that can be pasted anywhere.

What a model wrote of it, if any did, then by code over the whole path: facts, human words, the last answer, and what is
still open. No model is asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from offturn_engine.compaction import Compaction, LedgerItem
from offturn_engine.draft import FACTS_TITLE, HUMAN_TITLE, with_freed
from offturn_engine.human import human_items
from offturn_engine.human import render as render_human
from offturn_engine.ledger import bounded, fold, ledger, merge, phases
from offturn_engine.ledger import render as render_ledger
from offturn_engine.ledger.ranking import name_of
from offturn_engine.ledger.showing import EDGES, STATED
from offturn_engine.ledger.superseding import superseded
from offturn_engine.messages import Message
from offturn_engine.ranges import contains, label
from offturn_engine.turns import answers, last_unanswered

LONGEST_ANSWER = 4_000  # characters
ANSWER_TITLE = "The last answer"
OPEN_TITLE = "The request that is open"
TOLD = STATED | {"identifier"}
"""Kinds of facts that stand in a human's words."""
NOTHING_OPEN = "None: the last request was answered."


def briefing(path: Sequence[Message], base: Compaction, *, human_budget: int, ledger_budget: int) -> str:
    """The text. Budgets in estimate units bound facts and human words; the open request is whole, whatever its size."""
    fresh = [message for message in path if not contains(base.covered, message.seq)]
    asked = last_unanswered(path)
    waiting = path[asked] if asked is not None else None
    known = bounded(_apart(merge(base.facts, ledger(fresh)), waiting))
    skip = () if waiting is None else (waiting.seq,)
    said = render_human(human_items(path), budget=human_budget, skip=skip)
    folded = fold(known, phases(path, base.phases))
    facts = render_ledger(known, budget=with_freed(ledger_budget, said.freed), folded=folded, quoted=said.quoted)
    parts = [_head(path, base)]
    parts += [f"## {title}\n{body}" for title, body in base.sections.items() if body.strip()]
    parts += [f"## {FACTS_TITLE}\n{facts.text}"] if facts.text else []
    parts += [f"## {HUMAN_TITLE}\n{said.text}"] if said.text else []
    parts += [f"## {ANSWER_TITLE}\n{answer}"] if (answer := _last_answer(path)) else []
    parts.append(f"## {OPEN_TITLE}\n{NOTHING_OPEN if waiting is None else waiting.text}")
    return "\n\n".join([*parts, "[End of the briefing]"])


def _apart(facts: Sequence[LedgerItem], waiting: Message | None) -> Sequence[LedgerItem]:
    """The facts that the open request does not tell itself, without those that it replaces."""
    if waiting is None:
        return facts
    rest = [item for item in facts if item.seq != waiting.seq or item.kind not in TOLD]
    replaced = superseded(facts).gone - superseded(rest).gone
    named = {word.strip(EDGES) for item in rest if name_of(item) in replaced for word in item.text.split()}
    return [i for i in rest if name_of(i) not in replaced and (i.kind != "identifier" or i.key not in named)]


def _head(path: Sequence[Message], base: Compaction) -> str:
    written = f" The sections before the facts tell of {label(base.covered)}." if base.sections.titles else ""
    return (
        f"[Briefing on an earlier conversation of {len(path):,} messages, for whoever continues it. It tells what already "
        f"happened; only the last section may ask for something.{written} A handle such as m12 names a message there.]"
    )


def _last_answer(path: Sequence[Message]) -> str:
    """The newest answer of the assistant, cut in its middle where it is long; "" where there is none."""
    ended = answers(path)
    text = next((m.text for m, is_end in zip(reversed(path), reversed(ended), strict=True) if is_end), "").strip()
    if len(text) <= LONGEST_ANSWER:
        return text
    half = LONGEST_ANSWER // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"
