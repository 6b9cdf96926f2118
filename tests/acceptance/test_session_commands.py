"""`offturn session rewind|fork|redact|purge|unblock|export` as a person calls them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from offturn import CompactionClient
from offturn_config.keys import SessionKey, dead
from tests.acceptance.command import offturn, on_a_terminal
from tests.acceptance.test_compact import conversation
from tests.conftest import TIMEOUT

TALK = conversation(3)


@pytest.fixture
def store(tmp_path: Path, valkey_url: str) -> tuple[str, ...]:
    """Options that name a tenant of its own, with one session."""
    tenant = "".join(c for c in tmp_path.name.lower() if c.isalnum() or c in "-_")
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(TALK))
    options = ("--store", valkey_url, "--tenant", tenant)
    done = offturn("import", str(file), "--session", "chat", "--format", "openai-chat", *options)
    assert done.returncode == 0, done.stderr
    return options


def facts(*arguments: str) -> Any:
    done = offturn("session", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_rewind_fork_and_export(store: tuple[str, ...]) -> None:
    fork = facts("fork", "chat", "copy", "--at", "m4", *store)
    rewound = facts("rewind", "chat", "--to", "m2", *store)
    lines = offturn("session", "export", "chat", *store)
    listed = facts("list", *store)

    assert (fork["session"], fork["messages"]) == ("copy", 5)
    assert (rewound["session"], rewound["messages"]) == ("chat", 3)
    exported = [json.loads(line) for line in lines.stdout.splitlines()]
    assert exported == facts("export", "chat", *store)
    assert [line["message"] for line in exported if line["kind"] == "message"] == TALK
    assert sum(line.get("on_path", False) for line in exported) == 3
    assert [(row["session"], row["messages"]) for row in listed] == [("chat", 3), ("copy", 5)]


def test_a_rollback_without_a_number_tells_those_there_are(store: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_text(json.dumps(conversation(40)))
    imported = offturn("import", str(file), "--session", "long", "--format", "openai-chat", "--window", "16000", *store)
    assert imported.returncode == 0, imported.stderr
    assert offturn("session", "compact", "long", "--here", *store).returncode == 0

    unnamed = offturn("session", "rollback", "long", *store)
    assert (unnamed.returncode, unnamed.stdout) == (2, b"")
    assert b"--generation is missing: session 'long' has 0 (the raw transcript), 1; " in unnamed.stderr
    assert b"`offturn session show long`" in unnamed.stderr
    assert facts("rollback", "long", "--generation", "1", *store)["generation"] == 1
    assert facts("rollback", "long", "--generation", "0", "--force", *store)["generation"] == 0


def test_a_session_is_packed_and_taken_apart(store: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_text(json.dumps(conversation(40)))
    imported = offturn("import", str(file), "--session", "long", "--format", "openai-chat", "--window", "16000", *store)
    assert imported.returncode == 0, imported.stderr
    assert offturn("session", "compact", "long", "--here", *store).returncode == 0
    raw = facts("view", "long", "--generation", "0", *store)

    packed = facts("pack", "long", *store)
    shown = facts("show", "long", *store)["status"]
    told = offturn("session", "pack", "long", *store)
    in_packs = facts("view", "long", "--generation", "0", *store)
    apart = facts("unpack", "long", *store)

    assert 0 < packed["packed"] < packed["messages"]
    assert packed["stored_bytes"] < packed["bytes"]
    assert (shown["log_bytes"], shown["stored_bytes"]) == (packed["bytes"], packed["stored_bytes"])
    assert b"messages are packed" in told.stdout
    assert in_packs == raw
    assert (apart["packed"], apart["stored_bytes"]) == (0, packed["bytes"])


def test_a_call_that_nobody_answered_is_shown_in_its_turns(store: tuple[str, ...], valkey_url: str) -> None:
    """The bot died between a call and its result: the view holds a result that the log does not."""
    call = {"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    talk = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "You crashed, go on."},
    ]

    async def record() -> None:
        async with CompactionClient.from_url(valkey_url, tenant=store[3], timeout=TIMEOUT) as client:
            await client.session("crashed", format="openai-chat").record(talk)

    asyncio.run(record())

    shown = facts("show", "crashed", *store)

    assert shown["status"]["messages"] == len(talk)


def test_a_list_cuts_nothing_on_a_narrow_terminal(store: tuple[str, ...], tmp_path: Path) -> None:
    name = "a-name-of-a-session-that-is-rather-long"
    offturn("session", "fork", "chat", name, *store)

    lines = on_a_terminal("session", "list", *store, cwd=tmp_path, columns=80).splitlines()

    assert lines[0].split() == [
        *("session", "messages", "tokens", "generation", "current", "requirement", "due", "running", "policy")
    ]
    assert max(map(len, lines)) <= 80
    assert name in "".join(line.split(" ")[0] for line in lines)


def test_purge_asks_and_the_list_goes_on(store: tuple[str, ...]) -> None:
    refused = offturn("session", "purge", "chat", *store)
    purged = facts("purge", "chat", "--yes", *store)
    gone = offturn("session", "rewind", "chat", *store)

    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"--yes" in refused.stderr
    assert purged == {"session": "chat", "messages": len(TALK), "purged": True}
    assert facts("list", *store) == []
    assert gone.returncode == 2
    assert b"does not exist" in gone.stderr


def test_what_is_parked_or_too_dense_is_told(store: tuple[str, ...], valkey_url: str) -> None:
    key = SessionKey(store[3], "chat")
    end = {"kind": "died", "at": 1_790_000_000_000, "worker": "pod-1"}
    with Redis.from_url(valkey_url) as redis:
        redis.hset(key.key("meta"), mapping={"parked": 1, "ends": json.dumps([end] * 6), "blocked": "It is too dense."})
        letter = {"at": 1_790_000_000_000, "reason": "attempts", "attempts": 6, "ends": [end] * 6}
        redis.hset(dead(), key.member, json.dumps(letter))
    listed = offturn("session", "list", "--parked", *store)
    shown = offturn("session", "show", "chat", *store)

    assert facts("list", "--parked", *store) == [
        {"session": "chat", "since": letter["at"], "reason": "attempts", "attempts": 6,
         "why": "6 jobs in a row ended badly: 6 x died", "ends": [end] * 6}
    ]  # fmt: skip
    assert b"2026-09-21T14:13:20+00:00\t6\t6 jobs in a row ended badly: 6 x died\tpod-1" in listed.stdout
    assert b"offturn session unblock chat" in listed.stderr
    assert b"It is too dense." in shown.stderr
    assert b"parked (6 x died)" in shown.stderr
    told = facts("unblock", "chat", *store)
    assert (told["parked"], told["blocked"], told["trouble"]) == (False, "", "")
    assert facts("list", "--parked", *store) == []


def test_unblock_and_what_is_refused(store: tuple[str, ...]) -> None:
    told = offturn("session", "unblock", "chat", *store)
    refused = offturn("session", "rewind", "chat", "--turns", "7", *store)
    no_message = offturn("session", "rewind", "chat", "--to", "row 9", *store)

    assert told.stdout == b"session chat: was neither parked nor blocked, nothing is due\n"
    assert refused.returncode == no_message.returncode == 2
    assert b"the path has 1" in refused.stderr
    assert b"not on the path" in no_message.stderr


def test_redact_asks_and_the_message_keeps_its_place(store: tuple[str, ...]) -> None:
    asked = ("redact", "chat", "--ref", "m0", "--ref", "m2", "--reason", "asked for")
    refused = offturn("session", *asked, *store)
    nothing = offturn("session", "redact", "chat", "--reason", "asked for", *store)
    unknown = offturn("session", "redact", "chat", "--ref", "row 9", "--reason", "asked for", "--yes", *store)
    redacted = facts(*asked, "--yes", *store)
    again = offturn("session", *asked, "--yes", *store)
    lines = facts("export", "chat", *store)

    assert refused.returncode == nothing.returncode == unknown.returncode == 2
    assert b"--yes" in refused.stderr
    assert b"name messages with --ref m12, or all of an author with --author NAME" in nothing.stderr
    assert b"is not in session" in unknown.stderr
    assert (redacted["redacted"], redacted["messages"]) == ([0, 2], len(TALK))
    assert b"redacted nothing that was not already" in again.stdout
    messages = [line for line in lines if line["kind"] == "message"]
    assert [line["seq"] for line in messages if line["redacted"] == "asked for"] == [0, 2]
    assert messages[0]["message"] == {"role": TALK[0]["role"], "content": "[redacted]"}
    assert messages[1]["message"] == TALK[1]


def test_why_tells_what_became_of_a_text(store: tuple[str, ...], tmp_path: Path) -> None:
    facts("rewind", "chat", "--to", "m4", *store)

    [kept] = facts("why", "chat", "never change the", *store)
    by_seq = facts("why", "chat", "1", *store)
    [gone] = facts("why", "chat", "All ported", *store)
    nothing = offturn("session", "why", "chat", "nobody said this", *store)
    screen = on_a_terminal("session", "why", "chat", "never change the", *store, cwd=tmp_path)

    assert (kept["seq"], kept["fate"], kept["rule"], kept["since"]) == (0, "verbatim", "kept", "always")
    assert [row["kind"] for row in by_seq] == ["text", "call"]
    assert (gone["fate"], gone["rule"]) == ("omitted", "off-path")
    assert (nothing.returncode, nothing.stdout) == (1, b"")
    assert b"no message holds that text" in nothing.stderr
    assert screen.splitlines() == [
        "m0  human text: verbatim",
        "    in the view as it was recorded (kept)",
        "    Port the parser. Never change the public API.",
    ]


def test_why_and_show_tell_of_facts_after_an_emergency(store: tuple[str, ...], valkey_url: str, tmp_path: Path) -> None:
    rule = "Never change the public API of module 7."
    talk = [{"role": "user", "content": rule}, {"role": "assistant", "content": "Understood."}]
    talk += [{"role": "assistant" if n % 2 else "user", "content": f"Step {n}. " * 700} for n in range(30)]

    async def record() -> None:
        async with CompactionClient.from_url(valkey_url, tenant=store[3], timeout=TIMEOUT) as client:
            session = client.session("long", format="openai-chat", window=20_000)
            await session.record([*talk, {"role": "user", "content": "And now?"}])
            assert (await session.view()).kind == "emergency"

    asyncio.run(record())

    shown = facts("show", "long", *store)["generations"][-1]
    [kept] = facts("why", "long", rule, *store)
    screen = on_a_terminal("session", "why", "long", rule, *store, cwd=tmp_path)

    assert (shown["provisional"], shown["audit"]["lost"], shown["audit"]["mutated"]) == (True, 0, 0)
    assert "constraint" in {one["kind"] for one in shown["audit"]["kinds"]}
    assert {"kind": "constraint", "fate": "kept", "into": None}.items() <= kept["facts"][0].items()
    assert f"    fact, constraint: {rule}: kept" in screen.splitlines()


def test_a_report_on_a_session_holds_its_path(store: tuple[str, ...], tmp_path: Path) -> None:
    facts("redact", "chat", "--ref", "m2", "--reason", "asked for", "--yes", *store)
    page = tmp_path / "page.html"

    done = offturn("session", "report", "chat", "--output", str(page), *store)
    refused = offturn("session", "report", "chat", "--output", "nowhere/page.html", *store)

    assert done.returncode == 0, done.stderr
    assert "Session chat" in page.read_text()
    assert page.read_text().count('class="entry f-verbatim"') == len(TALK) - 1
    assert page.read_text().count('class="entry f-redacted"') == 1
    assert refused.returncode == 2
    assert b"--output 'nowhere/page.html'" in refused.stderr
