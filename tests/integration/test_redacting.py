"""What is redacted is nowhere any more, and everything else goes on."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import (
    Compacted,
    CompactionClient,
    Conflict,
    InvalidSetting,
    Refused,
    Session,
    Superseded,
    recipe,
)
from offturn.config import ANY_WINDOW
from offturn.store.entries import dumps
from offturn.store.records import fields_of
from offturn.store.sessions import SessionStore
from offturn_engine.compaction import Compaction, ViewRecord
from offturn_engine.formats import get
from offturn_engine.summary import SummaryReply, SummaryRequest
from tests.conftest import TIMEOUT
from tests.integration.host import FORMATS, Raw, assert_sendable, calls, human, result, says, stored, texts, turns
from tests.integration.keyspace import everything, spellings
from tests.integration.moved import assert_sound, covered_end, open_session

PLANTED = 'the "grüne Lampe"\tstands'
OTHER = {"role": "user", "content": "[redacted]"}


class Quoting:
    """A summarizer that quotes what was planted, and answers when it is told to."""

    window = 100_000
    model = "fake:model"

    def __init__(self, *, held: bool = False) -> None:
        self.asked = asyncio.Event()
        self.free = asyncio.Event()
        self.seen: list[str] = []
        if not held:
            self.free.set()

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.seen.append(request.content)
        self.asked.set()
        await self.free.wait()
        said = f"they look into modules and note that {PLANTED}"
        text = "\n\n".join(f"## {title}\n- For {title.lower()}: {said}." for title in request.titles)
        return SummaryReply(text=text, finish="stop", model=self.model, input_tokens=9, output_tokens=9)


async def assert_nowhere(redis: Redis, without: str = "-") -> None:
    held = await everything(redis, without)
    assert not [one for one in spellings(PLANTED) if one in held]


async def assert_somewhere(redis: Redis) -> None:
    held = await everything(redis)
    assert [one for one in spellings(PLANTED) if one in held]


def quotes(messages: Any) -> bool:
    return "grüne Lampe" in texts(messages)


def planted(fmt: str) -> list[Raw]:
    """A turn with it in a human's words, in a call's arguments, in its result and in the answer."""
    return [
        human(f"Remember that {PLANTED}, please."),
        calls(fmt, "call_p", command=f"note {PLANTED}"),
        result(fmt, "call_p", f"noted that {PLANTED}"),
        says(f"I have noted that {PLANTED}."),
    ]


async def session_with(
    client: CompactionClient, fmt: str, *, before: int = 4, after: int = 18, name: str = "chat"
) -> tuple[Session, list[int]]:
    """Turns, the planted one among them; and its seqs."""
    session = open_session(client, fmt, name)
    sent = [*turns(fmt, before), *planted(fmt), *turns(fmt, after, start=before)]
    await session.record(sent, ids=[f"row {i}" for i in range(len(sent))])
    return session, list(range(4 * before, 4 * before + 4))


@pytest.mark.parametrize("fmt", FORMATS)
async def test_what_was_redacted_is_nowhere(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session, seqs = await session_with(client, fmt)
    await session.phase_done(f"noted that {PLANTED}", focus=PLANTED)
    model = Quoting()
    [outcome] = await client.run_due(summarizer=model)
    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert quotes((await session.view()).messages)
    before = (await session.status()).tokens
    await assert_somewhere(redis)

    done = await session.redact(seqs, reason="asked for by the user")

    assert done == tuple(seqs)
    await assert_nowhere(redis)
    view = await session.view(window=ANY_WINDOW)
    await assert_sound(session, view)
    assert view.generation == 0
    kept = [view.messages[seq] for seq in seqs]
    assert [m["role"] for m in kept] == [m["role"] for m in planted(fmt)]
    assert not quotes(view.messages)
    assert get(fmt).parse(kept[1]).calls[0][1].name == "bash"
    assert [list(m) for m in (view.messages[:16], view.messages[20:])] == [turns(fmt, 4), turns(fmt, 18, start=4)]
    assert (await session.status()).tokens > before
    assert (await session.status()).due
    [again] = await client.run_due(summarizer=Quoting())
    assert isinstance(again, Compacted)


async def test_it_is_gone_from_what_no_view_reads_of_a_record(client: CompactionClient, redis: Redis) -> None:
    """Human words, facts and the audit stand apart from what a view reads; an earlier generation keeps its own."""
    session = open_session(client, "openai-chat", "chat")
    await session.record(turns("openai-chat", 24))
    await client.run_due()
    await session.view()
    first_seq = (await session.record(planted("openai-chat"))).first_seq
    await session.record(turns("openai-chat", 24, start=24))
    await client.run_due()
    await session.view()
    first, second = [await not_of_a_view(redis, session, number) for number in (1, 2)]
    assert [bool([one for one in spellings(PLANTED) if one in part]) for part in (first, second)] == [False, True]

    await session.redact(range(first_seq, first_seq + 4), reason="asked for by the user")

    await assert_nowhere(redis)
    assert await not_of_a_view(redis, session, 1) == first
    assert [one.number for one in await session.generations()] == [1]


async def not_of_a_view(redis: Redis, session: Session, number: int) -> bytes:
    """What the record of a generation holds beside what a view reads."""
    held = fields_of((await redis.get(session.key.key(f"gen:{number}")) or b"").partition(b"\n")[2])
    return dumps({name: held[name] for name in sorted(Compaction.model_fields.keys() - ViewRecord.model_fields.keys())})


@pytest.mark.parametrize("fmt", FORMATS)
async def test_redact_during_a_job(client: CompactionClient, redis: Redis, fmt: str) -> None:
    """The model holds an answer that quotes it, and gives it after the redact."""
    session, seqs = await session_with(client, fmt)
    await client.run_due(summarizer=Quoting())
    await session.view()
    await session.record(turns(fmt, 24, start=30))
    assert (await session.view()).kind == "emergency"
    await session.record(turns(fmt, 12, start=60))
    await session.view()
    methods = [(one.method, one.provisional) for one in await session.generations()]
    assert methods == [("model", False), ("extractive", True)]
    await session.fork("copy")
    await session.request()
    links = await client._connector.links()
    model = Quoting(held=True)
    job = asyncio.create_task(
        recipe.run(session.key, store=links.store, doorbell=links.doorbell, summarizer=model, lease_ms=600_000)
    )
    asked = asyncio.create_task(model.asked.wait())
    await asyncio.wait((job, asked), return_when=asyncio.FIRST_COMPLETED)
    assert not job.done()
    assert any("grüne Lampe" in text for text in model.seen)
    assert await redis.exists(session.key.key("chunks"))

    await session.redact(seqs, reason="asked")
    model.free.set()
    outcome = await job

    assert outcome == Superseded(reason="epoch")
    await assert_nowhere(redis, without=":copy:")
    await assert_sound(session, await session.view())
    await assert_nowhere(redis, without=":copy:")
    assert (await session.status()).due
    copy = open_session(client, fmt, "copy")
    assert quotes((await copy.view(generation=0, window=ANY_WINDOW)).messages)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_generation_that_does_not_tell_of_it_stays(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session, _ = await session_with(client, fmt, before=19, after=0)
    [outcome] = await client.run_due(summarizer=Quoting())
    assert isinstance(outcome, Compacted)
    end = await covered_end(session) if (await session.view()).generation else 0
    assert end <= 76
    await session.record(turns(fmt, 1, start=40))
    messages = (await session.view()).messages

    await session.redact(79, reason="asked")

    view = await session.view()
    assert view.generation == outcome.generation
    assert view.messages[:-5] == messages[:-5]
    assert view.messages[-4:] == messages[-4:]
    assert view.messages[-5] == {"role": "assistant", "content": "[redacted]"}
    await assert_sound(session, view)


async def test_stubs_that_tell_what_a_call_was_given_go_too(client: CompactionClient, redis: Redis) -> None:
    fmt = "openai-chat"
    session = open_session(client, fmt)
    big = [
        m
        for n in range(12)
        for m in (calls(fmt, f"c{n}", command=f"cat {PLANTED if n == 3 else n}"), result(fmt, f"c{n}", f"{n} " * 4_000))
    ]
    await session.record([human("Look."), *big, says("Done.")])
    [outcome] = await client.run_due(summarizer=Quoting())
    assert outcome.generation == 1  # type: ignore[union-attr]
    record = await (await client._connector.links()).store.generation(session.key, 1)
    assert record is not None
    assert [e for e in record.edits if e.seq == 8 and "grüne Lampe" in str(e.text)]

    await session.redact(7, reason="asked")

    await assert_nowhere(redis)
    assert await session.generations() == []


async def test_every_other_handle_sees_the_tombstone(client: CompactionClient, redis: Redis, valkey_url: str) -> None:
    fmt = "openai-chat"
    session, seqs = await session_with(client, fmt)
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as elsewhere:
        others = [open_session(one, fmt) for one in (client, elsewhere, elsewhere, elsewhere)]
        for other in others:
            assert quotes((await other.view(window=ANY_WINDOW)).messages)
        viewing, recalling, writing, moving = others

        await session.redact([f"row {seq}" for seq in seqs], reason="asked")

        recorded = await writing.record([human("Go on.")])
        assert recorded.first_seq == 92
        view = await viewing.view(window=ANY_WINDOW)
        assert not quotes(view.messages)
        assert "lost" not in str(view.warnings)
        assert await recalling.recall(f"m{seqs[2]}") == "[redacted]"
        assert not quotes([line async for line in recalling.export()])
        with pytest.raises(Conflict, match="look again"):
            await moving.rewind()
        await moving.view()
        await moving.rewind()
    lines = [line async for line in session.export() if line["kind"] == "message"]
    assert [line["redacted"] for line in lines[seqs[0] - 1 : seqs[0] + 2]] == [None, "asked", "asked"]
    assert lines[seqs[0]]["id"] == f"row {seqs[0]}"
    await assert_nowhere(redis)


async def test_an_id_that_comes_again_is_a_no_op(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client)
    await session.record([human(f"It is {PLANTED}."), says("Noted.")], ids=["a", "b"])
    await session.redact("a", reason="asked")

    again = await open_session(client).record(
        [human(f"It is {PLANTED}."), says("Noted."), human("So?")], ids=["a", "b", "c"]
    )
    other = await session.record([human("It was something else.")], ids=["a"])

    assert (again.first_seq, again.last_seq) == (2, 2)
    assert other.first_seq > other.last_seq
    assert await stored(redis, "chat") == [human("[redacted]"), says("Noted."), human("So?")]


async def test_messages_off_the_path(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client)
    await session.record([human("Hello."), says("Hi."), human(f"It is {PLANTED}."), says("Noted.")], ids=list("abcd"))
    await session.amend("c", human("It is secret."))
    await session.record([human(f"I said {PLANTED}.")])
    await session.rewind()
    await assert_somewhere(redis)

    assert await session.redact(["c", 5], reason="asked") == (2, 4, 5)

    await assert_nowhere(redis)
    assert list((await session.view()).messages) == [human("Hello."), says("Hi."), human("[redacted]"), says("Noted.")]
    await assert_sound(session, await session.view())


async def test_all_of_an_author(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client)
    ann, bob = {"role": "user", "name": "ann"}, {"role": "user", "name": "bob"}
    await session.record(
        [{**ann, "content": PLANTED}, says("Hi."), {**bob, "content": "Me too."}, {**ann, "content": "So?"}]
    )

    assert await session.redact(author="ann", reason="left the chat") == (0, 3)
    assert await session.redact(author="ann", reason="left the chat") == ()

    await assert_nowhere(redis)
    assert b'"ann"' not in await everything(redis)
    assert list((await session.view()).messages) == [OTHER, says("Hi."), {**bob, "content": "Me too."}, OTHER]
    [event] = [one for one in await session.events() if one.kind == "redacted"]
    assert event.fields == {"messages": 2, "generations": 0, "reason": "left the chat"}


async def test_nothing_is_left_to_test_a_guess_with(client: CompactionClient, redis: Redis) -> None:
    """Not a hash of it either: chain hashes from there on, in the log, in meta and in kept replies, are others."""
    session = open_session(client)
    await session.record([human("Hello.")], ids=["a"])
    await session.record([human(PLANTED), says("Noted.")], ids=["b", "c"])
    store = SessionStore(redis)
    before = await store.log(session.key, start=0, stop=9)
    [_, digest] = (await redis.hget(session.key.key("ids"), "b")).split(b":")  # type: ignore[misc]

    await session.redact("b", reason="asked")

    held = await everything(redis)
    assert digest not in held
    assert [entry.chain.encode() in held for entry in before] == [True, False, False]
    assert sha256(PLANTED.encode()).hexdigest().encode() not in held
    after = await store.log(session.key, start=0, stop=9)
    meta = await store.meta(session.key)
    assert meta is not None
    assert meta.chain == after[-1].chain
    assert [entry.at for entry in after] == [entry.at for entry in before]


async def test_what_cannot_be_redacted(client: CompactionClient) -> None:
    session = open_session(client)
    with pytest.raises(Refused, match="record first"):
        await session.redact(0, reason="asked")
    await session.record([human("Hello.")], ids=["a"])

    for refs in (1, -1, "b", ["a", "b"]):
        with pytest.raises(Refused, match="is not in session"):
            await session.redact(refs, reason="asked")
    wrong: list[Any] = [{"refs": 0, "reason": ""}, {"reason": "asked"}, {"refs": [True], "reason": "asked"}]
    for arguments in [*wrong, {"refs": 0, "reason": "x" * 301}, {"refs": [1.5], "reason": "asked"}]:
        with pytest.raises(InvalidSetting):
            await session.redact(**arguments)
    assert list((await session.view()).messages) == [human("Hello.")]


async def test_redacts_records_and_jobs_at_once(client: CompactionClient, redis: Redis) -> None:
    """Every process goes on: no record is refused because of a redact, and nothing redacted comes back."""
    handles = [open_session(client) for _ in range(3)]
    await handles[0].record(turns("openai-chat", 16))
    sent: list[Raw] = []

    async def write(session: Session) -> None:
        for n in range(15):
            fresh = [human(f"Question {n} {id(session)}?"), says(f"Answer {n} {id(session)}." * 90)]
            await session.record(fresh)
            sent.extend(fresh)
            await session.view()

    async def delete(session: Session) -> None:
        for n in range(12):
            await session.redact(n * 4, reason="asked")

    async def work() -> None:
        for _ in range(10):
            await client.run_due(summarizer=Quoting())
            await asyncio.sleep(0)

    await asyncio.gather(write(handles[0]), write(handles[1]), delete(handles[2]), work())

    log = await stored(redis, "chat")
    assert len(log) == 64 + len(sent)
    assert all(message in log for message in sent)
    assert [log[n * 4] for n in range(12)] == [human("[redacted]")] * 12
    await assert_sound(handles[0], await handles[0].view())
    assert_sendable(await handles[1].view())
