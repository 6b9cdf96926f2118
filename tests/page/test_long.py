"""A session of any length is read and computed beside the event loop, on which all other requests are answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from offturn import CompactionClient
from offturn.cache import Cache
from offturn.inspecting import audited
from offturn.links import Connector, Links
from offturn_config.keys import SessionKey
from offturn_http.app import application
from offturn_http.keys import StoredKeys
from offturn_http.page import reading, session
from offturn_http.page.reading import Shelf
from offturn_http.settings import Limits
from offturn_worker.cli.store import whole
from tests.page.conftest import LONG
from tests.page.stage import play


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[int]]:
    """In which threads a message was read, and everything that walks a path was computed."""
    seen: dict[str, set[int]] = {}

    def watch(owner: object, name: str) -> None:
        found: Callable[..., Any] = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            seen.setdefault(name, set()).add(threading.get_ident())
            return found(*args, **kwargs)

        monkeypatch.setattr(owner, name, watched)

    watch(Cache, "parsed")
    for name in ("audited", "status", "report"):
        watch(reading, name)
    for name in ("drawn", "chart", "timeline", "beside", "difference"):
        watch(session, name)
    return seen


async def test_the_first_look_at_a_session_leaves_the_loop_to_others(
    client: CompactionClient, valkey_url: str, worked: dict[str, set[int]]
) -> None:
    await play(client, "long")
    worked.clear()
    connector = Connector(valkey_url, None, LONG, on_outage="raise")
    keys = StoredKeys(connector.links)
    key, _ = await keys.add(client.tenant, "operator")
    transport = httpx.ASGITransport(app=application(connector, keys, Limits()))
    head = {"Authorization": f"Bearer {key}"}
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://here", headers=head) as browser:
            for path in ("/session", "/session/compare", "/session/summaries", "/session/rollback"):
                assert (await browser.get(path, params={"id": "long"})).status_code == 200
    finally:
        await connector.close()
    assert sorted(worked) == sorted(
        ["audited", "beside", "chart", "difference", "drawn", "parsed", "report", "status", "timeline"]
    )
    assert threading.get_ident() not in set[int]().union(*worked.values())


async def test_who_looks_at_another_session_is_answered_before(
    client: CompactionClient, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("long", "short"):
        await client.session(name, format="openai-chat").record([{"role": "user", "content": name}])
    begun, may_end = threading.Event(), threading.Event()

    async def slow(links: Links, key: SessionKey) -> Cache:
        if key.session == "long":
            begun.set()
            may_end.wait(LONG)
        return await whole(links, key)

    monkeypatch.setattr(reading, "whole", slow)
    connector, shelf = Connector(valkey_url, None, LONG, on_outage="raise"), Shelf()
    try:
        first = asyncio.create_task(shelf.read(connector, SessionKey(client.tenant, "long")))
        await asyncio.to_thread(begun.wait, LONG)
        second = await shelf.read(connector, SessionKey(client.tenant, "short"))
        assert second.status.session == "short"
        assert not first.done()
        may_end.set()
        assert (await first).status.session == "long"
    finally:
        may_end.set()
        await connector.close()


async def test_who_goes_away_leaves_no_thread_beside_the_next_reader(
    client: CompactionClient, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.session("left", format="openai-chat").record([{"role": "user", "content": "one"}])
    begun, may_end, steps = threading.Event(), threading.Event(), list[str]()

    def held(*args: Any) -> Any:
        steps.append("in")
        begun.set()
        may_end.wait(LONG)
        steps.append("out")
        return audited(*args)

    monkeypatch.setattr(reading, "audited", held)
    connector, shelf = Connector(valkey_url, None, LONG, on_outage="raise"), Shelf()
    try:
        first = asyncio.create_task(shelf.read(connector, SessionKey(client.tenant, "left")))
        await asyncio.to_thread(begun.wait, LONG)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(shelf.read(connector, SessionKey(client.tenant, "left")))
        await asyncio.wait((second,), timeout=0.3)
        assert steps == ["in"]
        may_end.set()
        assert (await second).status.session == "left"
    finally:
        may_end.set()
        await connector.close()
    assert steps == ["in", "out"] * 2
