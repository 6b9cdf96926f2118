"""Policies that prune in steps below the soft level, and policies that measure in bytes / 4, through a real store."""

from __future__ import annotations

from offturn import Compacted, CompactionClient, Pruned, Skipped
from offturn_engine.formats import get
from tests.conftest import TIMEOUT
from tests.engine.raws import human, says
from tests.policies.histories import filler, reads, turns

PLACEHOLDER = "[Old tool result content cleared]"


async def test_results_are_cleared_step_by_step_and_between_steps_the_session_rests(valkey_url: str) -> None:
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client:
        session = client.session("steps", format="openai-chat", policy="claude-code-3layer", window=200_000)
        await session.record([human("go"), *reads(8, 4_000), says("done")])
        (first,) = await client.run_due()
        assert isinstance(first, Pruned)
        view = await session.view()
        assert [m["content"] for m in view.messages].count(PLACEHOLDER) == 3

        assert await client.run_due() in ([], [Skipped(reason="resting")])
        assert await client.run_due() == []
        for i in range(12):  # small talk never parks the session, nor opens its breaker
            await session.record([human(f"question {i}"), says(filler(6_000))])
            assert all(isinstance(outcome, Skipped) for outcome in await client.run_due())
        status = await session.status()
        assert not status.parked

        await session.record([human("more"), *reads(4, 4_000, first=20), says("done")])
        assert [type(outcome) for outcome in await client.run_due()][:1] == [Pruned]
        assert [m["content"] for m in (await session.view()).messages].count(PLACEHOLDER) == 7


async def test_a_step_requires_nothing_of_the_host_and_is_no_compaction_of_the_hour(client: CompactionClient) -> None:
    session = client.session(
        "free",
        format="openai-chat",
        policy="claude-code-3layer",
        window=200_000,
        overrides={"trigger.most_per_hour": 1},
    )
    for i in range(3):
        recorded = await session.record([human("go"), *reads(8, 3_000, first=10 * i), says("done")])
        assert recorded.requirement == "none"
        outcomes = await client.run_due()
        assert isinstance(outcomes[0], Pruned)
        assert await client.run_due() == []
    talk = [raw for i in range(16) for raw in (human(f"question {i}"), says(filler(12_000, f"answer {i}")))]
    assert (await session.record(talk)).requirement != "none"
    [paid] = await client.run_due()
    assert isinstance(paid, Compacted)
    assert (await session.record(talk)).requirement != "none"
    assert await client.run_due() == [Skipped(reason="limited")]


async def test_the_policy_of_the_session_measures_whatever_the_handle_says(valkey_url: str) -> None:
    logs = [human("2026-11-03T10:00:01Z ERROR worker-3 req=9f3c status=500 dur=812ms\n" * 100), says("ok")]
    in_bytes = sum(get("openai-chat", "bytes4").estimate(raw) for raw in logs)
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client:
        await client.session("bytes", format="openai-chat", policy="claude-code", window=200_000).record(logs)
        other = client.session("bytes", format="openai-chat", policy="balanced", window=200_000)
        assert (await other.view()).tokens == in_bytes
        await other.record(turns(1))
        assert (await other.view()).tokens == in_bytes + sum(get("openai-chat", "bytes4").estimate(r) for r in turns(1))


async def test_a_session_goes_on_measuring_as_its_first_record_did(client: CompactionClient) -> None:
    session = client.session("learnt", format="openai-chat", window=200_000, overrides={"trigger.enabled": False})
    await session.record(turns(2, each=reads(2, 2_000)))
    before = (await session.view()).tokens

    await session.configure(policy="claude-code")

    config = await client.stored_config("learnt")
    assert config is not None
    assert (config.policy.name, config.policy.trigger.estimator) == ("claude-code", "calibrated")
    assert (await session.view()).tokens == before
    await session.record([human("on")])
    assert (await session.status()).tokens > before


async def test_a_first_record_of_another_handle_is_measured_as_the_session_is(
    client: CompactionClient, valkey_url: str
) -> None:
    raws = [human("Look."), says("x = compute(1, 2, 3)\n" * 400)]
    session = client.session("chat", format="openai-chat", policy="claude-code")
    await session.record(raws)
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as elsewhere:
        await elsewhere.session("chat", format="openai-chat", policy="balanced").record(raws)
    meta = await (await client._connector.links()).store.meta(session.key)

    assert meta is not None
    assert meta.path_tokens == 2 * sum(get("openai-chat", "bytes4").estimate(raw) for raw in raws)
