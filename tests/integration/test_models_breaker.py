"""A route behind the gate all workers share: who is passed over, who probes, and what is said when nobody is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn.store.limits import SharedLimits
from offturn_config import keys
from offturn_config.settings import load_worker_settings
from offturn_engine.errors import SummarizerError
from offturn_engine.provider_errors import Kind, problem
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_models import breaker
from offturn_models.anthropic import Anthropic
from offturn_models.breaker import FAILURES
from offturn_models.errors import failed
from offturn_models.openai import OpenAI
from offturn_models.route import Route
from offturn_worker.gate import SharedGate

REQUEST = SummaryRequest(system="s", content="## Goal", max_output_tokens=200, titles=("Goal",), source="", key="k")
NO_ANSWER: list[Kind] = ["rate_limited", "overloaded", "unavailable", "timeout", "dropped", "garbled", "unknown"]


@dataclass
class Entry:
    """Fails with `says`, or answers."""

    id: str
    says: Kind | None = None
    retry_after: float | None = None
    window: int = 100
    account: str = "scripted"
    timeout: float = 1.0
    calls: int = 0
    during: list[SummaryReply | SummarizerError] = field(default_factory=list)

    @property
    def model(self) -> str:
        return self.id

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.calls += 1
        if self.says:
            raise failed(problem(self.says, retry_after=self.retry_after), model=self.id)
        return SummaryReply(text="x", finish="stop", model=self.id)


class Gated:
    """Routes of one store."""

    def __init__(self, redis: Redis, url: str) -> None:
        self.redis: Any = redis
        self.limits = SharedLimits(redis)
        self.url = url

    def route(self, *entries: Entry, **settings: Any) -> Route:
        """As another worker has it: nothing is shared but the store."""
        values = load_worker_settings(store_url=self.url, **settings)
        return Route(entries).behind(SharedGate(SharedLimits(self.redis), values))

    async def pause_over(self) -> None:
        for entry, value in (await self.redis.hgetall(keys.routes())).items():
            await self.redis.hset(keys.routes(), entry, json.dumps({**json.loads(value), "until": 1}))


LONGER = 20
"""So many times as long an entry is left alone here: a busy machine must be back before that is over."""


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "PAUSE_MS", LONGER * breaker.PAUSE_MS)


@pytest.fixture
def gated(redis: Redis, valkey_url: str) -> Gated:
    return Gated(redis, valkey_url)


async def refused(route: Route) -> SummarizerError:
    with pytest.raises(SummarizerError) as caught:
        await route.summarize(REQUEST)
    return caught.value


async def test_the_next_entry_is_asked_while_one_is_in_trouble(gated: Gated) -> None:
    first, second = Entry("a", "overloaded"), Entry("b")
    for _ in range(FAILURES + 3):
        assert (await gated.route(first, second).summarize(REQUEST)).model == "b"

    assert first.calls == FAILURES
    first.says = None
    await gated.pause_over()
    assert (await gated.route(first, second).summarize(REQUEST)).model == "a"
    assert await gated.limits.routes() == []


@pytest.mark.parametrize("kind", NO_ANSWER)
async def test_a_provider_in_trouble_is_not_asked_on_and_on(gated: Gated, kind: Kind) -> None:
    entry = Entry("a", kind)
    for _ in range(FAILURES):
        assert (await refused(gated.route(entry))).kind == kind

    error = await refused(gated.route(entry))

    assert (error.kind, error.retryable) == ("provider_unavailable", True)
    assert error.retry_after is not None
    assert 0 < error.retry_after <= 5 * LONGER
    assert entry.calls == FAILURES
    await gated.pause_over()
    assert (await refused(gated.route(entry))).kind == kind  # one probe, a wanted call
    assert (await refused(gated.route(entry))).kind == "provider_unavailable"
    assert entry.calls == FAILURES + 1


@pytest.mark.parametrize("kind", ["too_long", "refused", "cut", "empty"])
async def test_an_answer_that_is_the_requests_fault_opens_nothing(gated: Gated, kind: Kind) -> None:
    entry = Entry("a", kind)
    for _ in range(2 * FAILURES):
        assert (await refused(gated.route(entry))).kind == kind
    assert await gated.limits.routes() == []


@pytest.mark.parametrize("kind", ["auth", "not_found", "quota"])
async def test_what_needs_a_repair_is_asked_once(gated: Gated, kind: Kind) -> None:
    entry = Entry("a", kind)
    await refused(gated.route(entry))

    error = await refused(gated.route(entry))

    assert (error.kind, error.retryable, entry.calls) == (kind, False, 1)
    [route] = await gated.limits.routes()
    assert (route.reason, route.permanent) == (kind, True)
    assert route.until - route.since == 600_000
    assert (await gated.route(entry, Entry("b")).summarize(REQUEST)).model == "b"


async def test_a_rejected_request_may_be_that_requests_fault(gated: Gated) -> None:
    entry = Entry("a", "bad_request")
    for _ in range(FAILURES):
        assert not any(route.open for route in await gated.limits.routes())
        await refused(gated.route(entry))
    [route] = await gated.limits.routes()
    assert route.open
    assert route.until - route.since == 600_000


async def test_a_time_to_come_back_counts_for_all(gated: Gated) -> None:
    entry = Entry("a", "rate_limited", retry_after=400.0)
    await refused(gated.route(entry))

    error = await refused(gated.route(entry))

    assert entry.calls == 1
    assert error.retry_after is not None
    assert 340 < error.retry_after <= 400


async def test_the_soonest_of_several_is_waited_for(gated: Gated) -> None:
    entries = (
        Entry("a", "rate_limited", retry_after=400.0),
        Entry("b", "auth"),
        Entry("c", "overloaded", retry_after=90.0),
    )
    await refused(gated.route(*entries))

    error = await refused(gated.route(*entries))

    assert error.kind == "provider_unavailable"
    assert error.retry_after is not None
    assert error.retry_after <= 90


async def test_a_rate_of_ours_hands_the_session_back(gated: Gated) -> None:
    entry = Entry("a")
    route = gated.route(entry, requests_per_minute=2)
    for _ in range(2):
        await route.summarize(REQUEST)

    error = await refused(route)

    assert (error.kind, error.retryable, entry.calls) == ("limited", True, 2)
    assert error.retry_after is not None
    assert 1 < error.retry_after <= 30


async def test_a_short_wait_is_slept(gated: Gated) -> None:
    entry = Entry("a")
    route = gated.route(entry, tokens_per_minute=60_000)
    big = SummaryRequest(system="", content="x", max_output_tokens=59_900, titles=("Goal",), source="", key="k")
    await route.summarize(big)
    await route.summarize(REQUEST)  # about 100 tokens are missing: a tenth of a second
    assert entry.calls == 2


async def test_a_store_that_is_away_lets_everybody_through(valkey_url: str) -> None:
    away = Redis(host="127.0.0.1", port=1)
    gate = SharedGate(SharedLimits(away), load_worker_settings(store_url=valkey_url))
    assert (await Route([Entry("a")]).behind(gate).summarize(REQUEST)).model == "a"
    await away.aclose()


async def test_opening_and_closing_are_logged(gated: Gated, lines: Callable[[], list[dict[str, Any]]]) -> None:
    entry = Entry("openai:m#12345678", "auth")
    await refused(gated.route(entry))
    entry.says = None
    await gated.pause_over()
    await gated.route(entry).summarize(REQUEST)

    opened, closed = (line for line in lines() if line["event"].startswith("route_"))
    assert (opened["event"], opened["entry"], opened["reason"], opened["permanent"]) == (
        "route_opened", "openai:m#12345678", "auth", True,
    )  # fmt: skip
    assert (closed["event"], closed["entry"]) == ("route_closed", "openai:m#12345678")


def test_another_key_or_address_is_another_entry() -> None:
    ids = {
        OpenAI("m", api_key="sk-one").id,
        OpenAI("m", api_key="sk-two").id,
        OpenAI("m", api_key="sk-one", base_url="http://127.0.0.1:1/v1").id,
        OpenAI("n", api_key="sk-one").id,
        Anthropic("m", api_key="sk-one").id,
    }
    assert len(ids) == 5
    assert OpenAI("m", api_key="sk-one").id in ids
    assert not [one for one in ids if "sk-" in one or "127.0.0.1" in one]
