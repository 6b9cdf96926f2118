"""Bad model, safe outcome: the demo's session, compacted by a real model that cannot do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from offturn import Compacted, CompactionClient, Failed, Outcome, Pruned, Skipped, Superseded
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_models.anthropic import Anthropic
from offturn_models.openai import OpenAI
from offturn_worker.demo.play import WINDOW
from offturn_worker.demo.recorded import recording
from tests.integration.host import texts
from tests.integration.moved import assert_sound
from tests.llm.conftest import Server, summarizer

pytestmark = [pytest.mark.timeout(3_600)]

Build: TypeAlias = Callable[..., Anthropic | OpenAI]
BATCH = 8  # messages between two looks
ENDED = (Compacted, Pruned, Skipped, Superseded, Failed)


class Heard:
    """A summarizer that keeps what the model said."""

    def __init__(self, inner: Anthropic | OpenAI) -> None:
        self.inner = inner
        self.model, self.window, self.id, self.account = inner.model, inner.window, inner.id, inner.account
        self.replies: list[SummaryReply] = []
        self.own: list[str] = []
        """A line of each that stands in nothing it was given."""

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        reply = await self.inner.summarize(request)
        self.replies.append(reply)
        lines = [line.strip() for line in reply.text.splitlines() if len(line.strip()) > 40]
        self.own += [line for line in lines if line not in f"{request.system}\n{request.content}"][:1]
        return reply


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
async def test_the_whole_demo_session(client: CompactionClient, server: Server, dialect: str) -> None:
    told, heard = recording(), Heard(summarizer(server, dialect))
    ends = {phase.after: phase.note for phase in told.phases}
    session = client.session("demo", format="openai-chat", window=WINDOW)
    outcomes: list[Outcome] = []
    for index, message in enumerate(told.messages):
        await session.record(message)
        if index in ends:
            await session.phase_done(ends[index])
        if index in ends or index % BATCH == 0:
            outcomes += await client.run_due(summarizer=heard)
            view = await session.view(system=told.system)
            assert view.tokens <= view.limit
    view = await session.view()
    await assert_sound(session, view)

    assert outcomes
    assert all(isinstance(outcome, ENDED) for outcome in outcomes)
    assert heard.replies
    assert [line["message"] for line in [line async for line in session.export()] if line["kind"] == "message"] == [
        *told.messages
    ]
    shown = texts(view.messages)
    assert [rule for rule in told.constraints if texts([rule])[2:-2] not in shown] == []
    made = await session.generations()
    assert made
    if not any(generation.method == "model" for generation in made):
        assert [line for line in heard.own if texts([line])[2:-2] in shown] == []
    _report(dialect, outcomes, heard.replies)


def _report(dialect: str, outcomes: list[Outcome], replies: list[SummaryReply]) -> None:
    """What `make test-llm` shows: `-s` is set there."""
    kinds = ", ".join(type(outcome).__name__ for outcome in outcomes)
    finishes = ", ".join(reply.finish for reply in replies)
    print(f"\n{dialect}: outcomes {kinds}; the model's answers ended with {finishes}")
