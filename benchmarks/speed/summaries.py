"""A middle of 400,000 tokens in chunks at once, beside chunk after chunk, by a model as slow as a real one."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from benchmarks.scale.load import conversation
from benchmarks.speed.figures import Figure
from benchmarks.speed.stage import Run, say

from offturn.summarise import Written, summarise
from offturn_config.presets import load
from offturn_engine.compaction import NOTHING
from offturn_engine.formats import get, parse_all
from offturn_engine.plan import Summarise, plan
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_engine.tokens import estimate_text
from offturn_worker.fake_model.summary import summarise as written

PART = "summaries"
WINDOW, MODEL_WINDOW = 200_000, 64_000
FIRST_TOKEN, READ, WROTE = 1.0, 10_000.0, 60.0  # seconds; tokens a second
QUICK = 4.0  # by which a quick run's model is faster: then its own CPU counts for more


async def run(run: Run) -> None:
    """All figures of the part."""
    messages = conversation(random.Random(1), 2_400)
    wanted = {chunking: _wanted(messages, chunking) for chunking in ("parallel", "rolling")}
    spent: dict[str, float] = {}
    wrote: dict[str, int] = {}
    for chunking, planned in wanted.items():
        model = _Slow(QUICK if run.quick else 1.0)
        began = time.perf_counter()
        made = await summarise(planned, model, _Forgetful())
        spent[chunking], wrote[chunking] = time.perf_counter() - began, model.wrote
        assert isinstance(made, Written), made
        say(f"  {chunking}: {model.calls} calls, {model.read:,} tokens read, {model.wrote:,} written")
    run.add(
        Figure(
            part=PART,
            name="a middle of 400,000 tokens, rolling",
            ours=spent["rolling"],
            other=spent["parallel"],
            unit="s",
            against="chunks at once, then one call",
            target=3.0,
            least=True,
        )
    )
    run.add(
        Figure(
            part=PART,
            name="tokens that the model wrote for it, rolling",
            ours=wrote["rolling"],
            other=wrote["parallel"],
            unit="",
            against="chunks at once, then one call",
        )
    )


def _wanted(messages: list[dict[str, object]], chunking: str) -> Summarise:
    policy = load("balanced")
    summary = policy.summary.model_copy(update={"chunking": chunking})
    policy = policy.model_copy(update={"gate": "always_summarise", "summary": summary})
    fmt = get("openai-chat")
    path = parse_all(fmt, messages)
    found = plan(path, NOTHING, fmt, policy=policy, limits=policy.limits(WINDOW), reason="manual")
    assert isinstance(found, Summarise), found
    return found


@dataclass(slots=True)
class _Slow:
    """Writes what the project's model server writes, in the time a hosted model takes for so many tokens.

    A hosted model thinks on a machine of its own: what this one spends on writing here passes within that time.
    """

    pace: float
    model: str = "slow"
    window: int = MODEL_WINDOW
    calls: int = 0
    read: int = 0
    wrote: int = 0

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        began = time.perf_counter()
        text = await asyncio.to_thread(written, request.system, request.content, max_tokens=request.max_output_tokens)
        took, gave = estimate_text(request.content), estimate_text(text)
        due = began + (FIRST_TOKEN + took / READ + gave / WROTE) / self.pace
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        self.calls, self.read, self.wrote = self.calls + 1, self.read + took, self.wrote + gave
        return SummaryReply(text=text, finish="stop", model=self.model)


class _Forgetful:
    """Keeps nothing that was paid for."""

    async def get(self, _: str) -> str | None:
        return None

    async def put(self, _: str, __: str) -> None:
        return
