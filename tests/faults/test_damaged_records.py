"""What is stored and nobody can read any more: an error of ours that names the key and what helps, never what it holds."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Conflict, Failed, Session, StoreFault, StoreUnavailable
from offturn.config import ANY_WINDOW
from offturn.store.entries import dumps
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from tests.integration.host import assert_sendable, human, says, texts, turns
from tests.integration.keyspace import everything

FORMAT = "openai-chat"
WINDOW = 14_000
SECRET = "attack at dawn"
GARBAGE = (
    f'{{"v": 1, "{SECRET}'.encode(),  # cut short
    SECRET.encode() + b"\xff\xfe",  # not even text
    f'["{SECRET}"]'.encode(),  # another shape
    f'{{"{SECRET}": 1}}'.encode(),  # nothing of what is needed
)
Look = Callable[[Session], Awaitable[Any]]


def opened(client: CompactionClient) -> Session:
    return client.session("s", format=FORMAT, window=WINDOW)


async def compacted(client: CompactionClient) -> Session:
    session = opened(client)
    for number in range(2):
        await session.record(turns(FORMAT, 20, size=1_500, start=20 * number))
        await session.request()
        await client.run_due(summarizer=FakeSummarizer())
        assert (await session.view()).generation == number + 1
    return session


async def command(redis: Redis, *words: Any) -> Any:
    execute: Callable[..., Awaitable[Any]] = redis.execute_command
    return await execute(*words)


def entry_of(garbage: bytes) -> bytes:
    """As an item of the log: behind a chain hash and a time."""
    return b"0" * 40 + b" 1 " + garbage


@pytest.mark.parametrize("garbage", [*GARBAGE, SECRET.encode()])
async def test_a_message_of_the_log(redis: Redis, client: CompactionClient, garbage: bytes) -> None:
    session = await compacted(client)
    await command(redis, "LSET", session.key.key("log"), 7, entry_of(garbage) if garbage in GARBAGE else garbage)

    with pytest.raises(StoreFault, match=r"message 7 of session 's' cannot be read.* restore") as told:
        await opened(client).explain(0)  # a view does not read what it does not show
    assert SECRET not in str(told.value)


async def test_a_session_whose_log_nobody_can_read_can_be_purged(redis: Redis, client: CompactionClient) -> None:
    session = await compacted(client)
    await command(redis, "LSET", session.key.key("log"), 7, entry_of(GARBAGE[0]))

    await opened(client).purge()

    assert SECRET.encode() not in await everything(redis, "-")
    with pytest.raises(Conflict):
        await session.record(human("Are you there?"))
    assert (await opened(client).record(human("Again."))).first_seq == 0


@pytest.mark.parametrize("field", ["path", "open", "ends", "g:2", "revision", "config"])
@pytest.mark.parametrize("garbage", GARBAGE[:2])
async def test_the_meta(redis: Redis, client: CompactionClient, field: str, garbage: bytes) -> None:
    session = await compacted(client)
    await command(redis, "HSET", session.key.key("meta"), field, garbage)

    with pytest.raises(StoreFault, match=r"cannot be read.* restore|refused a command") as told:
        await opened(client).view()
    assert SECRET not in str(told.value)


@pytest.mark.parametrize("garbage", [*GARBAGE[:3], b"{}\n{}"])
async def test_a_generation_which_another_one_can_replace(
    redis: Redis, client: CompactionClient, garbage: bytes
) -> None:
    session = await compacted(client)
    await command(redis, "SET", session.key.key("gen:2"), garbage)

    with pytest.raises(StoreFault, match=r"generation 2 of session 's' cannot be read.* rollback\(generation") as told:
        await opened(client).view()
    assert SECRET not in str(told.value)

    await opened(client).rollback(generation=1, force=True)
    assert (await opened(client).view()).generation == 1


@pytest.mark.parametrize("garbage", [*GARBAGE[:3], b"{}\n{}"])
@pytest.mark.parametrize("back", [False, True])
async def test_a_generation_that_cannot_be_read_goes_with_what_is_redacted(
    redis: Redis, client: CompactionClient, garbage: bytes, back: bool
) -> None:
    """It may quote that; nor may it be in the way of every redact there is."""
    session = await compacted(client)
    await command(redis, "SET", session.key.key("gen:2"), garbage)
    if back:
        await opened(client).rollback(generation=1, force=True)
    last = (await session.place()).length - 1  # type: ignore[union-attr]

    assert await opened(client).redact(last, reason="asked") == (last,)

    assert [one.number for one in await session.generations()] == [1]  # which covers nothing of it
    assert SECRET.encode() not in await everything(redis, "-")
    assert (await opened(client).view()).generation == 1


async def spoil(redis: Redis, session: Session, number: int, part: str) -> None:
    """part: `rest` is what no view reads of a generation, `view` what it does."""
    header, _, record = (await command(redis, "GET", session.key.key(f"gen:{number}"))).partition(b"\n")
    spoilt = dumps(json.loads(record) | {part: SECRET})
    await command(redis, "SET", session.key.key(f"gen:{number}"), header + b"\n" + spoilt)


@pytest.mark.parametrize("part", ["rest", "view"])
async def test_a_fork_goes_on_without_the_ends_of_phases_in_it(
    redis: Redis, client: CompactionClient, part: str
) -> None:
    session = opened(client)
    await session.record(turns(FORMAT, 20, size=1_500))
    await session.phase_done("The first part is done.")
    assert isinstance((await client.run_due(summarizer=FakeSummarizer()))[0], Compacted)
    await session.record(turns(FORMAT, 1, start=20))
    await session.phase_done("The second part is done.")
    await spoil(redis, session, 1, part)

    copy = await opened(client).fork("copy")

    meta = await SessionStore(redis).meta(copy.key)
    assert meta is not None
    assert [(end.seq, end.note) for end in meta.phase_ends] == [(83, "The second part is done.")]
    assert list((await copy.view(window=ANY_WINDOW)).messages) == turns(FORMAT, 21, size=1_500)[:80] + turns(
        FORMAT, 1, start=20
    )


@pytest.mark.parametrize("part", ["rest", "view"])
@pytest.mark.parametrize("how", ["rewind", "amend", "mirror"])
async def test_a_path_that_moves_leaves_it(redis: Redis, client: CompactionClient, part: str, how: str) -> None:
    """Nobody can tell whether its promises hold on another path; what it replaced is in force then."""
    session = await compacted(client)
    sent = turns(FORMAT, 20, size=1_500) + turns(FORMAT, 20, size=1_500, start=20)
    await spoil(redis, session, 2, part)
    host = opened(client)

    if how == "rewind":
        assert await host.rewind(turns=1) == sent[-4:]
    elif how == "amend":
        await host.amend(len(sent) - 1, says("Another answer."))
    else:
        await host.view(generation=1, window=ANY_WINDOW)  # a list may take off the path what its handle has seen
        await host.mirror([*sent[:-1], says("Another answer.")], window=ANY_WINDOW)

    assert (await host.status()).generation == 1
    assert (await opened(client).view(window=ANY_WINDOW)).generation == 1
    await opened(client).request()
    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    assert isinstance(outcome, Compacted)


async def test_what_no_view_reads_of_a_generation(redis: Redis, client: CompactionClient) -> None:
    """The host is shown what it was shown; a job and who asks for all of it are told, and another generation helps."""
    session = await compacted(client)
    before = await session.view()
    await spoil(redis, session, 2, "rest")

    for host in (session, opened(client)):
        assert (await host.view()).messages == before.messages
        await host.record(human("Are you there?"))
        assert (await host.view()).messages[:-1] == before.messages
        before = await host.view()
    await opened(client).request()
    assert await client.run_due(summarizer=FakeSummarizer()) == [Failed(kind="StoreFault")]
    with pytest.raises(StoreFault, match=r"generation 2 of session 's' cannot be read.* rollback") as told:
        await opened(client).explain(0)
    assert SECRET not in str(told.value)
    listed = await opened(client).generations()
    assert [(one.number, one.audit is None) for one in listed] == [(1, False), (2, True)]

    await opened(client).rollback(generation=1, force=True)
    assert {fate.generation for fate in await opened(client).explain(0)} == {1}
    await opened(client).request()
    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    assert isinstance(outcome, Compacted)


@pytest.mark.parametrize("offline", [False, True])
async def test_a_view_that_gives_way_is_made_without_it(
    redis: Redis, client: CompactionClient, monkeypatch: pytest.MonkeyPatch, offline: bool
) -> None:
    """From the transcript, for that call: nothing is committed, so nothing that the damaged one says is lost by it."""
    session = await compacted(client)
    await spoil(redis, session, 2, "rest")
    host = opened(client)
    await host.record(turns(FORMAT, 24, size=1_500, start=40))
    if offline:
        for number in (0, 2):
            await host.view(generation=number, window=ANY_WINDOW)

        async def away(*_: Any, **__: Any) -> Any:
            raise StoreUnavailable("the store does not answer")

        monkeypatch.setattr(SessionStore, "sync", away)

    view = await host.view()

    assert view.kind == "emergency"
    assert view.tokens <= view.limit
    assert [one for one in view.warnings if "generation 2 is damaged" in one and "rollback(generation=" in one]
    assert "Please look into module 3." in texts(view.messages)  # a human's words, which are in the summary
    if not offline:
        assert (await host.status()).current == 2
        assert_sendable(await host.view(hold=1.0))


async def test_a_job_fails_with_that_kind_and_others_go_on(redis: Redis, client: CompactionClient) -> None:
    session = await compacted(client)
    await session.record(human("and now?"))
    await session.request()
    await command(redis, "LSET", session.key.key("log"), -1, entry_of(GARBAGE[0]))  # jobs have read those before
    other = client.session("t", format=FORMAT, window=WINDOW)
    await other.record(turns(FORMAT, 20, size=1_500))
    await other.request()

    failed, done = await client.run_due(summarizer=FakeSummarizer())

    assert failed == Failed(kind="StoreFault")
    assert isinstance(done, Compacted)


@pytest.mark.parametrize("damage", [None, *GARBAGE])
async def test_a_paid_answer_is_asked_for_again(redis: Redis, client: CompactionClient, damage: bytes | None) -> None:
    session = opened(client)
    await session.record(turns(FORMAT, 20, size=1_500))
    for number in (1, 2):
        await session.request()
        summarizer = FakeSummarizer()
        [outcome] = await client.run_due(summarizer=summarizer)
        assert isinstance(outcome, Compacted)
        assert len(summarizer.asked) == (1 if number == 1 or damage else 0)
        for name in await command(redis, "HKEYS", session.key.key("chunks")) if damage else ():
            await command(redis, "HSET", session.key.key("chunks"), name, damage)
        await session.rollback(generation=0, force=True)
