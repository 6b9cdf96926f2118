"""The whole job against a real store, with a summarizer that does what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Failed, Outcome, Session, StoreUnavailable, Superseded, recipe
from offturn.doorbell import Doorbell
from offturn.links import Links
from offturn.store.errors import StoreFault
from offturn.store.sessions import SessionStore
from offturn.summarizer import AnySummarizer
from offturn_config import keys
from offturn_engine.errors import SummarizerError
from offturn_engine.summary import Finish, SummaryReply, SummaryRequest
from tests.conftest import TIMEOUT

WINDOW = 12_000
Script = Callable[[SummaryRequest], Awaitable[SummaryReply]]


@dataclass
class Scripted:
    """Answers with what each step of the script gives; the last one repeats."""

    script: Sequence[Script]
    window: int = 100_000
    model: str = "fake:model"
    asked: list[SummaryRequest] = field(default_factory=list)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        step = self.script[min(len(self.asked), len(self.script) - 1)]
        self.asked.append(request)
        return await step(request)


def saying(text: str, finish: Finish = "stop") -> Script:
    async def step(_request: SummaryRequest) -> SummaryReply:
        return SummaryReply(text=text, finish=finish, model="fake:model", input_tokens=100, output_tokens=50)

    return step


async def good(request: SummaryRequest) -> SummaryReply:
    bodies = {title: f"- The team talks about sentence and colour ({title.lower()})." for title in request.titles}
    return await saying("\n\n".join(f"## {title}\n{body}" for title, body in bodies.items()))(request)


def failing(kind: str, *, retryable: bool = True, retry_after: float | None = None) -> Script:
    async def step(_request: SummaryRequest) -> SummaryReply:
        raise SummarizerError(kind, f"fake:model {kind}", retryable=retryable, retry_after=retry_after)

    return step


def talk(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[i % 2], "content": f"The team talks: sentence {i} and colour {i}. " * 20}
        for i in range(start, start + count)
    ]


@dataclass
class Place:
    """A session that is due, and what a worker works with."""

    client: CompactionClient
    session: Session
    store: SessionStore
    doorbell: Doorbell
    redis: Redis

    async def run(self, summarizer: AnySummarizer, lease_ms: int = 4_000) -> Outcome:
        return await recipe.run(
            self.session.key, store=self.store, doorbell=self.doorbell, summarizer=summarizer, lease_ms=lease_ms
        )


@pytest.fixture
async def place(valkey_url: str, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setattr(recipe, "FIRST_BACKOFF_MS", 60_000)  # what is due later is not due before a test has looked
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client:
        session = client.session("s", format="openai-chat", window=WINDOW)
        recorded = await session.record(talk(36))
        assert recorded.requirement == "soft"
        links: Links = await client._connector.links()
        yield Place(client, session, links.store, links.doorbell, redis)


async def test_a_good_answer_becomes_a_generation(place: Place) -> None:
    model = Scripted([good])

    outcome = await place.run(model)

    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert not outcome.provisional
    assert len(model.asked) == 1
    view = await place.session.view()
    assert view.generation == outcome.generation
    assert "## Goal" in str(view.messages[0])


async def test_what_arrives_meanwhile_is_in_the_next_view(place: Place) -> None:
    async def slow(request: SummaryRequest) -> SummaryReply:
        await place.session.record([{"role": "user", "content": "One more thing: keep the port at 8443."}])
        return await good(request)

    await place.run(Scripted([slow]))

    view = await place.session.view()
    assert view.generation == 1
    assert view.messages[-1] == {"role": "user", "content": "One more thing: keep the port at 8443."}


async def test_a_bad_answer_is_repaired_once(place: Place) -> None:
    model = Scripted([saying("Sure! What can I help you with today?"), good])

    outcome = await place.run(model)

    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert len(model.asked) == 2
    assert model.asked[1].content.startswith(model.asked[0].content[:200])
    assert model.asked[1].key != model.asked[0].key


@pytest.mark.parametrize(
    "bad",
    [
        saying(""),
        saying("I cannot help with that.", "refused"),
        saying("## Goal\n- half an answ", "length"),
        saying("Error 500: upstream connect error or disconnect/reset before headers"),
        saying("same line\n" * 400),
        saying("[user] do it\n[assistant] done\n<|im_start|>tool"),
    ],
)
async def test_without_a_usable_answer_the_facts_are_the_summary(place: Place, bad: Script) -> None:
    """Bad model, safe outcome: no generation is worse than the one before, and none holds the bad text."""
    outcome = await place.run(Scripted([bad]))

    assert isinstance(outcome, Compacted)
    assert outcome.method == "extractive"
    assert outcome.provisional
    view = await place.session.view()
    assert view.tokens < 0.8 * (await place.session.view(generation=0)).tokens
    assert "upstream connect error" not in str(view.messages)
    assert "<|im_start|>" not in str(view.messages)


async def test_passing_trouble_is_tried_again_later(place: Place) -> None:
    outcome = await place.run(Scripted([failing("rate_limited", retry_after=30.0)]))

    assert outcome == Failed(kind="rate_limited", retry_after=30.0, cause="provider")
    meta = await place.store.meta(place.session.key)
    assert meta is not None
    assert meta.due
    assert meta.current == 0
    assert not meta.leased
    assert await place.store.due(10) == []  # its time has not come


async def test_after_three_tries_it_does_without_the_model(place: Place) -> None:
    model = Scripted([failing("overloaded")])
    outcomes = [await place.run(model) for _ in range(3)]

    assert [type(outcome) for outcome in outcomes] == [Failed, Failed, Compacted]
    assert isinstance(outcomes[2], Compacted)
    assert outcomes[2].method == "extractive"


async def test_trouble_that_stays_is_not_waited_for(place: Place) -> None:
    outcome = await place.run(Scripted([failing("auth", retryable=False)]))

    assert isinstance(outcome, Compacted)
    assert outcome.provisional


async def test_a_window_smaller_than_told_means_smaller_chunks(place: Place) -> None:
    async def small(request: SummaryRequest) -> SummaryReply:
        if len(request.content) > 14_000:
            raise SummarizerError("too_long", "fake:model too_long", retryable=False)
        return await good(request)

    model = Scripted([small])
    outcome = await place.run(model)

    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert len(model.asked) > 3


async def test_paid_chunks_are_not_paid_again(place: Place) -> None:
    """The second chunk fails; the next job asks for that one only."""
    first = Scripted([good, failing("timeout")], window=8_000)
    assert isinstance(await place.run(first), Failed)

    second = Scripted([good], window=8_000)
    outcome = await place.run(second)

    assert isinstance(outcome, Compacted)
    assert first.asked[0].key not in {request.key for request in second.asked}


async def test_an_update_is_given_the_summary_before(place: Place) -> None:
    await place.run(Scripted([good]))
    await place.session.view()
    await place.session.record(talk(40, start=36))
    model = Scripted([good])

    outcome = await place.run(model)

    assert isinstance(outcome, Compacted)
    assert "sentence and colour (goal)" in model.asked[0].content
    generations = await place.session.generations()
    assert generations[1].covered[0][1] > generations[0].covered[0][1]


async def test_a_paid_summary_survives_an_emergency(place: Place) -> None:
    """The host could not wait and covered more meanwhile: the paid words go over all of it."""

    async def overtaken(request: SummaryRequest) -> SummaryReply:
        await place.session.record(talk(60, start=36))
        view = await place.session.view()
        assert view.kind == "emergency"
        return await good(request)

    outcome = await place.run(Scripted([overtaken]))

    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert not outcome.provisional
    emergency, paid = await place.session.generations()
    assert emergency.provisional
    assert paid.covered[0][1] >= emergency.covered[0][1]
    assert "sentence and colour (goal)" in str((await place.session.view()).messages[0])


async def test_a_rollback_meanwhile_makes_the_job_stale(place: Place) -> None:
    async def rolled_back(request: SummaryRequest) -> SummaryReply:
        await place.session.rollback(generation=0, force=True)
        return await good(request)

    assert await place.run(Scripted([rolled_back])) == Superseded(reason="epoch")
    assert (await place.session.view()).generation == 0


async def test_a_lost_claim_closes_the_call(place: Place) -> None:
    closed = asyncio.Event()

    async def stolen(request: SummaryRequest) -> SummaryReply:
        await place.redis.hset(place.session.key.key("meta"), "token", "of somebody else")  # type: ignore[misc]
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            closed.set()
            raise
        return await good(request)

    assert await place.run(Scripted([stolen]), lease_ms=1_000) == Superseded(reason="claim_lost")
    assert closed.is_set()


async def test_a_cancelled_job_hands_the_session_back(place: Place) -> None:
    started = asyncio.Event()

    async def endless(request: SummaryRequest) -> SummaryReply:
        started.set()
        await asyncio.sleep(3600)
        return await good(request)

    job = asyncio.create_task(place.run(Scripted([endless])))
    await started.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job

    meta = await place.store.meta(place.session.key)
    assert meta is not None
    assert meta.due
    assert not meta.leased
    assert meta.attempts == 0  # a worker that is sent home does not count against the session
    assert isinstance(await place.run(Scripted([good])), Compacted)


async def test_a_log_that_the_server_lost_is_not_tried_without_a_pause(place: Place) -> None:
    await place.redis.delete(place.session.key.key("log"))

    assert await place.run(Scripted([good])) == Failed(kind="log_gone")
    assert await place.store.due(10) == []  # due, but later


async def test_the_outcome_says_why_no_model_wrote_it(place: Place) -> None:
    outcome = await place.run(Scripted([failing("auth", retryable=False)]))

    assert isinstance(outcome, Compacted)
    assert outcome.fallback == "auth"
    finished = next(event for event in await place.session.events() if event.kind == "finished")
    assert finished.fields["fallback"] == "auth"


async def test_an_unexpected_error_hands_the_session_back(place: Place) -> None:
    async def broken(_request: SummaryRequest) -> SummaryReply:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await place.run(Scripted([broken]))

    meta = await place.store.meta(place.session.key)
    assert meta is not None
    assert (meta.due, meta.leased, meta.attempts) == (True, False, 1)
    assert await place.store.due() == []  # later: not at once again
    assert isinstance(await place.run(Scripted([good])), Compacted)


async def test_a_store_that_is_away_does_not_swallow_a_cancellation(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = asyncio.Event()

    async def endless(request: SummaryRequest) -> SummaryReply:
        started.set()
        await asyncio.sleep(3600)
        return await good(request)

    async def away(*_args: object, **_options: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(SessionStore, "finish", away)
    job = asyncio.create_task(place.run(Scripted([endless])))
    await started.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job


async def test_what_ends_the_renewal_is_the_outcome(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_args: object, **_options: object) -> None:
        raise StoreFault("NOPERM")

    async def endless(request: SummaryRequest) -> SummaryReply:
        await asyncio.sleep(3600)
        return await good(request)

    monkeypatch.setattr(SessionStore, "renew", refused)

    assert await place.run(Scripted([endless]), lease_ms=1_000) == Failed(kind="StoreFault")


async def test_a_provider_that_says_to_wait_for_ever_is_asked_again(place: Place) -> None:
    outcome = await place.run(Scripted([failing("overloaded", retry_after=1e308)]))

    meta = await place.store.meta(place.session.key)
    score = await place.redis.zscore(keys.due(), place.session.key.member)
    assert isinstance(outcome, Failed)
    assert meta is not None
    assert not meta.leased
    assert score is not None
    assert score - await place.store.now_ms() <= 3_600_000


async def test_a_generation_of_another_release_leaves_the_session_due(place: Place) -> None:
    await place.run(Scripted([good]))
    payload = place.session.key.key("gen:1")
    stored = await place.redis.get(payload)
    await place.redis.set(payload, stored.replace(b'"v":2', b'"v":3'))
    await place.session.request()

    assert await place.run(Scripted([good])) == Failed(kind="UnknownVersion", cause="store")
    meta = await place.store.meta(place.session.key)
    assert meta is not None
    assert (meta.due, meta.leased, meta.attempts) == (True, False, 0)
