"""A middle in several parts: what is answered is paid once, also where one part is refused or too long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from offturn.summarise import BAD_ANSWER, Unavailable, Written, summarise
from offturn_config.presets import load
from offturn_engine import transcript_text
from offturn_engine.errors import SummarizerError
from offturn_engine.mask import Masked, mask_each
from offturn_engine.plan import Summarise
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_worker.offline import PaidHere
from tests.engine.raws import human, says
from tests.policies.histories import filler, path_of
from tests.policies.scripted import TOO_LONG, Model, answer, asked, wanted

PARTS = 6
WINDOW = 16_000  # of a summarizer that needs so many parts
NONSENSE = "Sure! What can I help you with today?"
REJECTED = SummarizerError("rejected", "fake: rejected", retryable=False)
PASSING = SummarizerError("overloaded", "fake: overloaded", retryable=True)


def middle(chunking: str) -> Summarise:
    policy = load("balanced", {"summary.chunking": chunking, "prune.style": "off"})
    raws = [raw for i in range(20) for raw in (human(f"question {i}"), says(filler(2_000, f"answer {i}")))]
    return wanted(path_of(raws, policy), policy, 64_000)


@dataclass
class AtOnce:
    """Fails in one part; the others answer after that part has ended. Nobody is asked before all are."""

    failing: str
    failure: str | Exception
    others: str | None = None
    window: int = WINDOW
    model: str = "scripted"
    asked: list[SummaryRequest] = field(default_factory=list)
    closed: int = 0
    all_asked: asyncio.Event = field(default_factory=asyncio.Event)
    ending: list[asyncio.Task[Any]] = field(default_factory=list)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.asked.append(request)
        if self.failing in request.source:
            self.ending.extend(filter(None, [asyncio.current_task()]))
        if len(self.asked) == PARTS:
            self.all_asked.set()
        try:
            await self.all_asked.wait()
            if self.failing in request.source:
                return self._failed()
            await asyncio.wait(self.ending)
        except asyncio.CancelledError:
            self.closed += 1
            raise
        return self._reply(self.others or answer(request))

    def _failed(self) -> SummaryReply:
        if isinstance(self.failure, Exception):
            raise self.failure
        return self._reply(self.failure)

    def _reply(self, text: str) -> SummaryReply:
        return SummaryReply(text=text, finish="stop", model=self.model, output_tokens=7)


@pytest.mark.parametrize(("failure", "kind"), [(NONSENSE, BAD_ANSWER), (REJECTED, "rejected"), (PASSING, "overloaded")])
async def test_what_the_other_parts_are_answered_is_kept(failure: str | Exception, kind: str) -> None:
    asks, paid = middle("parallel"), PaidHere()
    first = AtOnce("answer 7:", failure)

    failed = await summarise(asks, first, paid)
    assert isinstance(failed, Unavailable)
    assert (failed.kind, first.closed) == (kind, 0)
    repairs = 2 if failure == NONSENSE else 0
    assert failed.spent.output_tokens == 7 * (PARTS - 1 + repairs)

    second = Model([answer], window=WINDOW)
    assert isinstance(await summarise(asks, second, paid), Written)
    assert len(second.asked) == 2  # that part, and the merge of all
    assert "answer 7:" in second.asked[0].source


async def test_after_a_refusal_no_call_begins() -> None:
    """The others' answers want a repair; that part has had its own."""
    first = AtOnce("answer 7:", NONSENSE, others=NONSENSE)

    failed = await summarise(middle("parallel"), first, PaidHere())

    assert isinstance(failed, Unavailable)
    assert failed.kind == BAD_ANSWER
    assert len(first.asked) == failed.spent.calls == PARTS + 1


async def test_parts_in_a_row_end_at_the_refused_one() -> None:
    model = Model([answer, NONSENSE], window=WINDOW)

    failed = await summarise(middle("rolling"), model, PaidHere())

    assert isinstance(failed, Unavailable)
    assert (failed.kind, len(model.asked)) == (BAD_ANSWER, 3)


@pytest.mark.parametrize("chunking", ["rolling", "parallel"])
def test_a_part_that_is_too_long_is_cut_and_the_others_are_not(chunking: str) -> None:
    def small(request: SummaryRequest) -> str:
        if "answer 7:" in request.source and "answer 6:" in request.source:
            raise TOO_LONG
        return answer(request)

    asks = middle(chunking)
    plain, model = Model([answer], window=WINDOW), Model([small], window=WINDOW)
    assert isinstance(asked(asks, plain), Written)
    assert isinstance(asked(asks, model), Written)

    sources = [request.source for request in model.asked]
    for i in range(PARTS * 3 - 2):
        seen = [source for source in sources if f"answer {i}:" in source]
        assert len(seen) == (2 if i in (6, 7, 8) else 1), i
    assert {request.source for request in plain.asked if "answer 0:" in request.source} <= set(sources)


@pytest.mark.parametrize(
    ("policy", "overrides"),
    [("balanced", {}), ("balanced", {"summary.chunking": "parallel"}), ("codex", {}), ("hermes-lean", {})],
)
def test_what_is_too_long_is_masked_once(
    policy: str, overrides: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    masked: list[str] = []

    def counting(texts: Sequence[str]) -> list[Masked]:
        masked.extend(texts)
        return mask_each(texts)

    monkeypatch.setattr(transcript_text, "mask_each", counting)
    loaded = load(policy, {**overrides, "prune.style": "off"})
    raws = [
        raw
        for i in range(40)
        for raw in (human(f"question {i}"), says(filler(2_000, f"answer {i} password = hunter{i}QX7{i}z")))
    ]
    asks = wanted(path_of(raws, loaded), loaded, 200_000)
    plain, model = Model([answer]), Model([TOO_LONG, TOO_LONG, answer])
    whole = asked(asks, plain)
    texts, masked[:] = [*masked], []

    written = asked(asks, model)

    assert isinstance(whole, Written)
    assert isinstance(written, Written)
    assert masked == texts
    assert written.masked == whole.masked > 0
