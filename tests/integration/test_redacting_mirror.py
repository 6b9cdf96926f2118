"""A host's own list after a redact: what was redacted is neither recorded again nor takes a new message's place."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.config import ANY_WINDOW
from tests.integration.host import FORMATS, human, says, stored, turns
from tests.integration.moved import open_session
from tests.integration.test_redacting import PLANTED, assert_nowhere, planted, quotes, session_with


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("with_ids", [False, True])
async def test_a_list_that_still_has_it_is_recognised(
    client: CompactionClient, redis: Redis, fmt: str, with_ids: bool
) -> None:
    """Neither recorded again, nor another path; what goes out has the tombstone."""
    session, seqs = await session_with(client, fmt)
    mine = [*turns(fmt, 4), *planted(fmt), *turns(fmt, 18, start=4)]
    ids = [f"row {i}" for i in range(len(mine))]
    await session.redact(seqs, reason="asked")

    for handle in (session, open_session(client, fmt)):
        mine.append(human(f"Go on, {len(mine)}."))
        ids.append(f"row {len(ids)}")
        view = await handle.mirror(mine, ids=ids if with_ids else None, window=ANY_WINDOW)
        assert not quotes(view.messages)
        assert view.messages[-1] == mine[-1]
        assert len(view.messages) == len(mine)

    mine[seqs[0]], mine[seqs[3]] = human("[redacted]"), says("[redacted]")
    mine.append(says("Gone on."))
    await session.mirror(mine, ids=[*ids, "last"] if with_ids else None, window=ANY_WINDOW)
    assert len(await stored(redis, "chat")) == len(mine)
    await assert_nowhere(redis)


async def test_a_new_message_is_never_taken_for_a_redacted_one(client: CompactionClient, redis: Redis) -> None:
    """A host that dropped the last message from its list and added another: that one is recorded."""
    session = open_session(client)
    start = [human("Hello."), says("Hi.")]
    await session.record([*start, human(f"It is {PLANTED}.")])
    await session.redact(2, reason="asked")

    same = await session.mirror([*start, human(f"It is {PLANTED}.")])
    other = await session.mirror([*start, human("What is the weather like?")])

    assert list(same.messages) == [*start, human("[redacted]")]
    assert list(other.messages) == [*start, human("What is the weather like?")]
    assert await stored(redis, "chat") == [*start, human("[redacted]"), human("What is the weather like?")]


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("with_ids", [False, True])
async def test_a_changed_list_that_still_has_it(
    client: CompactionClient, redis: Redis, fmt: str, with_ids: bool
) -> None:
    """What the host edited around it becomes a new path; what was redacted is not recorded again."""
    session, seqs = await session_with(client, fmt)
    mine = [*turns(fmt, 4), *planted(fmt), *turns(fmt, 18, start=4)]
    names: list[str | None] = [f"row {i}" for i in range(len(mine))]
    await session.view()
    await session.redact(seqs, reason="asked")
    mine[0], mine[40] = human("Edited."), human("Edited too.")

    view = await session.mirror(mine, ids=names if with_ids else None, window=ANY_WINDOW)
    undone = await session.mirror([*mine[:19], human("So?")], ids=[*names[:19], "new"] if with_ids else None)

    assert not quotes(view.messages)
    assert [view.messages[0], view.messages[40]] == [human("Edited."), human("Edited too.")]
    assert len(view.messages) == len(mine)
    assert len(undone.messages) == 20
    assert len(await stored(redis, "chat")) == len(mine) + 3
    await assert_nowhere(redis)
