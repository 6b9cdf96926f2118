"""The report on a compacted file."""

from __future__ import annotations

from offturn_engine.compaction import Economics
from offturn_engine.economics import account
from offturn_engine.formats import get
from offturn_engine.report import Report, report
from offturn_models.prices import price_of
from offturn_worker.offline import Result
from offturn_worker.reporting.page import html

OUTCOMES = {"skipped": "left as it was", "pruned": "pruned without a summary", "compacted": "compacted"}


def page_of(result: Result, title: str, policy: str) -> str:
    """The page."""
    return html(report_of(result), title=title, policy=policy, outcome=OUTCOMES[result.outcome], notes=result.notes)


def report_of(result: Result) -> Report:
    """Its facts."""
    made = result.outcome != "skipped"
    newest, *older = result.lineage
    shown = newest.model_copy(update={"economics": _cost(result)}) if made else newest
    return report(result.read.path, (shown, *older), result.read.fmt or get("openai-chat"))


def _cost(result: Result) -> Economics:
    """Without the model that the host calls nothing but the summary has a price."""
    return account(result.record, (), (), factor=1, model=None, prices=price_of)
