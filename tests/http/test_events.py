"""Events as they happen: streamed, taken up again by id, and ended when the service stops."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from offturn import CompactionClient
from offturn.inspecting import Event
from offturn.links import Connector
from offturn_http import tailing
from offturn_http.app import application
from offturn_http.auth import caller_of
from offturn_http.call import Call
from offturn_http.handlers import streaming
from offturn_http.keys import StoredKeys
from offturn_http.settings import Limits
from offturn_http.tailing import Tail
from tests.conftest import TIMEOUT
from tests.http.conftest import Ask
from tests.http.serving import CHAT, caller, made_key, says, served, user

STREAM = {"Accept": "text/event-stream"}


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


async def _heard(events: AsyncIterator[Event | None]) -> Event:
    """The next event, however often its follower hears before that there is none yet."""
    while (found := await anext(events)) is None:
        pass
    return found


def _turn(host: httpx.Client, session: str = "chat") -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    given = {"after": "*", "messages": [user("hello"), says("hi")], "usage": usage, "session": CHAT}
    assert host.post(f"/v1/sessions/{session}/turn", json=given).status_code == 200


def test_a_stream_begins_with_what_was_and_goes_on_with_what_is(ask: Ask) -> None:
    host, reader = ask(), ask("reader")
    _turn(host)
    before = host.get("/v1/sessions/chat/events").json()["events"]
    with reader.stream("GET", "/v1/sessions/chat/events", headers=STREAM) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = _events(stream.iter_lines())
        assert [next(events) for _ in before] == before
        _turn(host)
        new = next(events)
    assert new["kind"] == "usage"
    with reader.stream(
        "GET", "/v1/sessions/chat/events", headers={**STREAM, "Last-Event-ID": before[-1]["id"]}
    ) as again:
        assert next(_events(again.iter_lines())) == new
    bad = reader.get("/v1/sessions/chat/events", headers={**STREAM, "Last-Event-ID": "x"})
    assert (bad.status_code, bad.json()["type"]) == (422, "urn:offturn:problem:invalid-setting")
    assert reader.get("/v1/sessions/none/events", headers=STREAM).status_code == 404


def test_many_streams_of_many_sessions_get_their_own(ask: Ask) -> None:
    host = ask()
    for name in ("one", "two"):
        _turn(host, name)
    found: dict[str, list[str]] = {}

    def follow(name: str, number: int) -> None:
        last = host.get(f"/v1/sessions/{name}/events").json()["events"][-1]["id"]
        with host.stream("GET", f"/v1/sessions/{name}/events", headers={**STREAM, "Last-Event-ID": last}) as stream:
            ready.release()
            events = _events(stream.iter_lines())
            found[f"{name}{number}"] = [next(events)["id"] for _ in range(3)]

    ready = threading.Semaphore(0)
    threads = [threading.Thread(target=follow, args=(name, i)) for name in ("one", "two") for i in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        ready.acquire()
    for _ in range(3):
        _turn(host, "one")
        _turn(host, "two")
    for thread in threads:
        thread.join(60)
    for name in ("one", "two"):
        ids = [event["id"] for event in host.get(f"/v1/sessions/{name}/events").json()["events"]][-3:]
        assert [found[f"{name}{i}"] for i in range(3)] == [ids] * 3


def test_streams_end_when_the_service_stops(valkey_url: str, tenant: str) -> None:
    key = asyncio.run(made_key(valkey_url, tenant, "host"))
    with served(valkey_url) as running, caller(running.url, key) as host:
        _turn(host)
        with host.stream("GET", "/v1/sessions/chat/events", headers=STREAM) as stream:
            lines = stream.iter_lines()
            next(_events(lines))
            code, _ = running.stop()
            assert [line for line in lines if line.startswith("data")] == []
    assert code == 0


async def test_a_follower_that_is_slow_misses_nothing(client: CompactionClient, valkey_url: str) -> None:
    session = client.session("chat", format="openai-chat")
    await session.record(user("hello"))
    connector = Connector(valkey_url, None, TIMEOUT, on_outage="raise")
    tail, seen = Tail(connector), list[str]()
    try:
        events = tail.follow(session, None, TIMEOUT)
        first = asyncio.ensure_future(anext(events))
        while not tail.open:  # noqa: ASYNC110 -- it tells nobody
            await asyncio.sleep(0.01)
        usage = {"prompt_tokens": 10, "completion_tokens": 1}
        for _ in range(tailing.WAITING + 20):
            await session.record([], usage=usage)
        wanted = [event.id for event in await session.events()]
        found = await first
        while found is not None:
            seen.append(found.id)
            if seen[-1] == wanted[-1]:
                break
            found = await anext(events)
        assert seen == wanted
    finally:
        await tail.close()
        await connector.close()


async def test_a_follower_that_comes_later_hears_no_old_event(client: CompactionClient, valkey_url: str) -> None:
    session = client.session("chat", format="openai-chat")
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    await session.record([user("hello")], usage=usage)
    connector = Connector(valkey_url, None, TIMEOUT, on_outage="raise")
    tail = Tail(connector)
    try:
        known = await session.events()
        events = tail.follow(session, known[-1].id, 0.3)
        assert await anext(events) is None
        await session.record([], usage=usage)
        assert (await _heard(events)).id == (await session.events())[-1].id
    finally:
        await tail.close()
        await connector.close()


async def test_a_stream_ends_with_its_key(client: CompactionClient, valkey_url: str) -> None:
    session = client.session("chat", format="openai-chat")
    await session.record([user("hello")], usage={"prompt_tokens": 10, "completion_tokens": 1})
    connector = Connector(valkey_url, None, TIMEOUT, on_outage="raise")
    keys = StoredKeys(connector.links)
    key, facts = await keys.add("default", "reader")
    app = application(connector, keys, Limits())
    service = app.state.service
    head = [(b"authorization", f"Bearer {key}".encode())]
    request = Request({"type": "http", "method": "GET", "headers": head, "path": "/", "app": app})
    caller_ = await caller_of(request)
    call = Call(
        request=request, service=service, caller=caller_, id="chat", key="", raw=b"", given_query=None, given_body=None
    )
    try:
        stream = streaming._streamed(call, session, None)
        assert await anext(stream) == streaming.RETRY
        assert b"event: " in await anext(stream)
        await keys.remove(facts.id)
        keys._known.clear()
        await session.record([], usage={"prompt_tokens": 10, "completion_tokens": 1})
        assert [line async for line in stream] == []
        assert service.tail.open == 0
    finally:
        await service.tail.close()
        await connector.close()


async def test_a_read_that_fails_for_good_is_begun_anew(
    client: CompactionClient, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = client.session("chat", format="openai-chat")
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    await session.record([user("hello")], usage=usage)
    connector = Connector(valkey_url, None, TIMEOUT, on_outage="raise")
    tail = Tail(connector)

    async def broken(_: Tail) -> None:
        raise ValueError("a bug")

    try:
        events = tail.follow(session, (await session.events())[-1].id, 0.3)
        with monkeypatch.context() as patched:
            patched.setattr(Tail, "_read_once", broken)
            assert await anext(events) is None
            with pytest.raises(ValueError, match="a bug"):
                await tail._reading  # type: ignore[misc]
        for _ in range(2):
            await session.record([], usage=usage)
            assert (await _heard(events)).id == (await session.events())[-1].id
    finally:
        await tail.close()
        await connector.close()
