"""A session as a summarizer sees it, with a summary a careful writer would give."""

from __future__ import annotations

from dataclasses import dataclass

from offturn_engine.compaction import Sections
from offturn_engine.prompt import request
from offturn_engine.summary import SummaryRequest
from offturn_engine.templates import NINE_SECTION

BUDGET = 1_200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    name: str
    language: str
    humans: tuple[str, ...]
    transcript: str
    summary: str
    previous: Sections | None = None

    def request(self) -> SummaryRequest:
        return request(
            self.transcript,
            previous=self.previous,
            template=NINE_SECTION,
            max_output_tokens=2 * BUDGET,
            focus="",
            note="",
            language=self.language,
            model="test",
        )
