"""The seam to every model: one async method, a request value in, a reply value out."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from offturn_engine.summary import SummaryReply, SummaryRequest


class Summarizer(Protocol):
    """A model that writes summaries. `window` (tokens) bounds what one request may hold; longer input is chunked."""

    @property
    def model(self) -> str: ...

    @property
    def window(self) -> int: ...

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Raises SummarizerError. A cut or refused answer is a reply whose `finish` says so."""
        ...


class Extractive:
    """No model: the ledger and the human messages are the summary."""

    def __repr__(self) -> str:
        return "EXTRACTIVE"


EXTRACTIVE = Extractive()

AnySummarizer: TypeAlias = Summarizer | Extractive
