"""A page's stream: it ends with the login, however much happens, and a request for its head holds none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest
from starlette.requests import Request

from offturn.links import Connector
from offturn_http.app import application
from offturn_http.auth import COOKIE, caller_of
from offturn_http.keys import StoredKeys
from offturn_http.page import live
from offturn_http.page.desk import Desk, Site
from offturn_http.settings import Limits
from tests.page.conftest import LONG
from tests.page.conftest import Page as Served


async def test_a_stream_that_always_has_news_ends_with_its_login(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def news(_desk: Desk) -> object:
        return object()

    monkeypatch.setitem(live.WATCHED, "session", news)
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.0)
    connector = Connector(valkey_url, None, LONG, on_outage="raise")
    try:
        keys = StoredKeys(connector.links)
        key, facts = await keys.add("default", "reader")
        token = await keys.sign_in(key, 60)
        head = [(b"cookie", f"{COOKIE}={token}".encode())]
        app = application(connector, keys, Limits())
        scope = {"type": "http", "method": "GET", "headers": head, "path": "/live", "query_string": b"of=session"}
        request = Request({**scope, "app": app})
        stream = live._changes(Desk(request, Site(), await caller_of(request)))
        first = [await anext(stream) for _ in range(3)]
        assert first[2].startswith(b"event: changed")
        await keys.remove(facts.id)
        keys._known.clear()
        assert [line async for line in stream] == []
    finally:
        await connector.close()


def test_asking_for_the_head_of_a_stream_holds_none(page: Served, browse: Callable[[str], httpx.Client]) -> None:
    async def ask() -> bytes:
        cookie = "; ".join(f"{name}={value}" for name, value in browse("reader").cookies.items())
        url = httpx.URL(page.url)
        reading, writing = await asyncio.open_connection(url.host, url.port)
        head = f"HEAD /live?of=queue HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n"
        writing.write(head.encode())
        try:
            return await asyncio.wait_for(reading.read(), LONG)  # until the service closes it
        finally:
            writing.close()

    answer = asyncio.run(ask())
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"text/event-stream" in answer
