"""Each check of the doctor: what it says of a state that is hard to bring about, and of a real store's sessions."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Health, WorkerSeen, __version__
from offturn.beating import policy_hashes
from offturn.store.limits import SharedLimits
from offturn.store.workers import About
from offturn_config import keys
from offturn_config.settings import load_worker_settings
from offturn_worker import server as worker_server
from offturn_worker.doctor import attendance, storage
from offturn_worker.doctor import server as doctor_server
from offturn_worker.doctor.breakers import breakers
from offturn_worker.doctor.examine import examine
from offturn_worker.doctor.findings import Finding, finding, in_order
from offturn_worker.doctor.server import Server
from offturn_worker.doctor.sessions import read, sessions
from offturn_worker.doctor.target import Target
from tests.integration.host import turns

STORE = Target.of("store", "redis://localhost:6379/0", given=False)
QUEUE = Target.of("queue", "redis://other:6379/0", given=False)
WELL: dict[str, Any] = {
    "valkey_version": "8.1.0",
    "role": "master",
    "connected_slaves": 2,
    "aof_enabled": 1,
    "aof_last_write_status": "ok",
    "maxmemory_policy": "noeviction",
    "maxmemory": 100,
    "used_memory": 10,
    "run_id": "a",
}


def says(skew_ms: int = 0, fsync: str | None = "everysec", **info: Any) -> Server:
    return Server(milliseconds=1, skew_ms=skew_ms, info={**WELL, **info}, appendfsync=fsync)


def ill(found: Sequence[Finding]) -> list[str]:
    return [one.name for one in found if one.level != "ok"]


@pytest.mark.parametrize(
    ("server", "names"),
    [
        (says(), []),
        (says(fsync=None), []),
        (says(fsync="always"), []),
        (says(maxmemory=0, used_memory=10**12), []),
        (says(valkey_version="7.1.9"), ["store-old"]),
        (says(valkey_version="7.2.0"), []),
        (says(valkey_version="10.0"), []),
        (Server(milliseconds=1, skew_ms=0, info={"redis_version": "6.0.16"}, appendfsync=None), ["store-old", "append-only-untold", "eviction-untold"]),
        (Server(milliseconds=1, skew_ms=0, info={}, appendfsync=None), ["store-untold"]),
        (says(aof_enabled=0), ["append-only-off"]),
        (says(aof_last_write_status="err"), ["append-only-failing"]),
        (says(fsync="no"), ["append-only-lazy"]),
        (says(maxmemory_policy="volatile-lru"), ["eviction-on"]),
        (says(used_memory=79), []),
        (says(used_memory=80), ["headroom-low"]),
        (says(used_memory=95), ["headroom-none"]),
        (says(skew_ms=1_000), []),
        (says(skew_ms=-1_001), ["clock-skew"]),
        (says(skew_ms=60_001), ["clock-wrong"]),
        (says(role="slave", master_host="10.0.0.9", master_port=6380), ["role-replica"]),
    ],
)  # fmt: skip
def test_a_store(server: Server, names: list[str]) -> None:
    assert ill(list(storage.store(STORE, server))) == names


@pytest.mark.parametrize(
    ("server", "shared", "names"),
    [
        (says(), False, []),
        (says(aof_enabled=0), False, []),
        (says(cluster_enabled=1), True, ["queue-cluster"]),
        (says(redis_mode="cluster"), False, ["queue-cluster"]),
        (says(role="slave"), False, ["queue-replica"]),
        (says(role="slave"), True, []),
        (says(maxmemory_policy="allkeys-lru"), False, ["queue-evicts"]),
        (says(valkey_version="7.0"), False, ["queue-old"]),
    ],
)
def test_a_server_for_the_queue(server: Server, shared: bool, names: list[str]) -> None:
    assert ill(list(storage.queue(QUEUE, server, shared=shared))) == names


def seen(name: str = "w", age_ms: int = 1_000, **about: Any) -> WorkerSeen:
    given = {"version": __version__, "queue": keys.QUEUE, "policies": policy_hashes(), **about}
    return WorkerSeen(id=name, at=0, age_ms=age_ms, about=About(**given))


@pytest.mark.parametrize(
    ("workers", "due", "names"),
    [
        ([seen()], 3, []),
        ([seen(kind="in-process", queue="", age_ms=600_000)], 3, []),
        ([], 0, ["workers-idle"]),
        ([], 1, ["workers-none"]),
        ([seen(draining=True)], 1, ["workers-none"]),
        ([seen(age_ms=20_000)], 1, ["workers-none"]),
        ([seen(), seen("x", draining=True)], 1, []),
        ([seen(), seen("x", age_ms=20_000)], 1, ["workers-gone"]),
        ([seen(), seen("x", age_ms=3_600_000)], 1, []),
    ],
)
def test_who_is_there(workers: list[WorkerSeen], due: int, names: list[str]) -> None:
    health = Health(reachable=True, workers=tuple(workers), due=due)
    assert ill(list(attendance.workers(health, STORE))) == names


def test_many_workers_make_one_line() -> None:
    health = Health(reachable=True, workers=tuple(seen(f"w{number}") for number in range(40)))
    [line] = attendance.workers(health, STORE)
    assert line.facts.startswith("40 here: w0 (")
    assert line.facts.endswith("; 36 more")


def test_other_releases_and_policies() -> None:
    same, other = seen(), seen("o", version="99.0.0", policies={**policy_hashes(), "balanced": "0", "new": "1"})
    gone = seen("g", age_ms=20_000, version="0.0.1", queue="x", policies={"balanced": "0"})

    [release] = attendance.releases([same, other, gone])
    [policy] = attendance.policies([same, other, gone], policy_hashes())

    assert (release.facts, release.remedy) == (
        f"o runs 99.0.0, this is {__version__}",
        "pip install '.[worker]'  # in a clone of offturn 99.0.0",
    )
    assert policy.facts == "o has other values of balanced, new than this installation"
    assert list(attendance.queue_names([same, other, gone])) == []
    assert [one.level for one in attendance.queue_names([seen(queue="x")])] == ["fail"]
    assert attendance.listening([same, gone, seen(kind="in-process"), seen(queue="x")]) == [same]


async def test_sessions_that_wait_and_those_that_are_parked(client: CompactionClient, redis: Redis) -> None:
    for name in ("odd name", "s2"):
        session = client.session(name, format="openai-chat", window=10_000)
        await session.record(turns("openai-chat", 16))
    fresh = list(sessions(await read(redis), STORE))
    [(_, score)] = await redis.zrange(keys.due(), 0, 0, withscores=True)
    await redis.zadd(keys.due(), {"default:odd%20name": score - 61_000})
    late = list(sessions(await read(redis), STORE))
    await redis.zadd(keys.due(), {"default:odd%20name": score - 601_000})
    unattended = list(sessions(await read(redis), STORE))
    await client.run_due()  # says that this process compacts
    await client.session("s2", format="openai-chat").request()
    await redis.zadd(keys.due(), {"default:s2": score - 601_000})
    execute: Callable[..., Awaitable[int]] = redis.execute_command
    await execute("HSET", keys.dead(), "bots:a b", json.dumps({"reason": "attempts", "attempts": 6, "at": 0}))
    await execute("HSET", keys.dead(), "a later release's", b"\xff")
    stuck = list(sessions(await read(redis), STORE))

    assert [ill(found) for found in (fresh, late, unattended)] == [[], ["due-late"], ["due-late"]]
    assert late[0].remedy == f"offturn session events {shlex.quote('odd name')}"
    assert ill(stuck) == ["due-stuck", "parked-some"]
    assert stuck[1].facts.startswith("2 parked")
    assert stuck[1].remedy == "offturn session unblock 'a b' --tenant bots"


async def test_a_due_session_of_another_release_hides_nothing(client: CompactionClient, redis: Redis) -> None:
    for name in ("later", "ours"):
        session = client.session(name, format="openai-chat", window=10_000, model=f"openai:{name}")
        await session.record(turns("openai-chat", 16))
    execute: Callable[..., Awaitable[int]] = redis.execute_command
    await execute("HSET", keys.SessionKey("default", "later").key("meta"), "v", "3")
    found = await read(redis)

    assert (found.health.due, found.models) == (2, {"openai:ours"})


async def test_breakers_that_are_open(redis: Redis) -> None:
    limits = SharedLimits(redis)
    sizes: dict[str, Any] = {"failures": 5, "pause_ms": 60_000, "longest_ms": 60_000}
    before = list(breakers(await limits.routes(), 0, STORE))
    await limits.route_leave("openai:a#0123", token="t", trouble="auth", permanent=True, **sizes)
    await limits.route_leave("openai:b#0123", token="t", trouble="timeout", **sizes)
    for _ in range(5):
        await limits.route_leave("openai:c#0123", token="t", trouble="overloaded", **sizes)
    found = await read(redis)
    after = list(breakers(found.routes, found.now_ms, STORE))

    assert ill(before) == []
    assert ill(after) == ["breakers-repair", "breakers-open"]
    assert after[0].facts.startswith("openai:a is left alone for ")
    assert after[1].facts.endswith(": overloaded")
    assert "0123" not in "".join(one.facts for one in after)


@pytest.mark.parametrize(
    ("told", "ahead"), [(10.0, 0), (11.5, 0), (13.0, 0), (8.5, 1500), (15.0, -2000)], ids=lambda value: str(value)
)
async def test_a_late_answer_is_no_wrong_clock(told: float, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked at 10, answered at 13: a store that told a time in between may be right."""

    class Late:
        async def ping(self) -> None: ...

        async def time(self) -> tuple[int, int]:
            return int(told), round(told % 1 * 1_000_000)

        async def execute_command(self, *_: str) -> dict[str, str]:
            return {}

        async def config_get(self, _: str) -> dict[str, str]:
            return {}

    late: Any = Late()
    for module in (worker_server, doctor_server):
        clock = iter((10.0, 13.0))
        monkeypatch.setattr(
            module, "time", SimpleNamespace(time=lambda clock=clock: next(clock), monotonic=time.monotonic)
        )
    assert await worker_server._skew_ms(late) == ahead
    assert (await doctor_server._look(late)).skew_ms == ahead


async def test_it_changes_nothing(client: CompactionClient, redis: Redis, valkey_url: str) -> None:
    await client.session("s", format="openai-chat", window=10_000).record(turns("openai-chat", 16))

    async def everything() -> dict[bytes, bytes]:
        return {key: await redis.dump(key) async for key in redis.scan_iter()}

    before = await everything()
    await examine(load_worker_settings(store_url=valkey_url), Target.of("store", valkey_url, given=True), None)
    assert await everything() == before


def test_a_long_queue_and_odd_names_stay_on_their_line() -> None:
    odd = finding("queue-long", "a\nb\x1b[31m\u202ec", store="")
    assert odd.facts == "a?b?[31m?c"
    assert in_order([odd, finding("store", "x")])[0].name == "store"


@pytest.mark.parametrize(
    ("url", "given", "cli", "option"),
    [
        ("redis://h:1/2", False, "redis-cli -u redis://h:1/2", ""),
        ("redis://h:1/2", True, "redis-cli -u redis://h:1/2", " --store redis://h:1/2"),
        ("redis://u:p@h:1/2", False, 'redis-cli -u "$OFFTURN_STORE_URL"', ""),
        ("redis://u:p@h:1/2", True, "redis-cli -u redis://h:1/2", " --store redis://h:1/2"),
        ("unix:///run/a b.sock", False, "redis-cli -s '/run/a b.sock'", ""),
    ],
)
def test_commands_reach_the_server_and_hold_no_password(url: str, given: bool, cli: str, option: str) -> None:
    target = Target.of("store", url, given=given)
    assert (target.cli, target.option) == (cli, option)
    assert "u:p" not in repr(target)
