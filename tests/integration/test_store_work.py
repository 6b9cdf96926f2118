"""The store's worker side on a real server: claims, generations, due, and what is kept of each."""

from __future__ import annotations

from typing import Any

from redis.asyncio import Redis

from offturn.store.entries import NewEntry
from offturn.store.replies import Busy, Claim, Committed, Finished, Idle, Parked, Recorded, Refused
from offturn.store.sessions import SessionStore
from offturn_config import keys
from offturn_config.keys import SessionKey
from offturn_engine.compaction import Compaction
from offturn_engine.messages import Edit

KEY = SessionKey("default", "s")
LEASE = 60_000


async def started(redis: Redis, *, messages: int = 4, tokens: int = 10) -> tuple[SessionStore, Recorded]:
    """A session that is due."""
    store = SessionStore(redis)
    entries = [NewEntry.of({"content": str(i)}, origin="human", tokens=tokens) for i in range(messages)]
    reply = await store.record(
        KEY, op="start", incarnation=1, tail_length=0, tail_chain="", entries=entries, thresholds=(25, 45, 20)
    )
    assert isinstance(reply, Recorded)
    return store, reply


async def claimed(store: SessionStore, token: str = "t") -> Claim:
    reply = await store.claim(KEY, token=token, lease_ms=LEASE)
    assert isinstance(reply, Claim)
    return reply


async def commit(
    store: SessionStore, at: Recorded, claim: Claim | None, op: str, compaction: Compaction
) -> Committed | Any:
    return await store.commit(
        KEY,
        incarnation=1,
        epoch=at.epoch,
        base=compaction.base,
        chain_length=at.length,
        chain=at.chain,
        compaction=compaction,
        at_tokens=at.path_tokens,
        claim=claim,
        op=op,
    )


async def test_a_generation_comes_back_as_it_was_committed(redis: Redis) -> None:
    store, at = await started(redis)
    claim = await claimed(store)
    edit = Edit(seq=3, part=0, rule="arguments", arguments={"lone": "\ud800", "n": [1.5, None]})
    made = Compaction(
        covered=((0, 1), (2, 3)), edits=(edit,), summary="about \ud800", seen=4, method="model", tokens_after=12
    )

    reply = await commit(store, at, claim, "nonce", made)
    found = await store.generation(KEY, 1)
    meta = await store.meta(KEY)

    assert reply == Committed(number=1, revision=(1, "nonce"), adopted=0)
    assert found
    assert found == made.model_copy(update={"number": 1, "nonce": "nonce", "at": found.at})
    assert found.at > 0
    assert meta
    info = meta.generations[1]
    assert (info.covered, info.seen, info.tokens_after, info.at_tokens) == (((0, 1), (2, 3)), 4, 12, 40)
    assert meta.pressure == 12
    assert await store.generation(KEY, 2) is None


async def test_a_generation_that_covers_nothing(redis: Redis) -> None:
    store, at = await started(redis)

    reply = await commit(store, at, await claimed(store), "nonce", Compaction(tokens_after=40, seen=4))

    assert isinstance(reply, Committed)
    meta = await store.meta(KEY)
    assert meta
    assert meta.generations[1].covered == ()


async def test_pressure_counts_what_came_after_the_plan(redis: Redis) -> None:
    store, at = await started(redis)
    await commit(store, at, await claimed(store), "nonce", Compaction(covered=((0, 3),), tokens_after=15, seen=4))

    reply = await store.record(
        KEY, op="more", incarnation=1, tail_length=0, tail_chain="",
        entries=[NewEntry.of({}, origin="human", tokens=9)],
    )  # fmt: skip

    assert isinstance(reply, Recorded)
    assert (reply.pressure, reply.path_tokens, reply.requirement) == (24, 49, "none")


async def test_at_most_16_generations_are_kept(redis: Redis) -> None:
    store, at = await started(redis)
    claim = await claimed(store)
    for number in range(1, 21):
        reply = await commit(store, at, claim, f"n{number}", _covering(number - 1))
        assert isinstance(reply, Committed)
        if number == 2:
            await store.adopt(KEY, incarnation=1, length=at.length, nonce="view")

    meta = await store.meta(KEY)

    assert meta
    kept = {2, *range(6, 21)}  # in force, current, and the newest of what it replaced
    assert set(meta.generations) == kept
    assert {n for n in range(1, 21) if await store.generation(KEY, n)} == kept


async def test_generations_no_longer_reachable_are_forgotten_first(redis: Redis) -> None:
    store, at = await started(redis)
    claim = await claimed(store)
    for number in range(1, 9):
        await commit(store, at, claim, f"n{number}", _covering(number - 1))
    await store.rollback(KEY, op="back", incarnation=1, target=3)
    meta = await store.meta(KEY)
    assert meta
    for number in range(9, 20):
        await store.commit(
            KEY, incarnation=1, epoch="back", base=3 if number == 9 else number - 1, chain_length=at.length,
            chain=at.chain, compaction=_covering(3), at_tokens=40, claim=claim, op=f"n{number}",
        )  # fmt: skip

    meta = await store.meta(KEY)

    assert meta
    assert sorted(meta.generations) == [1, 2, 3, 7, 8, *range(9, 20)]


def _covering(base: int) -> Compaction:
    return Compaction(base=base, covered=((0, 3),), tokens_after=40, seen=4, method="model")


async def test_the_newest_64_chunks_are_kept(redis: Redis) -> None:
    store, _ = await started(redis)
    for n in range(64):
        assert await store.save_chunk(KEY, incarnation=1, redactions=0, chunk_key=f"c{n}", value=f"paid {n} \ud800")
    await store.save_chunk(KEY, incarnation=1, redactions=0, chunk_key="c0", value="again")
    await store.save_chunk(KEY, incarnation=1, redactions=0, chunk_key="new", value="last")

    assert await store.chunk(KEY, "c0") == "again"
    assert await store.chunk(KEY, "c1") is None
    assert await store.chunk(KEY, "c2") == "paid 2 \ud800"
    assert not await store.save_chunk(KEY, incarnation=2, redactions=0, chunk_key="other life", value="x")
    assert await store.chunk(KEY, "other life") is None


async def test_events_are_bounded(redis: Redis) -> None:
    store, _ = await started(redis)
    for n in range(1_300):
        await store.request(KEY, op=f"r{n}", incarnation=1, reason="manual")

    events = await store.events(KEY, limit=5_000)

    assert 1_000 <= len(events) < 1_200
    assert events[-1].fields == {"request": 1_301, "reason": "manual"}


async def test_a_claim_moves_due_to_the_end_of_the_lease(redis: Redis) -> None:
    store, _ = await started(redis)
    waiting = await store.due()
    claim = await claimed(store)
    score = await redis.zscore(keys.due(), KEY.member)

    busy = await store.claim(KEY, token="other", lease_ms=LEASE)
    renewed = await store.renew(KEY, claim=claim, lease_ms=2 * LEASE)
    later = await redis.zscore(keys.due(), KEY.member)
    meta = await store.meta(KEY)

    assert [key for key, _ in waiting] == [KEY]
    assert isinstance(busy, Busy)
    assert 0 < busy.remaining_ms <= LEASE
    assert renewed
    assert score is not None
    assert later is not None
    assert later >= score + LEASE
    assert meta
    assert (meta.leased, meta.due, meta.leased_until) == (True, True, int(later))
    assert await store.due() == []


async def test_a_failed_job_waits_and_a_request_does_not(redis: Redis) -> None:
    store, _ = await started(redis)
    claim = await claimed(store)

    failed = await store.finish(
        KEY, claim=claim, outcome="failed", backoff_ms=LEASE, detail={"kind": "rate_limit", "retry_after": 1.5}
    )
    waiting = await store.due()
    await store.request(KEY, op="now", incarnation=1, reason="manual", focus="tests", note="done")

    assert failed == Finished(due=True, ring=False, request_no=1)
    assert waiting == []
    assert [key for key, _ in await store.due()] == [KEY]
    event = (await store.events(KEY))[2]
    assert event.kind == "finished"
    assert event.fields == {
        "outcome": "failed", "request": 1, "served": 0, "due": True, "kind": "rate_limit", "retry_after": 1.5,
    }  # fmt: skip
    again = await claimed(store, "second")
    assert (again.reason, again.focus, again.note, again.attempts) == ("manual", "tests", "done", 1)


async def test_a_lease_ends_by_itself(redis: Redis) -> None:
    store, _ = await started(redis)
    await store.claim(KEY, token="short", lease_ms=0)

    claim = await store.claim(KEY, token="next", lease_ms=LEASE)

    assert isinstance(claim, Claim)
    assert (claim.fence, claim.attempts, claim.reason) == (2, 2, "threshold")


async def test_a_session_that_kills_its_workers_is_parked(redis: Redis) -> None:
    store, _ = await started(redis)
    for n in range(6):
        await store.claim(KEY, token=f"dies {n}", lease_ms=0)

    parked = await store.claim(KEY, token="seventh", lease_ms=LEASE)
    idle = await store.claim(KEY, token="eighth", lease_ms=LEASE)
    dead = await redis.execute_command("HGET", keys.dead(), KEY.member)  # type: ignore[no-untyped-call]
    await store.request(KEY, op="please", incarnation=1, reason="manual")

    assert (parked, idle) == (Parked(), Idle())
    assert b'"attempts":6' in dead
    assert await redis.exists(keys.dead()) == 0
    assert (await claimed(store)).attempts == 1


async def test_a_claim_tells_how_long_the_session_waited_and_of_a_claim_nobody_released(redis: Redis) -> None:
    store, _ = await started(redis)
    due_since = await store.now_ms() - 5_000
    await redis.execute_command("ZADD", keys.due(), due_since, KEY.member)  # type: ignore[no-untyped-call]
    first = await store.claim(KEY, token="dies", lease_ms=0)
    second = await claimed(store, "second")
    await store.finish(KEY, claim=second, outcome="failed", backoff_ms=60_000)
    third = await claimed(store, "third")

    assert isinstance(first, Claim)
    assert (first.waited_ms >= 5_000, first.died) == (True, False)
    assert (second.waited_ms < 5_000, second.died) == (True, True)  # since the first one's lease
    assert (third.waited_ms, third.died) == (0, False)  # earlier than it was due


async def test_a_newer_request_rings_again_at_finish(redis: Redis) -> None:
    store, _ = await started(redis)
    claim = await claimed(store)
    await store.request(KEY, op="more", incarnation=1, reason="phase")

    finished = await store.finish(KEY, claim=claim, outcome="compacted")
    twice = await store.finish(KEY, claim=claim, outcome="compacted")

    assert finished == Finished(due=True, ring=True, request_no=2)
    assert twice == Refused(why="fence")
