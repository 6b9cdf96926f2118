"""A turn in one call is a record and a view with one look at the store, where the session is as its host believes."""

from __future__ import annotations

import pytest

from offturn import CompactionClient, Conflict, Place, Session, StoreUnavailable, Usage
from offturn.operations import named_operation
from tests.integration.host import calls, human, says

WINDOW = 16_000


def anywhere(_: Place | None) -> int | None:
    """Wherever it is."""
    return None


def chat(client: CompactionClient, name: str = "chat") -> Session:
    return client.session(name, format="openai-chat", window=WINDOW)


async def test_it_is_a_record_and_a_view(client: CompactionClient) -> None:
    one, two = chat(client, "one"), chat(client, "two")
    for messages in ([human("hello")], [says("hi"), human("again")], []):
        turned = await one.turn(messages, expect=anywhere, usage=Usage(10) if messages else None)
        if messages:
            recorded = await two.record(messages, usage=Usage(10))
            assert turned.recorded is not None
            assert (turned.recorded.first_seq, turned.recorded.path) == (recorded.first_seq, recorded.path)
        else:
            assert turned.recorded is None
        view = await two.view()
        assert turned.view is not None
        assert (turned.view.messages, turned.view.tokens) == (view.messages, view.tokens)
    assert turned.place == await one.place() == await two.place()
    assert (await one.turn([], expect=anywhere, show=False)).view is None


async def test_nothing_is_recorded_where_the_host_was_mistaken(client: CompactionClient) -> None:
    session, other = chat(client), chat(client)
    before = (await session.turn([human("one"), says("two"), human("three")], expect=anywhere)).place
    await other.view()
    await other.rewind()

    def unmoved(place: Place | None) -> int | None:
        if place != before:
            raise Conflict("somebody else has moved it")
        return None

    with pytest.raises(Conflict, match="somebody else"):
        await session.turn([says("four")], expect=unmoved)
    assert (await session.status()).messages == 2
    assert await session.place() == await other.place() != before


async def test_a_named_operation_takes_effect_once_in_any_process(
    client: CompactionClient, strict: CompactionClient
) -> None:
    for used in (client, strict, client):
        with named_operation("the same"):
            turned = await chat(used).turn([human("once")], expect=anywhere)
        assert turned.place == Place(incarnation=1, length=1, path=((0, 1),))
    with named_operation("another"):
        assert (await chat(strict).turn([human("twice")], expect=anywhere)).place != turned.place


async def test_the_tail_is_the_end_of_the_hosts_own_list(client: CompactionClient) -> None:
    session, mine = chat(client), [human("begin")]
    await session.record(mine)
    for i in range(14):
        new = [says(f"step {i}. " + "I read a file of the parser. " * 100), human(f"go on with {i}")]
        mine += new
        await session.record(new)
        if i == 8:
            await session.amend(2, human("go on, but slowly"))
            mine[2] = human("go on, but slowly")
        if i in (5, 11):
            await session.request()
            await client.run_due()
        view = await session.view()
        assert [*view.messages[: view.tail_from], *mine[view.tail_at :]] == [*view.messages]
        kept = [*view.messages[: view.tail_from]], view.tail_at
    assert view.kind == "compacted"
    mine += [calls("openai-chat", "c1")]
    await session.record(mine[-1])
    later = await session.view()
    assert [*kept[0], *mine[kept[1] :]] == [*later.messages]


async def test_it_keeps_nothing_while_the_store_is_away() -> None:
    away = CompactionClient.from_url("redis://127.0.0.1:1/0", timeout=0.2)
    with pytest.raises(StoreUnavailable):
        await chat(away).turn([human("two")], expect=anywhere)
    assert away.undelivered() == []
    await away.close()
