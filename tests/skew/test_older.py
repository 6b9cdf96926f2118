"""Sessions that an older release wrote: this one reads them, goes on with them, and keeps its promises on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Session
from offturn.store.replies import Claim
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from tests.integration.host import assert_sendable
from tests.skew.keyspace import dump, restore
from tests.skew.record_dumps import handle, talk

DUMPS = sorted((Path(__file__).parent / "dumps").glob("*.json"))
LIVE = ("new", "compacted", "moved", "parked", "held")


@pytest.fixture(params=DUMPS, ids=lambda path: path.stem)
async def recorded(request: pytest.FixtureRequest, redis: Redis) -> dict[str, Any]:
    """The store holds what that release wrote."""
    found: dict[str, Any] = json.loads(request.param.read_text(encoding="utf-8"))
    await restore(redis, found)
    return found


async def raws(session: Session) -> list[Any]:
    return list((await session.view(generation=0, window=1_000_000)).messages)


async def sized(redis: Redis, name: str) -> tuple[int, int]:
    """Bytes as counted, and as they are."""
    key, commands = SessionKey("default", name), redis.execute_command
    meta = await SessionStore(redis).meta(key)
    assert meta is not None
    items: list[bytes] = await commands("LRANGE", key.key("log"), 0, -1)  # type: ignore[no-untyped-call]
    return meta.log_bytes, sum(map(len, items))


async def test_a_dump_is_the_store(recorded: dict[str, Any], redis: Redis) -> None:
    assert await dump(redis) == recorded


async def test_views_of_an_older_release_can_be_read(recorded: dict[str, Any], client: CompactionClient) -> None:
    for name in LIVE:
        session = handle(client, name)
        status = await session.status()
        for number in (0, *(g.number for g in await session.generations())):
            if name != "moved" or number == 0 or number == status.generation:
                assert_sendable(await session.view(generation=number))
        assert_sendable(await session.view())
    assert (await handle(client, "compacted").status()).current == 2
    assert (await raws(handle(client, "compacted"))) == talk(49)


@pytest.mark.parametrize("name", LIVE)
async def test_a_session_goes_on(name: str, recorded: dict[str, Any], redis: Redis, client: CompactionClient) -> None:
    session = handle(client, name)
    before = await raws(session)
    more = talk(8, 60)
    if name == "new":
        more = [{"role": "tool", "tool_call_id": "call_1", "content": "module_1.py"}, *more]

    await session.record(more)
    await session.unblock()
    await session.request()
    outcomes = await client.run_due(summarizer=FakeSummarizer())

    assert any(isinstance(outcome, Compacted) for outcome in outcomes)
    assert await raws(session) == [*before, *more]
    assert_sendable(await session.view())
    counted, there = await sized(redis, name)
    assert counted == there


async def test_ids_and_paid_chunks_of_an_older_release_count(
    recorded: dict[str, Any], client: CompactionClient
) -> None:
    session = handle(client, "compacted")

    again = await session.record(talk(1), ids=[f"row {i}" for i in range(4)])

    assert again.first_seq > again.last_seq


async def test_a_tombstone_of_an_older_release_counts(
    recorded: dict[str, Any], redis: Redis, client: CompactionClient
) -> None:
    await handle(client, "ended").record(talk(1))

    meta = await SessionStore(redis).meta(SessionKey("default", "ended"))
    assert meta is not None
    assert meta.incarnation == 2


async def test_a_claim_of_an_older_worker_is_fenced(recorded: dict[str, Any], redis: Redis) -> None:
    store, key = SessionStore(redis), SessionKey("default", "held")
    before = await store.meta(key)

    claim = await store.claim(key, token="new", lease_ms=60_000)

    assert isinstance(claim, Claim)
    assert before is not None
    assert (claim.fence, claim.focus) == (before.fence + 1, "the port")
    old = Claim(
        **{name: getattr(claim, name) for name in Claim.__dataclass_fields__}
        | {"fence": before.fence, "token": before.token}
    )
    assert not await store.renew(key, claim=old, lease_ms=1)


async def test_what_an_older_release_appends_meanwhile_is_counted(
    recorded: dict[str, Any], redis: Redis, client: CompactionClient
) -> None:
    """It knows nothing of the count: the next append by this one finds out."""
    commands: Any = redis
    meta = SessionKey("default", "compacted").key("meta")
    session = handle(client, "compacted")
    await session.record(talk(1, 70))
    counted = await commands.hmget(meta, "log_bytes", "measured")

    await session.record(talk(3, 80))  # as if by an older release: the counts stay
    await commands.hset(meta, mapping=dict(zip(("log_bytes", "measured"), counted, strict=True)))
    await session.record(talk(1, 90))

    assert (await sized(redis, "compacted"))[0] == (await sized(redis, "compacted"))[1]
