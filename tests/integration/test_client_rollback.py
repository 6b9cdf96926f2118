"""Rollback to what is too large: refused with the numbers, forced, and what then gives way."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest
from redis.asyncio import Redis

import offturn
from offturn import CompactionClient, Refused, Session
from offturn.testing import FakeSummarizer
from tests.conftest import TIMEOUT
from tests.integration.host import (
    FORMATS,
    Raw,
    assert_sendable,
    calls,
    human,
    long_text,
    result,
    says,
    stored,
    texts,
    turns,
)

WINDOW = 16_000
CEILING = 7_200  # of the policy, at this window


async def compacted(client: CompactionClient, fmt: str, sent: list[Raw]) -> Session:
    session = client.session("chat", format=fmt, window=WINDOW)
    await session.record(sent)
    await client.run_due(summarizer=FakeSummarizer())
    assert (await session.view()).generation == 1
    return session


def working(fmt: str, runs: int) -> list[Raw]:
    """A conversation whose size is in its results, which pruning cuts."""
    return [
        message
        for n in range(runs)
        for message in (
            human(f"Run {n}."),
            calls(fmt, f"c{n}"),
            result(fmt, f"c{n}", long_text(4_000, f"{n}")),
            says(f"Run {n} passed."),
        )
    ]


@pytest.mark.parametrize("fmt", FORMATS)
async def test_above_the_ceiling_a_rollback_is_refused_with_the_numbers(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt, turns(fmt, 22))
    tokens = (await session.view(generation=0)).tokens
    before = await session.events()

    with pytest.raises(Refused, match=rf"about {tokens} tokens.* ceiling is {CEILING}: pass force=True"):
        await session.rollback(generation=0)
    assert (await session.status()).generation == 1
    assert await session.events() == before

    await session.rollback(generation=0, force=True)
    assert (await session.view()).kind == "raw"
    await session.rollback(generation=1)
    assert (await session.view()).generation == 1


async def test_what_was_put_back_and_does_not_fit_is_told(client: CompactionClient) -> None:
    session = await compacted(client, "openai-chat", turns("openai-chat", 60))
    await session.rollback(generation=0, force=True)

    view = await session.view()

    assert view.kind == "emergency"
    [warning] = view.warnings
    assert warning.startswith("generation 0 was put back in force and does not fit the window")
    assert (await session.view()).warnings == ()


async def test_below_the_ceiling_nobody_has_to_force(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 12))
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    assert (await session.view(generation=0)).tokens < CEILING

    await session.rollback(generation=0)
    assert (await session.view()).kind == "raw"


@pytest.mark.parametrize("fmt", FORMATS)
async def test_what_is_forced_and_does_not_fit_gives_way_at_once(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    sent = turns(fmt, 60)
    session = await compacted(client, fmt, sent)
    await session.rollback(generation=0, force=True)
    view = await session.view()

    assert_sendable(view)
    assert (view.kind, view.generation) == ("emergency", 2)
    assert await stored(redis, "chat") == sent


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_generation_that_does_not_fit_is_shown_cut_and_said(client: CompactionClient, fmt: str) -> None:
    sent = turns(fmt, 60)
    session = await compacted(client, fmt, sent)

    cut = await session.view(generation=0)
    whole = await session.view(generation=0, window=offturn.ANY_WINDOW)

    assert_sendable(cut)
    assert any("generation 0 does not fit" in one and "ANY_WINDOW" in one for one in cut.warnings)
    assert list(whole.messages) == sent
    assert not any("does not fit" in one for one in whole.warnings)
    assert len(await session.generations()) == 1


@pytest.mark.parametrize("fmt", FORMATS)
async def test_where_pruning_is_enough_an_emergency_covers_nothing(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    sent = working(fmt, 20)
    session = await compacted(client, fmt, sent)
    await session.rollback(generation=0, force=True)
    view = await session.view()
    made = (await session.generations())[-1]

    assert_sendable(view)
    assert (view.kind, view.generation, made.number) == ("emergency", 2, 2)
    assert (made.method, made.covered, made.replaces) == ("prune", (), 0)
    assert len(view.messages) == len(sent)
    assert list(view.messages[-4:]) == sent[-4:]
    assert view.tokens <= 0.6 * WINDOW
    assert await stored(redis, "chat") == sent


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_message_too_large_to_send_can_be_answered_and_left_behind(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    mine = [human("Hello."), says("Hello."), human(long_text(200_000, "PASTE"))]
    with pytest.raises(offturn.CannotFit):
        await session.mirror(mine)
    assert await stored(redis, "chat") == mine

    mine += [says("That was too long, please send a file."), human("Sorry. What is new?")]
    view = await session.mirror(mine)

    assert_sendable(view)
    assert view.messages[-1] == mine[-1]
    assert "please send a file" in texts(view.messages)
    assert await stored(redis, "chat") == mine


async def rolled_back(url: str, *options: str) -> tuple[int, str]:
    """Exit code and output of the command line."""
    command = ("-m", "offturn", "session", "rollback", "chat", "--generation", "0", "--store", url, *options)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "OFFTURN_TIMEOUT": str(TIMEOUT)},
    )
    said, _ = await process.communicate()
    return process.returncode or 0, " ".join(said.decode().split())


async def test_the_command_line_forces_too(client: CompactionClient, valkey_url: str) -> None:
    session = await compacted(client, "openai-chat", turns("openai-chat", 22))

    code, said = await rolled_back(valkey_url)
    assert code != 0
    assert f"ceiling is {CEILING}" in said
    assert "--force" in said
    assert (await session.status()).generation == 1

    code, said = await rolled_back(valkey_url, "--force")
    assert (code, said) == (0, "session chat: generation 0 is in force")
