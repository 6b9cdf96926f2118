"""`offturn session compact|handoff`, with and without a worker, and how a wrong key is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from offturn import CompactionClient
from tests.acceptance.command import NONE, offturn
from tests.acceptance.servers import server
from tests.acceptance.test_doctor import provider
from tests.conftest import TIMEOUT
from tests.faults.processes import until, workers
from tests.integration.host import human, turns

TALK = [*turns("openai-chat", 16), human("Now write the notes. The api_key = sk-live-5fd924625f6ab16a7720c3e1")]


@pytest.fixture
def store(tmp_path: Path, valkey_url: str) -> tuple[str, ...]:
    """Options that name a tenant of its own, with one session."""
    tenant = "".join(c for c in tmp_path.name.lower() if c.isalnum() or c in "-_")
    options = ("--store", valkey_url, "--tenant", tenant)
    recorded("chat", options)
    return options


def recorded(session: str, options: tuple[str, ...]) -> None:
    arguments = ("import", "-", "--session", session, "--window", "14000", *options)
    done = offturn(*arguments, stdin=json.dumps(TALK).encode())
    assert done.returncode == 0, done.stderr


def compact(*arguments: str, variables: Mapping[str, str] = NONE) -> tuple[int, Any]:
    done = offturn("session", "compact", *arguments, "--json", variables=variables)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr.decode()


async def test_in_this_process(store: tuple[str, ...]) -> None:
    asked = compact("chat", "--wait", "0", *store)
    code, made = compact("chat", "--here", *store)
    again = compact("chat", "--here", *store)
    shown = offturn("session", "compact", "chat", "--here", *store)

    assert asked == (0, {"session": "chat", "outcome": "waiting", "reason": "asked for"})
    assert (code, made["outcome"], made["generation"], made["method"]) == (0, "compacted", 1, "extractive")
    assert again == (0, {"session": "chat", "outcome": "skipped", "reason": "nothing_to_cover"})
    assert shown.returncode == 0
    assert shown.stdout.startswith(b"session chat: skipped (nothing_to_cover: all that may be covered is covered")


async def test_here_it_is_priced_as_by_a_worker(store: tuple[str, ...]) -> None:
    async with CompactionClient.from_url(store[1], tenant=store[3], timeout=TIMEOUT) as client:
        session = client.session("chat", format="openai-chat")
        await session.configure(model="anthropic:claude-opus-5-5")
        code, made = compact("chat", "--here", *store)
        [generation] = await session.generations()

    assert (code, made["generation"]) == (0, 1)
    assert generation.economics.saving


def test_a_refused_key_is_told_as_one() -> None:
    with provider("--key", "sk-right") as url:
        keys = {"OFFTURN_OPENAI_API_KEY": "sk-wrong"}
        arguments = ("compact", "-", "--summarizer", f"openai:fake@{url}")
        done = offturn(*arguments, stdin=json.dumps(TALK).encode(), variables=keys)

    assert done.returncode == 2
    assert b"the key is refused (auth): set the right key" in done.stderr.splitlines()[-1]


def test_what_cannot_be(store: tuple[str, ...]) -> None:
    absent = compact("nobody", "--here", *store)
    no_model = compact("chat", "--summarizer", "nope:x", *store)
    no_key = compact("chat", "--summarizer", "openai:x", *store)

    assert [code for code, _ in (absent, no_model, no_key)] == [2, 2, 2]
    assert "does not exist" in absent[1]
    assert "--summarizer 'nope:x'" in no_model[1]
    assert "OFFTURN_OPENAI_API_KEY" in no_key[1]


async def test_by_a_worker_or_by_nobody(tmp_path: Path) -> None:
    with server(tmp_path / "store") as own:
        options = ("--store", own.url)
        recorded("chat", options)
        nobody = compact("chat", *options)
        async with workers(own.url, tmp_path) as crew:
            await crew.start()
            code, made = compact("chat", "--focus", "the parser", *options)

    assert nobody[0] == 1
    assert "`offturn worker`, or say --here" in nobody[1]["reason"]
    assert (code, made["method"], made["fallback"]) == (0, "extractive", "")


async def test_a_key_that_is_refused_is_told_in_log_event_and_command(tmp_path: Path) -> None:
    with server(tmp_path / "store") as own, provider("--key", "right") as url:
        options = ("--store", own.url)
        recorded("chat", options)
        model = {"SUMMARIZER": f"openai:fake@{url},anthropic:spare", "OPENAI_API_KEY": "sk-wrong-key"}
        async with workers(own.url, tmp_path) as crew:
            worker = await crew.start(**model)
            done = offturn("session", "compact", "chat", *options)
            await until(lambda: '"job_done"' in worker.said)
        async with CompactionClient.from_url(own.url, timeout=20) as client:
            events = await client.session("chat", format="openai-chat").events()

    assert done.returncode == 0
    assert b"the model did not write it (auth): see `offturn doctor`" in done.stdout
    [finished] = [event.fields for event in events if event.kind == "finished"]
    assert finished["fallback"] == "auth"
    [job] = [line for line in worker.lines if line["event"] == "job_done" and line["outcome"] == "compacted"]
    assert (job["level"], job["fallback"]) == ("warning", "auth")
    [spare] = [line for line in worker.lines if line["event"] == "summarizer_without_key"]
    assert (spare["level"], spare["summarizer"], spare["remedy"]) == (
        "warning",
        "anthropic:spare",
        "set OFFTURN_ANTHROPIC_API_KEY",
    )
    assert "sk-wrong-key" not in worker.said


def test_a_briefing(store: tuple[str, ...], tmp_path: Path) -> None:
    before = offturn("session", "handoff", "chat", *store)
    compact("chat", "--here", *store)
    file = tmp_path / "briefing.txt"
    written = offturn("session", "handoff", "chat", "--output", str(file), *store)
    facts = json.loads(offturn("session", "handoff", "chat", "--json", *store).stdout)
    nowhere = offturn("session", "handoff", "chat", "--output", str(tmp_path), *store)

    raw = before.stdout.decode()
    assert raw.startswith(f"[Briefing on an earlier conversation of {len(TALK)} messages")
    assert all(f"Please look into module {number}." in raw for number in range(16))
    assert "Now write the notes. The api_key = [masked: " in raw
    assert "sk-live" not in raw + file.read_text() + facts["text"]
    assert b"1 secret masked" in before.stderr
    assert (written.stdout, facts["text"] + "\n") == (b"", file.read_text())
    assert (facts["generation"], facts["method"], facts["messages"]) == (1, "extractive", len(TALK))
    assert nowhere.returncode == 2
    assert b"--output" in nowhere.stderr
