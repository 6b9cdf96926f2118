"""What clients send that means no good, or has gone wrong: refused by its kind, before anything is recorded."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from contextlib import suppress
from typing import Any

import httpx
import pytest

from tests.http.conftest import Ask
from tests.http.serving import CHAT, Served, caller, made_key, says, served, user

REUSED = (422, "urn:offturn:problem:idempotency-key-reused")


def test_a_key_that_comes_with_another_list_records_nothing_and_says_so(ask: Ask) -> None:
    host, key = ask(), {"Idempotency-Key": "a"}
    mine = [user("one")]
    body: dict[str, Any] = {"messages": mine, "session": CHAT}
    first, again = (host.post("/v1/sessions/chat/mirror", json=body, headers=key).json() for _ in range(2))
    assert first["cursor"] == again["cursor"]

    other = host.post("/v1/sessions/chat/mirror", json={"messages": [*mine, says("two")]}, headers=key)

    assert (other.status_code, other.json()["type"]) == REUSED
    assert host.get("/v1/sessions/chat").json()["messages"] == 1


def test_a_key_that_comes_with_another_overflow_is_refused(ask: Ask) -> None:
    host, key = ask(), {"Idempotency-Key": "a"}
    told = host.post("/v1/sessions/chat/turn", json={"messages": [user("one")], "session": CHAT}).json()
    error = {"status": 400, "error": {"code": "context_length_exceeded"}}
    body = {"error": error, "sent": told["view"]["id"]}
    host.post("/v1/sessions/chat/overflow", json=body, headers=key)

    other = host.post("/v1/sessions/chat/overflow", json={**body, "pending": [user("two")]}, headers=key)

    assert (other.status_code, other.json()["type"]) == REUSED


@pytest.mark.parametrize("field", ["system", "tools"])
@pytest.mark.parametrize(("levels", "status"), [(200, 200), (201, 422), (500, 422), (950, 422)])
def test_what_goes_around_messages_nests_no_deeper_than_they(field: str, levels: int, status: int, ask: Ask) -> None:
    host = ask()
    chat = '{"format": "openai-chat", "window": 16000}'
    around = f'{{"{field}": {"[" * levels}0{"]" * levels}}}'
    body = f'{{"messages": [{{"role": "user", "content": "hello"}}], "session": {chat}, "want": {around}}}'

    told = host.post("/v1/sessions/chat/turn", content=body, headers={"Content-Type": "application/json"})

    assert told.status_code == status, told.text
    assert host.get("/v1/sessions").json()["sessions"] == (["chat"] if status == 200 else [])


@pytest.mark.parametrize("path", ["/static", "/session/", "/queue/", "/v1/sessions/"])
def test_nobody_is_sent_to_the_host_that_a_request_names(path: str, ask: Ask) -> None:
    assert ask().get(path, headers={"Host": "evil.example"}).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/sessions", 200),
        ("GET", "/v1/sessions/none", 404),
        ("POST", "/v1/sessions/none/turn", 404),
        ("PUT", "/v1/sessions", 405),
        ("GET", "/v1/nowhere", 404),
        ("GET", "/nowhere", 404),
        ("PUT", "/login", 405),
        ("GET", "/static/page.js", 200),
        ("GET", "/static/none", 404),
        ("GET", "/livez", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/metrics", 403),
        ("GET", "/login", 200),
    ],
)
def test_no_answer_may_run_be_framed_or_pass_for_another_kind(method: str, path: str, status: int, ask: Ask) -> None:
    told = ask().request(method, path)

    assert told.status_code == status
    assert told.headers["x-content-type-options"] == "nosniff"
    policy = told.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    if path.startswith("/v1/"):
        assert told.headers["cache-control"] == "no-store"


def _said(url: str, *sent: bytes, until: bytes = b"") -> bytes:
    """What comes back until the service closes the connection; until: what has to have come before the next part is sent."""
    address, found = httpx.URL(url), b""
    with socket.create_connection((address.host, address.port or 80), timeout=120) as line:
        for part in sent[:-1]:
            line.sendall(part)
            while until not in found:
                found += line.recv(65_536)
        with suppress(ConnectionResetError, BrokenPipeError):  # it need not listen to all of it
            line.sendall(sent[-1])
        try:
            while more := line.recv(65_536):
                found += more
        except ConnectionResetError:
            pass
    return found


HEAD = b"POST /v1/sessions/chat/turn HTTP/1.1\r\nHost: x\r\n"
NO_HTTP = {
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "no host": b"GET /v1/sessions HTTP/1.1\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 30\r\n\r\n{}",
    "no length": HEAD + b"Content-Length: -2\r\n\r\n{}",
    "a head without end": b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000,
    "a length and chunks": HEAD
    + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("sent", NO_HTTP)
def test_what_is_no_http_is_a_problem_and_ends_the_connection(sent: str, service: Served) -> None:
    head, _, body = _said(service.url, NO_HTTP[sent]).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head.lower()
    assert json.loads(body)["type"] == "urn:offturn:problem:no-http"


def test_nonsense_behind_an_answer_that_has_begun_ends_the_connection(valkey_url: str, tenant: str) -> None:
    key = asyncio.run(made_key(valkey_url, tenant, "host"))
    head = (
        f"GET /v1/sessions/chat/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer {key}"
    )
    begun = f"{head}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with served(valkey_url) as running, caller(running.url, key) as host:
        host.post("/v1/sessions/chat/turn", json={"messages": [user("hello")], "session": CHAT})
        said = _said(running.url, begun, b"no chunk\r\n", until=b"retry: ")
        _, errors = running.stop()

    assert said.startswith(b"HTTP/1.1 200 ")
    assert said.count(b"HTTP/1.1 ") == 1
    assert '"level":"error"' not in errors


def test_a_body_that_is_packed_is_refused(ask: Ask) -> None:
    host, body = ask(), json.dumps({"messages": [user("hello")], "session": CHAT}).encode()
    head = {"Content-Type": "application/json"}

    packed = host.post(
        "/v1/sessions/chat/turn", content=gzip.compress(body), headers={**head, "Content-Encoding": "gzip"}
    )
    plain = host.post("/v1/sessions/chat/turn", content=body, headers={**head, "Content-Encoding": "identity"})

    assert (packed.status_code, packed.json()["type"]) == (415, "urn:offturn:problem:unsupported-media-type")
    assert plain.status_code == 200
