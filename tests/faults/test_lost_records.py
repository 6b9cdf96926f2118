"""A server that has lost records (evicted them, or lost them with a failover): earlier generations take their place."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Refused, Session, StoreFault
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_engine.render import render
from tests.integration.host import assert_sendable, human, says, stored, texts, turns

FORMAT = "openai-chat"
WINDOW = 14_000


def opened(client: CompactionClient) -> Session:
    return client.session("s", format=FORMAT, window=WINDOW)


async def with_generations(client: CompactionClient, count: int) -> Session:
    session = opened(client)
    for number in range(count):
        await session.record(turns(FORMAT, 20, size=1_500, start=20 * number))
        await session.request()
        await client.run_due(summarizer=FakeSummarizer())
        assert (await session.view()).generation == number + 1
    return session


async def lose(redis: Any, session: Session, *numbers: int) -> None:
    for number in numbers:
        assert await redis.delete(session.key.key(f"gen:{number}"))


async def test_the_view_falls_back_and_says_so(redis: Redis, client: CompactionClient) -> None:
    session = await with_generations(client, 2)
    before = await stored(redis, "s")
    await lose(redis, session, 2)

    view = await opened(client).view()

    assert_sendable(view)
    assert any("lost the records of 1 generations" in warning for warning in view.warnings)
    assert [g.number for g in await session.generations() if g.number <= 2] == [1]
    assert await stored(redis, "s") == before
    assert "mended" in [event.kind for event in await session.events()]
    again = await opened(client).view()
    assert not any("lost" in warning for warning in again.warnings)
    assert texts(again.messages) == texts(view.messages)


async def test_without_any_generation_left_an_emergency_view_is_made(redis: Redis, client: CompactionClient) -> None:
    session = await with_generations(client, 3)
    await lose(redis, session, 1, 2, 3)

    view = await opened(client).view()

    assert_sendable(view)
    assert view.kind == "emergency"
    assert [g.number for g in await session.generations()] == [4]


async def test_a_handle_that_knows_the_record_still_has_it(redis: Redis, client: CompactionClient) -> None:
    session = await with_generations(client, 1)
    await lose(redis, session, 1)

    assert (await session.view()).generation == 1


async def test_the_current_generation_is_lost_before_it_was_in_force(redis: Redis, client: CompactionClient) -> None:
    session = await with_generations(client, 1)
    await session.record(turns(FORMAT, 20, size=1_500, start=20))
    await client.run_due(summarizer=FakeSummarizer())
    await lose(redis, session, 2)

    view = await opened(client).view()

    assert_sendable(view)
    assert (await session.status()).current == view.generation != 2


async def test_the_next_job_goes_on_from_what_is_left(redis: Redis, client: CompactionClient) -> None:
    """Found by the worker: the first job mends, the next one compacts, and nobody is parked."""
    session = await with_generations(client, 2)
    await session.record(turns(FORMAT, 20, size=1_500, start=40))
    await lose(redis, session, 2)

    outcomes = [outcome for _ in range(3) for outcome in await client.run_due(summarizer=FakeSummarizer())]

    assert isinstance(outcomes[-1], Compacted)
    meta = await SessionStore(redis).meta(session.key)
    assert meta is not None
    assert (meta.attempts, meta.parked) == (0, False)
    assert meta.generations[meta.current].replaces == 1
    view = await opened(client).view()
    assert view.generation == meta.current
    assert_sendable(view)


async def test_a_job_that_runs_while_its_base_is_lost_does_not_commit(redis: Redis, client: CompactionClient) -> None:
    session = await with_generations(client, 1)
    await session.record(turns(FORMAT, 20, size=1_500, start=20))

    async def lost(_request: object) -> None:
        await lose(redis, session, 1)
        await opened(client).view()

    (outcome,) = await client.run_due(summarizer=FakeSummarizer(on_request=lost))

    assert getattr(outcome, "reason", "") == "epoch"
    assert_sendable(await session.view())


async def test_rewind_and_rollback_pass_over_what_is_lost(redis: Redis, client: CompactionClient) -> None:
    session = await with_generations(client, 3)
    await lose(redis, session, 2, 3)

    await opened(client).rewind()
    with pytest.raises(Refused, match="choose one of 0, 1"):
        await opened(client).rollback(generation=2, force=True)
    await opened(client).rollback(generation=1, force=True)

    assert_sendable(await opened(client).view())


async def test_mirror_goes_on(redis: Redis, client: CompactionClient) -> None:
    session = opened(client)
    history = turns(FORMAT, 20, size=1_500)
    await session.mirror(history)
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()
    await lose(redis, session, 1)

    view = await opened(client).mirror([*history, human("And now?")])

    assert_sendable(view)
    assert view.messages[-1] == human("And now?")


@pytest.mark.parametrize("how", ["rewind", "amend"])
async def test_a_path_that_moves_while_a_record_is_found_lost_is_measured_by_what_is_left(
    redis: Redis, client: CompactionClient, how: str
) -> None:
    session = await with_generations(client, 2)
    await session.record([human("one"), says("x " * 200), human("two")])
    mine = await stored(redis, "s")
    await lose(redis, session, 2)

    again = opened(client)
    if how == "rewind":
        await again.rewind(turns=1)
    else:
        await again.amend(len(mine) - 1, human("three"))

    meta = await SessionStore(redis).meta(session.key)
    assert meta is not None
    assert meta.current == 1
    await again.view()
    cache = again._cache
    assert cache is not None
    rendering = render(cache.path, await cache.generation(1), cache.fmt)
    assert meta.pressure == rendering.tokens > 0


async def test_a_lost_part_of_the_log_is_an_error_with_a_remedy(redis: Redis, client: CompactionClient) -> None:
    session = await with_generations(client, 1)
    await redis.execute_command("LTRIM", session.key.key("log"), 0, 20)  # type: ignore[no-untyped-call]

    with pytest.raises(StoreFault, match=r"21 of 80 messages.*restore it"):
        await opened(client).view()
