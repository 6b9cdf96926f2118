"""Large records are made page by page: others on the host's loop have their turn, and the order of calls stays."""

from __future__ import annotations

import asyncio

import pytest

from offturn import CompactionClient, InvalidMessage
from tests.integration.host import human

LARGE = [human(f"{n} " + "word " * 2_000) for n in range(200)]  # eight pages


async def shown(client: CompactionClient) -> list[str]:
    view = await client.session("s", format="openai-chat").view(generation=0, window=10**9)
    return [message["content"] for message in view.messages]


async def test_a_large_record_leaves_turns_to_others_and_keeps_its_place(client: CompactionClient) -> None:
    session = client.session("s", format="openai-chat", window=10**9)
    await session.record(human("first"))

    large = asyncio.create_task(session.record(list(LARGE)))
    await asyncio.sleep(0)
    small = asyncio.create_task(session.record(human("last")))
    done = await asyncio.gather(large, small)

    assert [(one.first_seq, one.last_seq) for one in done] == [(1, 200), (201, 201)]
    assert await shown(client) == ["first", *(message["content"] for message in LARGE), "last"]


async def test_what_is_recorded_is_what_was_given(client: CompactionClient) -> None:
    """A host may change its list and its messages as soon as it waits."""
    session = client.session("s", format="openai-chat", window=10**9)
    given = [dict(message) for message in LARGE]

    ids = [str(n) for n in range(len(given))]

    recording = asyncio.create_task(session.record(given, ids=ids))
    await asyncio.sleep(0)
    given[-1]["content"] = "changed"
    del given[50:60], ids[50:60]
    await recording

    assert await shown(client) == [message["content"] for message in LARGE]
    assert (await session.record([LARGE[-1]], ids=[str(len(LARGE) - 1)])).first_seq == len(LARGE)
    assert await shown(client) == [message["content"] for message in LARGE]


async def test_one_bad_message_far_behind_refuses_all_of_them(client: CompactionClient) -> None:
    session = client.session("s", format="openai-chat", window=10**9)

    with pytest.raises(InvalidMessage) as refused:
        await session.record([*LARGE, {"role": "user", "content": 7}])
    recorded = await session.record(human("only"))

    assert refused.value.index == 200
    assert (recorded.first_seq, recorded.last_seq) == (0, 0)


async def test_a_cancelled_record_holds_nobody_up(client: CompactionClient) -> None:
    session = client.session("s", format="openai-chat", window=10**9)

    cancelled = asyncio.create_task(session.record(list(LARGE)))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled

    assert (await session.record(human("next"))).first_seq == 0
    assert await shown(client) == ["next"]


async def test_a_long_list_is_mirrored_as_a_short_one(client: CompactionClient) -> None:
    session = client.session("s", format="openai-chat", window=10**9)
    long = [human(f"message {n}") for n in range(700)]

    await session.mirror(long)
    await session.mirror([*long, human("one more")])
    changed = await session.mirror([*long[:-1], human("another")])

    assert changed.warnings
    assert await shown(client) == [*(message["content"] for message in long[:-1]), "another"]
