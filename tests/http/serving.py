"""`offturn serve` as a process, and what a test asks it with."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from redis import Redis

from offturn.links import Connector
from offturn_http.keys import StoredKeys
from tests.acceptance.command import COMMAND, NONE, SECONDS, environment

KEPT = httpx.Limits(keepalive_expiry=1)
"""Connections that are not used are given up before the service does it, which would lose what is sent at that moment."""


@dataclass(frozen=True, slots=True)
class Served:
    """A running service. `errors`: what it has written to standard error until it was stopped."""

    url: str
    process: subprocess.Popen[bytes]

    def stop(self) -> tuple[int, str]:
        """Ask it to stop; its exit code, and what it logged."""
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, errors.decode()


@contextmanager
def served(store: str, variables: Mapping[str, str] = NONE, *, port: int | None = 0) -> Iterator[Served]:
    """The service over a store, until the block ends. port: None: as `variables` say."""
    command = [*COMMAND, "serve", "--store", store, *(() if port is None else ("--port", str(port)))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment(variables)) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().decode().strip()
            assert address.startswith("http://"), process.stderr and process.stderr.read().decode()
            yield Served(address, process)
        finally:
            process.kill()


async def made_key(store: str, tenant: str, role: str) -> str:
    """A key of the store that a service serves."""
    connector = Connector(store, None, 20.0, on_outage="raise")
    try:
        return (await StoredKeys(connector.links).add(tenant, role))[0]
    finally:
        await connector.close()


def caller(url: str, key: str) -> httpx.Client:
    """Asks with a key."""
    head = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=url, headers=head, timeout=SECONDS, limits=KEPT, trust_env=False)


def answered(client: httpx.Client, path: str, status: int = 200) -> None:
    """Ask until the answer has this status, as whoever looks at a probe does: on a busy machine the store may be late."""
    while client.get(path).status_code != status:
        pass


def flush(store: str) -> None:
    """Empty the store."""
    with Redis.from_url(store) as redis:
        redis.flushall()


def user(text: str) -> dict[str, Any]:
    """A human's message."""
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    """An assistant's."""
    return {"role": "assistant", "content": text}


CHAT = {"format": "openai-chat", "window": 16_000}
