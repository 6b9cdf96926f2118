"""What a browser is not the sender of: nothing of it is logged."""

from __future__ import annotations

import asyncio
import socket

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response

from offturn.links import Connector
from offturn_http.app import application
from offturn_http.keys import StoredKeys
from offturn_http.page import signing
from offturn_http.page.desk import Site
from offturn_http.settings import Limits
from tests.http.serving import KEPT, made_key, served
from tests.page.conftest import LONG

MARK = "my secret words"


def test_a_form_that_cannot_be_read_is_not_quoted_in_the_log(valkey_url: str) -> None:
    part = (
        f'--b\r\nContent-Disposition: form-data; name="text"\r\nContent-Transfer-Encoding: {MARK}\r\n\r\nx\r\n--b--\r\n'
    )
    with served(valkey_url, {"OFFTURN_LOG_LEVEL": "debug"}) as running:
        key = asyncio.run(made_key(valkey_url, "acme", "reader"))
        with httpx.Client(
            base_url=running.url, headers={"Origin": running.url}, timeout=LONG, limits=KEPT, trust_env=False
        ) as client:
            assert client.post("/login", data={"key": key, "next": "/"}).status_code == 303
            for kind in ("multipart/form-data; boundary=b", f"x/{MARK}", f"multipart/form-data; boundary={MARK}"):
                told = client.post("/try", content=part, headers={"Content-Type": kind})
                assert told.status_code in (400, 403)
            assert client.post("/try", files={MARK: (MARK, MARK.encode())}).status_code == 403
        code, errors = running.stop()
    assert code == 0
    assert "stopped" in errors
    assert "secret" not in errors


@pytest.mark.parametrize("path", ["/login", "/try", "/logout"])
def test_a_form_that_is_given_up_is_no_error(valkey_url: str, path: str) -> None:
    with served(valkey_url) as running:
        key, url = asyncio.run(made_key(valkey_url, "acme", "reader")), httpx.URL(running.url)
        kind = "multipart/form-data; boundary=b"
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nSec-Fetch-Site: same-origin\r\n"
        with socket.create_connection((url.host, url.port or 80)) as client:
            client.sendall(f"{head}Content-Type: {kind}\r\nContent-Length: 99\r\n\r\n--b".encode())
            assert (
                httpx.get(f"{running.url}/livez", timeout=LONG, trust_env=False).status_code == 200
            )  # it has begun to read
        code, errors = running.stop()
    assert code == 0
    assert "Exception" not in errors


async def test_a_bug_is_told_on_a_page_that_quotes_nothing(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def wrong(_request: Request, _site: Site) -> Response:
        raise ValueError(MARK)

    monkeypatch.setattr(signing, "ask", wrong)
    connector = Connector(valkey_url, None, LONG, on_outage="raise")
    app = application(connector, StoredKeys(connector.links), Limits())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        answer = await client.get("/login")
    await connector.close()
    assert answer.status_code == 500
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert MARK not in answer.text + caplog.text
