"""One key does not take all event streams of a process, and a stream that ends gives its place back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from starlette.requests import ClientDisconnect

from offturn_http.problems import Problem
from offturn_http.streams import Streams
from tests.http.serving import CHAT, caller, made_key, served, user

STREAM = {"Accept": "text/event-stream"}
EVENTS = "/v1/sessions/chat/events"


async def _chunks() -> AsyncIterator[bytes]:
    yield b": \n\n"


def _kind(of: Streams, key: str) -> str:
    with pytest.raises(Problem) as told:
        of.response(key, _chunks(), {})
    return told.value.kind.name


async def test_places_are_of_a_key_and_of_all() -> None:
    of = Streams(3, 2)
    one = of.response("a", _chunks(), {})
    of.response("a", _chunks(), {})
    assert _kind(of, "a") == "too-many-streams-of-key"
    of.response("b", _chunks(), {})
    assert _kind(of, "b") == _kind(of, "a") == "too-many-streams"

    async def gone(_: Any) -> None:
        raise OSError("the client has gone")

    async def receive() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(ClientDisconnect):
        await one({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, gone)
    of.response("b", _chunks(), {})
    assert _kind(of, "a") == "too-many-streams"


@pytest.fixture
def hosts(valkey_url: str, tenant: str) -> Iterator[list[httpx.Client]]:
    """Two, with a key each, of a service of three streams, two for a key."""
    variables = {"OFFTURN_HTTP_STREAMS": "3", "OFFTURN_HTTP_STREAMS_PER_KEY": "2"}
    keys = [asyncio.run(made_key(valkey_url, tenant, "host")) for _ in range(2)]
    with served(valkey_url, variables) as running, ExitStack() as opened:
        clients = [opened.enter_context(caller(running.url, key)) for key in keys]
        given = {"after": "*", "messages": [user("hello")], "session": CHAT}
        assert clients[0].post("/v1/sessions/chat/turn", json=given).status_code == 200
        yield clients


def test_a_key_that_has_its_streams_is_told_so_and_others_are_served(hosts: list[httpx.Client]) -> None:
    one, other = hosts
    with ExitStack() as opened:
        followed = [opened.enter_context(one.stream("GET", EVENTS, headers=STREAM)) for _ in range(2)]
        assert [stream.status_code for stream in followed] == [200, 200]
        more = one.get(EVENTS, headers=STREAM)
        assert (more.status_code, more.json()["type"]) == (429, "urn:offturn:problem:too-many-streams-of-key")
        assert int(more.headers["retry-after"]) > 0
        assert one.get(EVENTS).status_code == 200  # a page of them is no stream
        with other.stream("GET", EVENTS, headers=STREAM) as theirs:
            assert theirs.status_code == 200
            full = other.get(EVENTS, headers=STREAM)
            assert (full.status_code, full.json()["type"]) == (503, "urn:offturn:problem:too-many-streams")
        followed[0].close()
        while True:  # until the service has seen it go
            with one.stream("GET", EVENTS, headers=STREAM) as again:
                if again.status_code == 200:
                    break
