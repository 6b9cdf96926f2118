"""Cancel, unblock, configure; and all that changes a session while a job is running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis

from offturn import (
    Compacted,
    CompactionClient,
    InvalidPolicy,
    InvalidSetting,
    Outcome,
    Session,
    Superseded,
    UnknownPolicy,
)
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_engine.summary import SummaryRequest
from tests.integration.host import human, says, turns
from tests.integration.moved import WINDOW, assert_sound, open_session


async def test_cancel_withdraws_a_request(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record(turns("openai-chat", 2))
    ticket = await session.request()

    await session.cancel()

    assert await ticket.status() == "done"
    assert await client.run_due() == []


async def test_unblock_takes_a_session_out_of_its_place(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client)
    await session.record(turns("openai-chat", 22))
    store = SessionStore(redis)
    for number in range(3):
        await store.claim(session.key, token=f"t{number}", lease_ms=1, max_attempts=2)
        await asyncio.sleep(0.01)
    assert (await session.status()).parked
    assert await client.run_due() == []

    await session.unblock()

    assert not (await session.status()).parked
    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    assert isinstance(outcome, Compacted)


async def test_configure_replaces_what_the_first_record_stored(client: CompactionClient) -> None:
    session = open_session(client, window=100_000)
    await session.record(turns("openai-chat", 22))
    assert not (await session.status()).due

    await session.configure(window=WINDOW, adopt="turn", overrides={"trigger.soft": 0.5})
    view = await session.view()
    status = await session.status()
    stored_config = await client.stored_config("chat")
    await session.configure(window=100_000)
    back = await session.view()

    assert (status.window, status.due) == (WINDOW, True)
    assert view.limit < WINDOW
    assert view.warnings == ()
    assert stored_config is not None
    assert (stored_config.adopt, stored_config.policy.trigger.soft) == ("turn", 0.5)
    assert back.limit == 100_000 - 8_192
    assert back.warnings == ()


async def test_configure_refuses_what_cannot_work(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record(turns("openai-chat", 1))
    before = await client.stored_config("chat")

    for options, error in (
        ({"policy": "nobody"}, UnknownPolicy),
        ({"overrides": {"trigger.nothing": 1}}, InvalidPolicy),
        ({"window": 10}, InvalidPolicy),
        ({"window": "many"}, InvalidSetting),
        ({"adopt": "soon"}, InvalidSetting),
    ):
        with pytest.raises(error):
            await session.configure(**options)
    assert await client.stored_config("chat") == before


async def test_another_model_forgets_what_usage_has_taught(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW, model="openai:gpt")
    await session.record(turns("openai-chat", 3))
    view = await session.view()
    await session.record([human("Go on.")], usage={"prompt_tokens": 9_000, "completion_tokens": 1}, view=view)
    taught = (await session.view()).tokens

    await session.configure(model="openai:gpt")
    same = (await session.view()).tokens
    await session.configure(model="anthropic:claude")

    assert taught == same
    assert (await session.view()).tokens < taught


# -- during a job


async def run_during(client: CompactionClient, change: Callable[[], Awaitable[object]]) -> Outcome:
    """A job, and something else while its summary is written; the answer comes all the same."""
    told = False

    async def meanwhile(_: SummaryRequest) -> None:
        nonlocal told
        if not told:
            told = True
            await change()

    [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=meanwhile))
    assert told
    return outcome


CHANGES: dict[str, Callable[[Session], Awaitable[object]]] = {
    "rewind": lambda session: session.rewind(),
    "rewind far": lambda session: session.rewind(to=3),
    "amend": lambda session: session.amend(0, human("Amended.")),
    "amend the last": lambda session: session.amend(87, says("Amended.")),
    "cancel": lambda session: session.cancel(),
    "configure": lambda session: session.configure(window=200_000),
    "rollback": lambda session: session.rollback(generation=0, force=True),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_running_job_is_superseded(client: CompactionClient, change: str) -> None:
    session, other = open_session(client), open_session(client)
    await session.record(turns("openai-chat", 22))

    outcome = await run_during(client, lambda: CHANGES[change](other))

    assert outcome == Superseded(reason="epoch")
    assert await session.generations() == []
    await assert_sound(session, await session.view())
    await session.record(turns("openai-chat", 22, start=50))
    await client.run_due(summarizer=FakeSummarizer())
    await assert_sound(session, await session.view())


@pytest.mark.parametrize("again", [False, True])
async def test_a_job_over_a_purged_session_leaves_nothing(client: CompactionClient, redis: Redis, again: bool) -> None:
    session, other = open_session(client), open_session(client)
    await session.record(turns("openai-chat", 22))

    async def purge() -> None:
        await other.purge()
        if again:
            await other.record([human("A new life.")])

    outcome = await run_during(client, purge)

    assert outcome in (Superseded(reason="gone"), Superseded(reason="claim_lost"))
    names = {name.decode().rpartition(":")[2] async for name in redis.scan_iter("offturn:{s00}:default:chat:*")}
    assert names == ({"meta", "log", "ops"} if again else {"meta"})
    assert await redis.zcard("offturn:{s00}:due") == 0
    assert list((await session.view()).messages) == ([human("A new life.")] if again else [])


@pytest.mark.parametrize("change", CHANGES)
async def test_a_model_that_hangs_is_not_waited_for(client: CompactionClient, change: str) -> None:
    """The job ends, and its stream is closed, when the lease is to be renewed next; nobody pays on."""
    session = open_session(client)
    await session.record(turns("openai-chat", 22))
    closed = asyncio.Event()

    async def hang(_: SummaryRequest) -> None:
        await CHANGES[change](session)
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()

    [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=hang))

    assert outcome == Superseded(reason="epoch")
    assert closed.is_set()
    assert not (await session.status()).running


async def test_unblock_leaves_a_running_job_alone(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record(turns("openai-chat", 22))

    assert isinstance(await run_during(client, session.unblock), Compacted)
    assert (await session.view()).generation == 1


async def test_processes_that_configure_at_once_lose_nothing(client: CompactionClient, valkey_url: str) -> None:
    """One changes the window, the other the adoption: the later one was written over the earlier one."""
    session = open_session(client)
    await session.record([human("Hello.")])
    async with CompactionClient.from_url(valkey_url, timeout=20) as other:
        mine, theirs = session, open_session(other)
        for window, adopt in ((20_000, "turn"), (24_000, "never"), (28_000, "group"), (30_000, "turn")):
            await asyncio.gather(mine.configure(window=window), theirs.configure(adopt=adopt))  # type: ignore[arg-type]
            status = await session.status()
            assert (status.window, status.adopt) == (window, adopt)
