"""Hosts that keep their own list: what is new in it is recorded once, and nothing else ever."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict, InvalidMessage, InvalidSetting, Session
from tests.conftest import TIMEOUT
from tests.integration.host import FORMATS, Raw, assert_sendable, calls, human, long_text, result, says, stored, turns

WINDOW = 16_000


def open_session(client: CompactionClient, fmt: str, name: str = "chat") -> Session:
    return client.session(name, format=fmt, window=WINDOW)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_append_equal_and_behind(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 2)

    first = await session.mirror(mine)
    equal = await session.mirror(mine)
    behind = await session.mirror(mine[:5])
    nothing = await session.mirror([])
    longer = await session.mirror([*mine, human("More.")])

    assert list(first.messages) == list(equal.messages) == list(behind.messages) == mine
    assert [v.behind for v in (first, equal, behind, nothing, longer)] == [False, False, True, True, False]
    assert longer.messages[-1] == human("More.")
    assert await stored(redis, "chat") == [*mine, human("More.")]


def _other_shape(raw: Raw) -> Raw:
    """The same message as other libraries write it."""
    changed: dict[str, Any] = copy.deepcopy(dict(reversed(raw.items())))
    if isinstance(changed.get("content"), str) and raw["role"] != "tool":
        changed["content"] = [{"type": "text", "text": changed["content"], "cache_control": {"type": "ephemeral"}}]
    return {**changed, "name": None, "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize("fmt", FORMATS)
async def test_markers_nulls_and_shapes_make_no_other_message(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 2)
    await session.mirror(mine)

    same = await session.mirror([_other_shape(raw) for raw in mine])
    await session.mirror([*(_other_shape(raw) for raw in mine), human("Go on.")])

    assert list(same.messages) == mine
    assert await stored(redis, "chat") == [*mine, human("Go on.")]


@pytest.mark.parametrize("fmt", FORMATS)
async def test_by_ids_a_list_may_lack_what_is_old(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 3)
    ids = [str(n) for n in range(len(mine))]
    await session.mirror(mine, ids=ids)

    view = await session.mirror([*mine[8:], human("New.")], ids=[*ids[8:], "12"])
    behind = await session.mirror(mine[4:8], ids=ids[4:8])
    without = await session.mirror([*mine, human("New."), says("Fine.")], ids=[*ids, None, None])

    assert await stored(redis, "chat") == [*mine, human("New."), says("Fine.")]
    assert list(view.messages) == [*mine, human("New.")]
    assert (behind.behind, without.behind) == (True, False)


async def test_ids_that_contradict_the_session_are_refused(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client, "openai-chat")
    mine = [human("a"), says("b"), human("c")]
    await session.mirror(mine, ids=["1", "2", "3"])

    with pytest.raises(Conflict, match="message 3: id '2'"):
        await session.mirror([*mine, human("d")], ids=["1", "8", "3", "2"])
    with pytest.raises(Conflict, match="message 1: id '9' names another message too"):
        await session.mirror([human("a"), human("x"), human("y"), human("c")], ids=["1", "9", "9", "3"])
    with pytest.raises(InvalidSetting, match="1 for 3 messages"):
        await session.mirror(mine, ids=["1"])
    assert await stored(redis, "chat") == mine


async def test_what_was_recorded_without_an_id_is_found_by_content(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client, "openai-chat")
    await session.mirror([human("a")], ids=["1"])
    await session.record(says("b"))

    await session.mirror([human("a"), says("b"), human("c")], ids=["1", "2", "3"])

    assert await stored(redis, "chat") == [human("a"), says("b"), human("c")]


async def test_a_system_message_of_the_list_goes_out_as_it_is_now(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client, "openai-chat")
    mine: list[Raw] = [{"role": "system", "content": "It is 09:00."}, human("Hello.")]
    first = await session.mirror(mine)
    mine = [{"role": "system", "content": "It is 09:05."}, *mine[1:], says("Hi."), human("Bye.")]
    second = await session.mirror(mine)
    third = await session.mirror([{"role": "developer", "content": "Be brief."}, *mine])
    bare = await session.mirror(mine[1:])

    assert first.messages[0] == {"role": "system", "content": "It is 09:00."}
    assert list(second.messages) == mine
    assert list(third.messages) == [{"role": "developer", "content": "Be brief."}, *mine]
    assert bare.messages[0] == {"role": "system", "content": "It is 09:00."}
    assert await stored(redis, "chat") == [{"role": "system", "content": "It is 09:00."}, *mine[1:]]


async def test_a_longer_system_message_still_fits(client: CompactionClient) -> None:
    session = open_session(client, "openai-chat")
    mine = turns("openai-chat", 26)
    short = await session.mirror([{"role": "system", "content": "Hi."}, *mine])
    long = await session.mirror([{"role": "system", "content": long_text(20_000)}, *mine])

    assert short.kind == "raw"
    assert long.kind == "emergency"
    assert long.messages[0]["content"] == long_text(20_000)
    assert_sendable(long)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_bad_message_is_named_by_its_place_in_the_list(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 1)
    await session.mirror(mine)

    with pytest.raises(InvalidMessage) as caught:
        await session.mirror([*mine, human("Fine."), {"role": "narrator", "content": "x"}])
    assert (caught.value.index, caught.value.field) == (5, "role")
    with pytest.raises(InvalidMessage) as orphan:
        await session.mirror([*mine, human("Fine."), result(fmt, "unknown", "x")])
    assert orphan.value.index == 5
    with pytest.raises(InvalidMessage) as nothing:
        await session.mirror([*mine, "text"])
    assert nothing.value.index == 4
    assert await stored(redis, "chat") == mine


async def test_a_message_said_twice_is_recorded_twice(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client, "openai-chat")
    mine: list[Raw] = []
    for _ in range(4):
        mine += [human("yes"), says("ok")]
        await session.mirror(mine)
    assert await stored(redis, "chat") == mine


@pytest.mark.parametrize("fmt", FORMATS)
async def test_messages_inside_a_tool_group_keep_their_place(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = [human("Run both."), calls(fmt, "a", "b"), human("Hurry."), result(fmt, "a", "1"), result(fmt, "b", "2")]
    for count in range(1, 6):
        await session.mirror(mine[:count])
    view = await session.mirror([*mine, says("Done.")])

    assert await stored(redis, "chat") == [*mine, says("Done.")]
    assert [view.messages.index(raw) for raw in mine] == [0, 1, 4, 2, 3]
    await session.mirror([*view.messages, human("Thanks.")])
    assert await stored(redis, "chat") == [*mine, says("Done."), human("Thanks.")]


async def test_mirror_and_record_go_together(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client, "openai-chat")
    mine = [human("a")]
    view = await session.mirror(mine)
    await session.record(says("b"), usage={"prompt_tokens": 10, "completion_tokens": 2}, view=view)
    await session.mirror([human("a"), says("b"), human("c")], usage={"prompt_tokens": 12, "completion_tokens": 2})

    assert await stored(redis, "chat") == [human("a"), says("b"), human("c")]
    assert [e.kind for e in await session.events()] == ["usage", "usage"]


async def test_phase_done_takes_the_hosts_list(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client, "openai-chat")
    mine = turns("openai-chat", 12)
    ticket = await session.phase_done("Twelve modules are done.", history=mine)
    [outcome] = await client.run_due()

    assert await ticket.wait(TIMEOUT) == outcome
    assert await stored(redis, "chat") == mine


@pytest.mark.parametrize("fmt", FORMATS)
async def test_two_processes_that_mirror_the_same_list_record_it_once(
    client: CompactionClient, redis: Redis, valkey_url: str, fmt: str
) -> None:
    mine: list[Raw] = []
    async with CompactionClient.from_url(valkey_url, timeout=20) as other:
        handles = [open_session(client, fmt), open_session(other, fmt), open_session(other, fmt)]
        for number in range(6):
            mine += turns(fmt, 1, start=number)
            views = await asyncio.gather(*(handle.mirror(mine) for handle in handles))
            assert all(list(view.messages) == mine for view in views)
    assert await stored(redis, "chat") == mine


async def test_what_another_process_recorded_meanwhile_is_a_conflict(client: CompactionClient, redis: Redis) -> None:
    first, second = open_session(client, "openai-chat"), open_session(client, "openai-chat")
    await first.mirror([human("a")])
    both = await asyncio.gather(
        first.mirror([human("a"), human("b")]), second.mirror([human("a"), human("c")]), return_exceptions=True
    )

    assert sum(isinstance(one, Conflict) for one in both) == 1
    assert len(await stored(redis, "chat")) == 2
