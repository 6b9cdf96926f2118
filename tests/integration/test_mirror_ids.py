"""Lists with the host's ids that changed: ids decide before content."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict, InvalidMessage
from tests.integration.host import FORMATS, Raw, human, says, stored, turns
from tests.integration.moved import assert_sound, compacted, open_session

ABC = [human("a"), says("b"), human("c")]


@pytest.mark.parametrize(
    ("ids", "mine", "shown", "path"),
    [
        (["1", "2", "3"], [human("a"), says("B"), human("c")], "aBc", ((0, 1), (3, 4), (2, 3))),  # the same id: an edit
        (["1", "3"], [human("a"), human("c")], "ac", ((0, 1), (2, 3))),  # missing in the middle: deleted
        (["2", "3", "4"], [says("b"), human("c"), says("d")], "abcd", ((0, 4),)),  # missing in front: trimmed
        (["2", "3", "4"], [says("B"), human("c"), says("d")], "aBcd", ((0, 1), (3, 4), (2, 3), (4, 5))),
        (["1", "9", "3"], [human("a"), says("b"), human("c")], "abc", ((0, 3),)),  # another id, the same list
        (["1", "9", "2", "3"], [human("a"), says("b"), says("b"), human("c")], "abbc", ((0, 1), (3, 4), (1, 3))),
        (["3", "1", "2", "4"], [human("c"), human("a"), says("b"), human("d")], "cabd", ((2, 6),)),
        (["1", None, "4"], [human("a"), says("b"), human("d")], "abd", ((0, 2), (3, 4))),
        (["7", "8"], [human("x"), says("y")], "xy", ((3, 5),)),
        (["1", "8"], [human("a"), says("x")], "ax", ((0, 1), (3, 4))),
    ],
)
async def test_by_ids(client: CompactionClient, ids: list[str | None], mine: list[Raw], shown: str, path: Any) -> None:
    session = open_session(client)
    await session.mirror(ABC, ids=["1", "2", "3"])

    view = await session.mirror(mine, ids=ids)
    again = await session.mirror(mine, ids=ids)

    assert "".join(message["content"] for message in view.messages) == shown
    assert view.path == again.path == path
    assert again.warnings == ()
    await assert_sound(session, again)


async def test_a_message_without_an_id_is_not_deleted_by_a_list_of_ids(client: CompactionClient) -> None:
    session = open_session(client)
    await session.mirror([human("a"), says("b")], ids=["1", "2"])
    await session.record(human("A file was restored."), origin="restore")
    await session.mirror([human("a"), says("b"), human("A file was restored."), says("d")], ids=["1", "2", "3", "4"])

    view = await session.mirror([human("a"), says("b"), says("d"), human("e")], ids=["1", "2", "4", "5"])
    edited = await session.mirror([human("a"), says("B"), says("d"), human("e")], ids=["1", "2", "4", "5"])

    assert [message["content"] for message in view.messages] == ["a", "b", "A file was restored.", "d", "e"]
    assert [message["content"] for message in edited.messages] == ["a", "B", "A file was restored.", "d", "e"]


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_trimmed_list_with_an_edit_keeps_the_generation(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    session = await compacted(client, fmt, ids=True)
    mine, ids = turns(fmt, 22), [f"row {i}" for i in range(90)]
    before = await session.view()

    view = await session.mirror([*mine[80:84], human("Edited."), *mine[85:], human("On.")], ids=ids[80:89])

    assert view.generation == 1
    assert list(view.messages) == [*before.messages[:-4], human("Edited."), *mine[85:], human("On.")]
    assert await stored(redis, "chat") == [*mine, human("Edited."), human("On.")]
    await assert_sound(session, view)
    await session.amend("row 84", human("Edited twice."))
    assert (await session.view()).path == ((0, 84), (90, 91), (85, 88), (89, 90))


async def test_a_deleted_call_takes_its_result_along(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client)
    mine, ids = turns("openai-chat", 2), list("01234567")
    await session.mirror(mine, ids=ids)

    with pytest.raises(InvalidMessage) as caught:
        await session.mirror([mine[0], *mine[2:]], ids=["0", *ids[2:]])
    view = await session.mirror([mine[0], *mine[3:]], ids=["0", *ids[3:]])

    assert caught.value.index == 1
    assert view.path == ((0, 1), (3, 8))


async def test_a_stale_list_with_ids_takes_nothing_off_the_path(client: CompactionClient, redis: Redis) -> None:
    first, second = open_session(client), open_session(client)
    await first.mirror(ABC, ids=["1", "2", "3"])
    await second.mirror([*ABC, says("d")], ids=["1", "2", "3", "4"])

    with pytest.raises(Conflict, match=r"1 message of the session, from m3 on"):
        await first.mirror([*ABC, says("other")], ids=["1", "2", "3", "9"])
    assert await stored(redis, "chat") == [*ABC, says("d")]


async def test_one_is_put_before_another_that_says_the_same(client: CompactionClient) -> None:
    """By content the second "ok" was the new one, by its id it was recorded already: so none was."""
    session = client.session("chat", format="openai-chat", window=16_000)
    await session.mirror([human("a"), human("ok")], ids=["1", "3"])

    view = await session.mirror([human("a"), human("ok"), human("ok")], ids=["1", "2", "3"])
    again = await session.mirror([human("a"), human("ok"), human("ok")], ids=["1", "2", "3"])

    assert view.messages == again.messages == [human("a"), human("ok"), human("ok")]
    assert [line["id"] async for line in session.export() if line.get("on_path")] == ["1", "3", "2"]
    later = await session.mirror([human("a"), human("ok"), human("ok"), human("b")], ids=["1", "2", "3", "4"])
    assert later.messages == [human("a"), human("ok"), human("ok"), human("b")]
