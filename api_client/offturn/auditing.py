"""A summary that loses facts which the policy demands: repaired once with these facts handed back, then not taken."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from offturn.asking import Asking, BadAnswer, Paid
from offturn.summarise import FACTS_LOST, Unavailable, Written
from offturn.summarizer import AnySummarizer, Extractive
from offturn_engine.audit import audited, handed_back, missing, short
from offturn_engine.compaction import Spent
from offturn_engine.draft import Candidate
from offturn_engine.errors import SummarizerError
from offturn_engine.plan import Summarise, apply


async def settled(
    planned: Summarise, written: Written, summarizer: AnySummarizer, paid: Paid
) -> tuple[Candidate, Written] | Unavailable:
    """The candidate of what was written, audited. Only a summary by a model is held to the policy's minimum."""
    candidate = await asyncio.to_thread(_made, planned, written)
    kinds = _short(candidate, planned)
    if not kinds or isinstance(summarizer, Extractive):
        return candidate, written
    asking = Asking(planned, summarizer, paid)
    try:
        sections, model = await asking.amended(written.sections, handed_back(missing(candidate, kinds)))
    except (BadAnswer, SummarizerError):
        return _lost(written.spent.plus(asking.spent))
    again = replace(written, sections=sections, model=model, spent=written.spent.plus(asking.spent))
    candidate = await asyncio.to_thread(_made, planned, again)
    return _lost(again.spent) if _short(candidate, planned) else (candidate, again)


def _made(planned: Summarise, written: Written) -> Candidate:
    make = partial(apply, planned, written.sections, spent=written.spent, model=written.model)
    return audited(make(head_trimmed=written.head_trimmed, opaque=written.opaque))


def _short(candidate: Candidate, planned: Summarise) -> frozenset[str]:
    if candidate.compaction.method != "model":
        return frozenset()
    return short(candidate.compaction.audit, planned.policy.audit)


def _lost(spent: Spent) -> Unavailable:
    return Unavailable(FACTS_LOST, try_again=False, retry_after=0, spent=spent)
