"""Another message in the place of one: on the path, in what is covered, in the tail."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from offturn import (
    Compacted,
    CompactionClient,
    InvalidMessage,
    Refused,
)
from offturn.loading import Job, load
from offturn.store.replies import Claim
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from tests.integration.host import FORMATS, calls, human, result, says, stored, turns
from tests.integration.moved import assert_sound, compacted, open_session


@pytest.mark.parametrize("fmt", FORMATS)
async def test_amend_puts_a_message_in_the_place_of_another(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 3)
    ids = [f"row {i}" for i in range(12)]
    await session.record(mine, ids=ids)

    seq = await session.amend("row 4", human("Look into another module."))
    view = await session.view()
    now = [*mine[:4], human("Look into another module."), *mine[5:]]
    mirrored = await session.mirror([*now, human("Go on.")], ids=[*ids, "row 12"])

    assert seq == 12
    assert view.path == ((0, 4), (12, 13), (5, 12))
    assert list(view.messages) == now
    assert list(mirrored.messages) == [*now, human("Go on.")]
    assert mirrored.path == ((0, 4), (12, 13), (5, 12), (13, 14))
    assert await stored(redis, "chat") == [*mine, human("Look into another module."), human("Go on.")]
    await assert_sound(session, mirrored)


async def test_amend_twice_by_id_and_equal_content(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client)
    mine = turns("openai-chat", 1)
    await session.record(mine, ids=["a", "b", "c", "d"])

    assert await session.amend("a", human("One.")) == 4
    assert await session.amend("a", human("One.")) == 4
    assert await session.amend("a", human("Two.")) == 5
    assert await session.amend(3, says("Done.")) == 6

    with pytest.raises(Refused, match="not on the path"):
        await session.amend(4, human("Three."))
    assert (await session.record([human("Two.")], ids=["a"])).first_seq == 7
    assert list((await session.view()).messages) == [human("Two."), *mine[1:3], says("Done.")]
    assert len(await stored(redis, "chat")) == 7


async def test_amend_keeps_who_wrote_a_message(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record([human("Facts: none.")], origin="host")
    await session.record([human("Go."), says("Done.")])

    await session.amend(0, human("Facts: one."))
    await session.amend(1, human("Go on."))

    lines = {line["seq"]: line["origin"] async for line in session.export() if line["kind"] == "message"}
    assert (lines[3], lines[4]) == ("host", "human")


async def test_amend_may_not_leave_results_without_calls(client: CompactionClient) -> None:
    session = open_session(client)
    mine = turns("openai-chat", 2)
    await session.record(mine)

    with pytest.raises(Refused, match="1 results on the path would have no call"):
        await session.amend(1, says("No call."))
    with pytest.raises(InvalidMessage):
        await session.amend(1, {"role": "nobody"})
    await session.amend(2, result("openai-chat", "call_0", "Other text."))
    await session.amend(1, calls("openai-chat", "call_0", command="cat other.py"))

    view = await session.view()
    assert [m.get("content") for m in view.messages[1:3]] == [None, "Other text."]
    await assert_sound(session, view)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_amend_in_the_covered_range_falls_back_and_is_compacted_anew(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt)
    await session.record(turns(fmt, 4, start=40))

    await session.amend(8, human("Please look into the amended module."))
    view = await session.view()
    assert view.generation != 1
    await assert_sound(session, view)
    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    after = await session.view()

    assert isinstance(outcome, Compacted)
    assert after.generation == outcome.generation
    assert "Please look into the amended module." in str(after.messages)
    assert "Please look into module 2." not in str(after.messages)
    await assert_sound(session, after)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_amend_in_the_tail_keeps_the_generation(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt)
    await session.record(turns(fmt, 1, start=40))

    await session.amend(88, human("Please look into the amended module."))
    view = await session.view()

    assert view.generation == 1
    assert view.messages[-4] == human("Please look into the amended module.")
    await assert_sound(session, view)
    await session.rewind()
    await assert_sound(session, await session.view())


async def test_a_job_proves_the_newest_message_though_the_path_shows_it_early(client: CompactionClient) -> None:
    session = await compacted(client)
    await session.amend(8, human("Amended."))
    await session.request()
    store: SessionStore = (await session._connector.links()).store

    claim = await store.claim(session.key, token="t", lease_ms=60_000)
    assert isinstance(claim, Claim)
    job = await load(session.key, store, claim)
    meta = await store.meta(session.key)

    assert isinstance(job, Job)
    assert meta is not None
    assert (job.length, job.chain, job.path_tokens) == (89, meta.chain, meta.path_tokens)
