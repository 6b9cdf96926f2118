"""`offturn queue list|replay|drop` and `offturn pause|resume` as an operator calls them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from offturn import CompactionClient
from offturn_config.keys import QUEUE, SessionKey, dead, due, paused
from tests.acceptance.command import offturn
from tests.integration.host import turns

SECRET = "the words of a human"
DUE, PARKED, WAITING, RUNNING = (
    SessionKey(*name) for name in (("acme", "due"), ("acme", "parked"), ("other", "waiting"), ("other", "running"))
)


@pytest.fixture
def store(valkey_url: str) -> Iterator[Redis]:
    """Four sessions of two tenants, each in another state."""

    async def record() -> None:
        for tenant, names in (("acme", ("due", "parked")), ("other", ("waiting", "running"))):
            async with CompactionClient.from_url(valkey_url, tenant=tenant, timeout=20) as client:
                for name in names:
                    session = client.session(name, format="openai-chat", window=14_000)
                    await session.record([{"role": "user", "content": SECRET}, *turns("openai-chat", 22, size=1_500)])

    with Redis.from_url(valkey_url) as redis:
        redis.flushall()
        asyncio.run(record())
        redis.delete(QUEUE, *redis.keys("arq:job:*"))
        now = int(redis.time()[0]) * 1000
        end = {"kind": "died", "at": now, "worker": "pod-1"}
        redis.zrem(due(), PARKED.member)
        redis.hset(PARKED.key("meta"), mapping={"parked": 1, "attempts": 6, "ends": json.dumps([end] * 6)})
        letter = {"at": now, "reason": "attempts", "attempts": 6, "ends": [end] * 6}
        redis.hset(dead(), PARKED.member, json.dumps(letter))
        redis.zadd(due(), {WAITING.member: now + 600_000, RUNNING.member: now + 500_000})
        redis.hset(WAITING.key("meta"), mapping={"attempts": 1, "ends": json.dumps([{**end, "kind": "bug"}])})
        redis.hset(RUNNING.key("meta"), mapping={"leased_until": now + 500_000, "worker": "pod-2", "token": "t"})
        yield redis


def told(url: str, *arguments: str) -> Any:
    done = offturn(*arguments, "--store", url, "--json")
    assert done.returncode == 0, done.stderr
    assert SECRET.encode() not in done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_list_tells_states_reasons_and_totals(store: Redis, valkey_url: str) -> None:
    found = told(valkey_url, "queue", "list")
    rows = {row["session"]: row for row in found["sessions"]}

    assert found["totals"] == {"due": 1, "running": 1, "waiting": 1, "parked": 1}
    assert list(rows) == ["due", "running", "waiting", "parked"]
    assert {name: row["state"] for name, row in rows.items()} == {name: name for name in rows}
    assert rows["due"]["why"] == f"{rows['due']['requirement']} level"
    assert rows["running"]["worker"] == "pod-2"
    assert rows["waiting"]["why"] == "backed off: 1 x bug"
    assert rows["parked"]["why"] == "6 jobs in a row ended badly: 6 x died"
    assert {row["tenant"] for row in told(valkey_url, "queue", "list", "--tenant", "other")["sessions"]} == {"other"}
    assert told(valkey_url, "queue") == found
    some = told(valkey_url, "queue", "list", "--state", "waiting", "--limit", "1")
    assert told(valkey_url, "queue", "--state", "waiting", "--limit", "1") == some
    assert [row["session"] for row in some["sessions"]] == ["waiting"]
    assert some["totals"]["parked"] == 1

    plain = offturn("queue", "list", "--store", valkey_url)
    assert plain.stdout.decode().splitlines()[0].split("\t")[:3] == ["tenant", "session", "state"]
    assert b"1 due, 1 running, 1 waiting, 1 parked" in plain.stderr


def test_replay_gives_the_attempts_back_and_rings(store: Redis, valkey_url: str) -> None:
    refused = offturn("queue", "replay", "--all", "--store", valkey_url)
    neither = offturn("queue", "replay", "--store", valkey_url)
    [parked] = told(valkey_url, "queue", "replay", "--all", "--yes")
    [waiting] = told(valkey_url, "queue", "replay", "waiting", "--tenant", "other")
    [running] = told(valkey_url, "queue", "replay", "running", "--tenant", "other")
    unknown = offturn("queue", "replay", "due", "--store", valkey_url)

    assert (refused.returncode, neither.returncode, unknown.returncode) == (2, 2, 2)
    assert b"1 session of all tenants: say --yes" in refused.stderr
    assert (parked["session"], parked["now"], waiting["now"]) == ("parked", "due, and rung for", "due, and rung for")
    assert running["now"] == "running"
    rung: Any = store.zrange(QUEUE, 0, -1)
    assert {name.split(b":")[2] for name in rung} == {b"parked", b"waiting"}
    assert told(valkey_url, "queue", "list")["totals"] == {"due": 3, "running": 1, "waiting": 0, "parked": 0}


def test_drop_takes_off_due_and_replay_takes_it_back(store: Redis, valkey_url: str) -> None:
    length = store.llen(DUE.key("log"))
    [dropped] = told(valkey_url, "queue", "drop", "due", "--tenant", "acme")
    after = told(valkey_url, "queue", "list", "--tenant", "acme")["totals"]
    refused = offturn("queue", "drop", "--all", "--store", valkey_url)
    others = told(valkey_url, "queue", "drop", "--all", "--yes")
    nothing = offturn("queue", "drop", "--all", "--store", valkey_url)
    [back] = told(valkey_url, "queue", "replay", "due", "--tenant", "acme")

    assert dropped["now"] == "off due until it grows"
    assert after == {"due": 0, "running": 0, "waiting": 0, "parked": 1}
    assert refused.returncode == 2
    assert sorted(one["session"] for one in others) == ["running", "waiting"]
    assert (nothing.returncode, nothing.stderr) == (0, b"nothing to drop\n")
    assert back["now"] == "due, and rung for"
    assert store.llen(DUE.key("log")) == length


def test_pause_and_resume(store: Redis, valkey_url: str) -> None:
    everything = told(valkey_url, "pause", "--reason", "provider is down", "--for", "30m")
    one = told(valkey_url, "pause", "--tenant", "acme")
    listed = told(valkey_url, "queue", "list")
    plain = offturn("queue", "list", "--store", valkey_url)
    asked = offturn("session", "compact", "due", "--store", valkey_url, "--tenant", "acme")
    doctor = json.loads(offturn("doctor", "--json", "--store", valkey_url).stdout)["findings"]
    resumed = offturn("resume", "--tenant", "acme", "--store", valkey_url)
    again = told(valkey_url, "resume", "--tenant", "acme")
    wrong = offturn("pause", "--for", "soon", "--store", valkey_url)

    assert everything["until"] - everything["at"] == 30 * 60_000
    assert listed["pauses"] == [everything, one]
    assert [row["paused"] for row in listed["sessions"]] == [True, True, True, False]
    assert b"paused: all tenants until" in plain.stderr
    assert b"due (paused)" in plain.stdout
    assert asked.returncode == 1
    assert [f["remedy"] for f in doctor if f["name"] == "paused-some"] == [
        f"offturn resume --store {valkey_url}", f"offturn resume --tenant acme --store {valkey_url}"
    ]  # fmt: skip
    assert resumed.stdout == b"tenant acme: resumed\n"
    assert b"still paused: all tenants" in resumed.stderr
    assert (again["resumed"], again["pauses"]) == (False, [everything])
    assert wrong.returncode == 2
    assert b"--for 'soon'" in wrong.stderr
    assert told(valkey_url, "resume")["pauses"] == []
    assert store.exists(paused()) == 0
