"""While the store is away the service says so, keeps nothing of its own, and is there again when the store is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx

from tests.acceptance.command import SECONDS, offturn
from tests.acceptance.servers import server
from tests.http.serving import CHAT, answered, caller, made_key, says, served, user

TURN = "/v1/sessions/chat/turn"
KEY_OF_NOBODY = f"offturn_{'0' * 12}_{'a' * 43}"


def test_an_outage_is_told_and_over_when_it_is_over(tmp_path: Path) -> None:
    with server(tmp_path / "store") as store, served(store.url, {"OFFTURN_TIMEOUT": "3"}) as service:
        key = asyncio.run(made_key(store.url, "acme", "host"))
        with caller(service.url, key) as host:
            told = _told(host, {"messages": [user("one")], "session": CHAT}, "one").json()
            new = {"after": told["cursor"], "messages": [says("two")]}
            with store.frozen():
                away = host.post(TURN, json=new, headers={"Idempotency-Key": "two"})
                assert (away.status_code, away.json()["type"]) == (503, "urn:offturn:problem:store-unavailable")
                assert (away.headers["retry-after"], away.json()["retryable"]) == ("1", True)
                assert [host.get(path).status_code for path in ("/livez", "/readyz")] == [200, 503]
            again = _told(host, new, "two")
            assert again.status_code == 200, again.text
            assert again.json()["view"]["tail"] == [user("one"), says("two")]
            answered(host, "/readyz")


def _told(host: httpx.Client, body: dict[str, Any], key: str) -> httpx.Response:
    """The answer of a service that has its store: to a busy machine's it is away at times."""
    while (told := host.post(TURN, json=body, headers={"Idempotency-Key": key})).status_code == 503:
        pass
    return told


def test_a_service_that_starts_in_an_outage_serves_when_it_is_over(tmp_path: Path) -> None:
    place = tmp_path / "socket"
    with served(f"unix://{place}") as service, caller(service.url, KEY_OF_NOBODY) as stranger:
        assert [stranger.get(path).status_code for path in ("/livez", "/readyz")] == [200, 503]
        away = stranger.get("/v1/sessions")
        assert (away.status_code, away.json()["type"]) == (503, "urn:offturn:problem:store-unavailable")
        with server(tmp_path / "store", unixsocket=str(place)) as store:
            key = asyncio.run(made_key(store.url, "acme", "host"))
            with caller(service.url, key) as host:
                answered(host, "/readyz")
                assert _told(host, {"messages": [user("one")], "session": CHAT}, "one").status_code == 200
        code, errors = service.stop()
    assert code == 0
    assert "server_awaited" in errors
    assert "start the server" in errors


def test_a_password_that_is_refused_after_the_outage_ends_it(tmp_path: Path) -> None:
    place = tmp_path / "socket"
    with (
        served(f"unix://:wrong@{place}") as service,
        server(tmp_path / "store", unixsocket=str(place), requirepass="right"),
    ):
        _, errors = service.process.communicate(timeout=SECONDS)
    assert service.process.returncode == 2
    assert "refused the user or password" in errors.decode()
    assert "wrong" not in errors.decode()


def test_a_service_whose_password_is_refused_does_not_start(tmp_path: Path) -> None:
    with server(tmp_path / "store", requirepass="right") as store:
        done = offturn("serve", "--store", store.url.replace("redis://", "redis://:wrong@"), "--port", "0")
    assert done.returncode == 2
    assert b"refused the user or password" in done.stderr
    assert b"wrong" not in done.stderr
