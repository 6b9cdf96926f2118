"""A client that does not end its request is not waited for; one that waits for an answer is not hurried."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import pytest

from offturn import CompactionClient
from offturn_config.settings import HttpSettings
from offturn_http import patience
from offturn_http.serving import Serving, service
from tests.http.serving import user

LOGIN = b"POST /login HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\n"
ENDLESS = {
    "nothing": (b"", b""),
    "a head": (b"GET /livez HTTP/1.1\r\nHost: x\r\n", b"X: y\r\n"),
    "chunks": (LOGIN + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    "less than was said": (LOGIN + b"Content-Length: 9999\r\n\r\n", b"a"),
    "a second request": (b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\n", b"X: y\r\n"),
}


@pytest.fixture
def settings(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> HttpSettings:
    """Of a process that is patient for a moment."""
    monkeypatch.setattr(patience, "SECONDS", 0.2)
    return HttpSettings(store_url=valkey_url, http_port=0, timeout=20.0)


@pytest.mark.parametrize("sent", ENDLESS)
async def test_a_request_that_does_not_end_is_given_up(sent: str, settings: HttpSettings) -> None:
    begin, more = ENDLESS[sent]
    async with service(settings) as (serving, _):
        reading, writing = await _connected(serving)
        writing.write(begin)
        with suppress(ConnectionError):
            while not reading.at_eof():
                writing.write(more)
                with suppress(TimeoutError):
                    await asyncio.wait_for(reading.read(1_000), 0.05)
        writing.close()


async def test_a_stream_outlasts_it(settings: HttpSettings, client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat")
    await session.record([user("hello")], usage={"prompt_tokens": 10, "completion_tokens": 1})
    async with service(settings) as (serving, _):
        key, _facts = await serving.keys.add("default", "reader")
        head = f"GET /v1/sessions/chat/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
        reading, writing = await _asked(serving, f"{head}Accept: text/event-stream\r\n\r\n".encode())
        await reading.readuntil(b"event: usage")
        await asyncio.sleep(5 * patience.SECONDS)
        await session.record([], usage={"prompt_tokens": 10, "completion_tokens": 1})
        await reading.readuntil(b"event: usage")
        writing.close()


def _address(serving: Serving) -> tuple[str, int]:
    host, _, port = serving.address.removeprefix("http://").rpartition(":")
    return host, int(port)


async def _connected(serving: Serving) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(*_address(serving))


async def _asked(serving: Serving, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The whole request is there before the service, which runs on this loop, takes the connection."""
    line = socket.create_connection(_address(serving))
    line.sendall(request)
    return await asyncio.open_connection(sock=line)
