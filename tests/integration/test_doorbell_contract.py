"""The doorbell writes what arq's own enqueue_job writes; arq is imported by the test only."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from arq import constants
from arq.connections import ArqRedis
from arq.jobs import deserialize_job_raw
from arq.worker import Worker, func
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from offturn import doorbell
from offturn.doorbell import EXPIRES_MS, FUNCTION, Doorbell, dumps, job_id, loads
from offturn.store.errors import StoreUnavailable
from offturn_config import keys
from offturn_config.keys import QUEUE, SessionKey

KEY = SessionKey("team-a", "telegram:42/é %")
NUMBER = 7
ID = job_id(KEY, NUMBER)
PAYLOAD = constants.job_key_prefix + ID


def arq_client(redis: Redis) -> ArqRedis:
    return ArqRedis(redis.connection_pool, job_serializer=dumps, job_deserializer=loads, default_queue_name=QUEUE)


def arq_worker(redis: Redis, function: Any, name: str = FUNCTION, **options: Any) -> Worker:
    given_options = {"job_serializer": dumps, "job_deserializer": loads, "poll_delay": 0.01, **options}
    return Worker(
        [func(function, name=name)],
        redis_pool=arq_client(redis),
        queue_name=QUEUE,
        burst=True,
        handle_signals=False,
        **given_options,
    )


async def nothing(ctx: dict[str, Any], *args: Any) -> None:
    return None


def test_names_are_pinned() -> None:
    assert QUEUE == "offturn:queue"
    assert ID == "offturn:team-a:telegram%3A42%2F%C3%A9%20%25:7"
    assert f"arq:job:{ID}" == PAYLOAD
    assert FUNCTION == "compact_session"


def test_a_host_needs_no_arq() -> None:
    tree = ast.parse(inspect.getsource(doorbell))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(str(module).startswith("arq") for module in modules)


async def test_writes_what_arq_writes(redis: Redis) -> None:
    assert await Doorbell(redis).ring(KEY, NUMBER)
    ours = await redis.get(PAYLOAD)
    our_score = await redis.zscore(QUEUE, ID)
    await redis.flushall()

    arq = arq_client(redis)
    arq.expires_extra_ms = EXPIRES_MS
    assert await arq.enqueue_job(FUNCTION, KEY.tenant, KEY.session, NUMBER, _job_id=ID)
    theirs = await redis.get(PAYLOAD)
    assert await redis.zscore(QUEUE, ID) == pytest.approx(our_score, abs=60_000)

    mine, arqs = loads(ours), loads(theirs)
    assert list(mine) == list(arqs) == ["t", "f", "a", "k", "et"]
    assert mine.pop("et") == pytest.approx(arqs.pop("et"), abs=60_000)
    assert mine == arqs
    assert ours.rpartition(b":")[0] == theirs.rpartition(b":")[0]  # byte for byte, up to the time


async def test_score_is_redis_time_in_whole_ms(redis: Redis) -> None:
    def ms(reply: tuple[int, int]) -> int:
        return reply[0] * 1000 + reply[1] // 1000

    before = ms(await redis.time())
    await Doorbell(redis).ring(KEY, NUMBER)
    after = ms(await redis.time())
    execute: Callable[..., Awaitable[bytes]] = redis.execute_command
    raw = await execute("ZSCORE", QUEUE, ID)
    assert float(raw) == int(raw)
    assert before <= int(raw) <= after
    assert loads(await redis.get(PAYLOAD))["et"] == int(raw)


async def test_payload_expires_in_seven_days(redis: Redis) -> None:
    await Doorbell(redis).ring(KEY, NUMBER)
    assert EXPIRES_MS == 7 * 86_400_000
    assert EXPIRES_MS - 60_000 < await redis.pttl(PAYLOAD) <= EXPIRES_MS


async def test_a_second_ring_adds_nothing(redis: Redis) -> None:
    bell = Doorbell(redis)
    assert await bell.ring(KEY, NUMBER)
    first = (await redis.get(PAYLOAD), await redis.zrange(QUEUE, 0, -1, withscores=True))
    assert not await bell.ring(KEY, NUMBER)
    assert first == (await redis.get(PAYLOAD), await redis.zrange(QUEUE, 0, -1, withscores=True))
    assert await bell.ring(KEY, NUMBER + 1)
    assert await redis.zcard(QUEUE) == 2


async def test_arq_refuses_what_we_rang_and_we_refuse_what_arq_queued(redis: Redis) -> None:
    await Doorbell(redis).ring(KEY, NUMBER)
    assert await arq_client(redis).enqueue_job(FUNCTION, _job_id=ID) is None
    await redis.flushall()
    await arq_client(redis).enqueue_job(FUNCTION, KEY.tenant, KEY.session, NUMBER, _job_id=ID)
    assert not await Doorbell(redis).ring(KEY, NUMBER)


async def test_half_a_job_is_made_whole(redis: Redis) -> None:
    bell = Doorbell(redis)
    await bell.ring(KEY, NUMBER)
    await redis.delete(QUEUE)
    assert await bell.ring(KEY, NUMBER)
    assert await redis.zcard(QUEUE) == 1
    await redis.delete(PAYLOAD)
    assert await bell.ring(KEY, NUMBER)
    assert (await redis.zcard(QUEUE), await redis.exists(PAYLOAD)) == (1, 1)


async def test_a_ring_while_the_job_runs_is_no_second_job(redis: Redis) -> None:
    bell, rung = Doorbell(redis), []

    async def running(ctx: dict[str, Any], *args: Any) -> None:
        rung.append(await bell.ring(KEY, NUMBER))

    await bell.ring(KEY, NUMBER)
    await arq_worker(redis, running, keep_result=0).main()
    assert rung == [False]
    assert await redis.zcard(QUEUE) == 0
    assert await bell.ring(KEY, NUMBER)  # the same request, after its job failed


async def test_a_real_arq_worker_runs_it(redis: Redis) -> None:
    calls: list[tuple[Any, ...]] = []

    async def compact_session(ctx: dict[str, Any], *args: Any) -> None:
        calls.append((ctx["job_id"], *args))

    await Doorbell(redis).ring(KEY, NUMBER)
    worker = arq_worker(redis, compact_session)
    await worker.main()
    assert calls == [(ID, KEY.tenant, KEY.session, NUMBER)]
    assert worker.jobs_failed == 0


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("another_function", {}),
        (FUNCTION, {"job_serializer": None, "job_deserializer": None}),
    ],
    ids=["function", "pickle"],
)
async def test_a_foreign_worker_loses_nothing(redis: Redis, name: str, options: dict[str, Any]) -> None:
    await redis.zadd(keys.due(), {KEY.member: 1})
    bell = Doorbell(redis)
    await bell.ring(KEY, NUMBER)
    foreign = arq_worker(redis, nothing, name, **options)  # with arq's default: a failure is kept for an hour
    await foreign.main()

    assert foreign.jobs_failed == 1
    assert await redis.zcard(QUEUE) == 0
    assert await redis.exists(constants.result_key_prefix + ID)
    assert await redis.zscore(keys.due(), KEY.member) == 1
    assert await bell.ring(KEY, NUMBER)
    assert await redis.zcard(QUEUE) == 1


@given(session=st.text(min_size=1, max_size=60).filter(lambda text: _encodable(text)), number=st.integers(0, 2**53))
def test_every_session_id_survives(session: str, number: int) -> None:
    key = SessionKey("default", session)
    data = dumps({"t": None, "f": FUNCTION, "a": [key.tenant, key.session, number], "k": {}, "et": 1})
    _, args, _, _, _ = deserialize_job_raw(data, deserializer=loads)
    assert [*args] == ["default", session, number]
    assert job_id(key, number).isascii()


def _encodable(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def test_what_is_not_json_is_an_error() -> None:
    with pytest.raises(ValueError, match="UTF-8"):
        loads(b"\x80\x04}.")  # what a pickling client writes


async def test_no_queue_is_an_error_of_ours() -> None:
    gone = Redis(host="127.0.0.1", port=1, socket_connect_timeout=0.2)
    with pytest.raises(StoreUnavailable):
        await Doorbell(gone).ring(KEY, NUMBER)
    await gone.aclose()
