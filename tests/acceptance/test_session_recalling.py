"""`offturn session search|recall|pin|unpin`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from offturn import CompactionClient, View
from tests.acceptance.command import offturn
from tests.integration.host import human, turns

TALK = [human("Which port? The needle says \x1b[31m5433."), *turns("openai-chat", 3)]


@pytest.fixture
def store(tmp_path: Path, valkey_url: str) -> tuple[str, ...]:
    """Options that name a tenant of its own, with one session."""
    tenant = "".join(c for c in tmp_path.name.lower() if c.isalnum() or c in "-_")
    options = ("--store", valkey_url, "--tenant", tenant)
    arguments = ("import", "-", "--session", "chat", "--window", "16000", *options)
    done = offturn(*arguments, stdin=json.dumps(TALK).encode())
    assert done.returncode == 0, done.stderr
    return options


def test_find_read_and_keep(store: tuple[str, ...]) -> None:
    def told(*arguments: str) -> Any:
        return json.loads(offturn("session", *arguments, "--json", *store).stdout)

    [hit] = told("search", "chat", "needle")
    assert (hit["handle"], hit["on_path"]) == ("m0", True)
    assert told("recall", "chat", "m0")["text"] == TALK[0]["content"]
    assert told("pin", "chat", "m0")["seqs"] == [0]
    assert told("show", "chat")["status"]["pinned"] == [0]
    assert told("unpin", "chat", "m0")["seqs"] == []

    shown = offturn("session", "search", "chat", '"module 2"', *store)
    assert shown.returncode == 0
    assert b"m9  human\n    Please look into module 2." in shown.stdout
    read = offturn("session", "recall", "chat", "m0", *store)
    assert b"5433" in read.stdout
    assert b"\x1b" not in read.stdout
    pinned = offturn("session", "pin", "chat", "m4", *store)
    assert pinned.stdout.startswith(b"session chat: pinned m4, about ")


def test_a_pin_that_comes_too_late_names_the_command_that_helps(store: tuple[str, ...], tmp_path: Path) -> None:
    async def adopted() -> View:
        async with CompactionClient.from_url(store[1], tenant=store[3], timeout=20) as client:
            return await client.session("long", format="openai-chat", window=16_000).view()

    file = tmp_path / "long.json"
    file.write_text(json.dumps(turns("openai-chat", 16)))
    assert offturn("import", str(file), "--session", "long", "--window", "16000", *store).returncode == 0
    assert offturn("session", "compact", "long", "--here", *store).returncode == 0
    assert asyncio.run(adopted()).generation == 1
    pinned = offturn("session", "pin", "long", "m1", *store)
    assert pinned.returncode == 0, pinned.stderr
    assert b"m1 is summarised or shortened already" in pinned.stderr
    assert b"`offturn session compact`" in pinned.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("search", "chat", "kubernetes"), 1, b"nothing was found"),
        (("search", "chat", " "), 2, b"blank"),
        (("recall", "chat", "x"), 2, b"write it like m12"),
        (("pin", "chat", "m99"), 2, b"not on the path"),
    ],
)
def test_what_cannot_be_done(store: tuple[str, ...], arguments: tuple[str, ...], code: int, said: bytes) -> None:
    done = offturn("session", *arguments, *store)
    assert (done.returncode, done.stdout) == (code, b"")
    assert said in done.stderr
