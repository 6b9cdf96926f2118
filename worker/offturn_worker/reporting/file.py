"""The report on a compacted file."""

from __future__ import annotations

from offturn_engine.compaction import NOTHING, Economics
from offturn_engine.economics import account
from offturn_engine.formats import get
from offturn_engine.report import report
from offturn_models.prices import price_of
from offturn_worker.offline import Result
from offturn_worker.reporting.page import html

OUTCOMES = {"skipped": "left as it was", "pruned": "pruned without a summary", "compacted": "compacted"}


def page_of(result: Result, title: str, policy: str) -> str:
    """The page. A file's only generation is the first."""
    made = result.outcome != "skipped"
    record = result.record.model_copy(update={"number": 1, "economics": _cost(result)}) if made else NOTHING
    facts = report(result.read.path, (record, NOTHING) if made else (NOTHING,), result.read.fmt or get("openai-chat"))
    return html(facts, title=title, policy=policy, outcome=OUTCOMES[result.outcome], notes=result.notes)


def _cost(result: Result) -> Economics:
    """Without the model that the host calls nothing but the summary has a price."""
    return account(result.record, (), (), factor=1, model=None, prices=price_of)
