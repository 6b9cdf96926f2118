"""Keys: made by the command line, shown once, kept as digests; and what a browser signs in with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from offturn.links import Connector
from offturn_config import keys
from offturn_http import auth
from offturn_http import keys as stored
from offturn_http.app import application
from offturn_http.keys import StoredKeys
from offturn_http.settings import Limits
from tests.acceptance.command import offturn
from tests.conftest import TIMEOUT
from tests.http.conftest import Ask


@pytest.fixture
async def connector(redis: Redis, valkey_url: str) -> AsyncIterator[Connector]:
    """Of an empty store."""
    made = Connector(valkey_url, None, TIMEOUT, on_outage="raise")
    yield made
    await made.close()


def test_the_command_line_makes_lists_and_removes_keys(valkey_url: str, tenant: str) -> None:
    store = ("--store", valkey_url)
    made = offturn("keys", "add", "--tenant", tenant, "--role", "reader", "--label", "a page", *store)
    assert made.returncode == 0, made.stderr
    key = made.stdout.decode().strip()
    name = key.split("_")[1]
    listed = offturn("keys", "list", "--json", *store)
    [row] = [row for row in json.loads(listed.stdout) if row["tenant"] == tenant]
    assert (row["id"], row["role"], row["label"]) == (name, "reader", "a page")
    secret = key.split("_", 2)[2]
    assert secret.encode() not in listed.stdout + made.stderr
    removed = offturn("keys", "remove", name, *store)
    assert removed.returncode == 0
    again = offturn("keys", "remove", name, *store)
    assert (again.returncode, b"does not exist" in again.stderr) == (2, True)
    wrong = offturn("keys", "add", "--role", "king", *store)
    assert (wrong.returncode, b"host, reader or operator" in wrong.stderr) == (2, True)


async def test_the_store_has_digests_only(connector: Connector, redis: Redis) -> None:
    held = StoredKeys(connector.links)
    key, facts = await held.add("acme", "host")
    token = await held.sign_in(key, 60)
    assert token is not None
    everything = b"".join([name + (await redis.dump(name) or b"") for name in await redis.keys("*")])
    assert key.split("_", 2)[2].encode() not in everything
    assert token.encode() not in everything
    assert await held.caller(key) == auth.Caller("acme", "host", facts.id)
    assert await held.signed_in(token) == auth.Caller("acme", "host", facts.id)


async def test_what_is_no_key_is_none(connector: Connector, redis: Redis) -> None:
    held = StoredKeys(connector.links)
    key, facts = await held.add("acme", "host")
    other, _ = await held.add("acme", "operator")
    mixed = f"{key.rsplit('_', 1)[0]}_{other.split('_', 2)[2]}"
    for wrong in ("", "x", key[:-1], key + "A", mixed, f"offturn_{'0' * 12}_{'A' * 43}", "offturn_é"):
        assert await held.caller(wrong) is None
    await redis.execute_command("HSET", keys.api_keys(), facts.id, "{}")  # type: ignore[no-untyped-call]
    assert await StoredKeys(connector.links).caller(key) is None
    assert [one.role for one in await held.every()] == ["operator"]


async def test_a_login_ends_with_its_key_and_when_it_is_ended(
    connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "FRESH_SECONDS", 0.0)
    held = StoredKeys(connector.links)
    key, facts = await held.add("acme", "host")
    one, two = await held.sign_in(key, 60), await held.sign_in(key, 60)
    assert one is not None
    assert two is not None
    await held.sign_out(one)
    assert await held.signed_in(one) is None
    assert await held.signed_in(two) is not None
    await held.remove(facts.id)
    assert await held.signed_in(two) is None
    assert await held.caller(key) is None


async def test_a_browser_signs_in_with_a_cookie_that_scripts_cannot_read(connector: Connector) -> None:
    async def enter(request: Request) -> Response:
        response = Response()
        ok = await auth.sign_in(request, (await request.body()).decode(), response)
        response.status_code = 204 if ok else 401
        return response

    async def leave(request: Request) -> Response:
        response = Response(status_code=204)
        await auth.sign_out(request, response)
        return response

    held = StoredKeys(connector.links)
    app = application(connector, held, Limits())
    app.routes.insert(0, Route("/in", enter, methods=["POST"]))
    app.routes.insert(0, Route("/out", leave, methods=["POST"]))
    key, _ = await held.add("acme", "operator")
    transport: Any = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as browser:
        assert (await browser.post("/in", content="wrong")).status_code == 401
        entered = await browser.post("/in", content=key)
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "secure" not in cookie
        behind_tls = await browser.post("/in", content=key, headers={"Origin": "https://here"})
        assert "secure" in behind_tls.headers["set-cookie"].lower()
        browser.cookies.clear()
        await browser.post("/in", content=key)
        assert (await browser.get("/v1/sessions")).status_code == 200
        drop = "/v1/queue/none/drop"
        assert (await browser.post(drop)).status_code == 403
        assert (await browser.post(drop, headers={"Origin": "http://elsewhere"})).status_code == 403
        assert (await browser.post(drop, headers={"Sec-Fetch-Site": "cross-site"})).status_code == 403
        assert (await browser.post(drop, headers={"Origin": "http://here"})).status_code == 404
        assert (await browser.post(drop, headers={"Sec-Fetch-Site": "same-origin"})).status_code == 404
        await browser.post("/out")
        assert (await browser.get("/v1/sessions")).status_code == 401


def test_a_removed_key_is_refused_within_seconds(ask: Ask, valkey_url: str) -> None:
    host = ask()
    assert host.get("/v1/policies").status_code == 200
    offturn("keys", "remove", host.headers["authorization"].split("_")[1], "--store", valkey_url)

    async def refused() -> None:
        while host.get("/v1/policies").status_code != 401:  # noqa: ASYNC110 -- it tells nobody
            await asyncio.sleep(0.2)

    asyncio.run(asyncio.wait_for(refused(), 120))
