"""The store's host side on a real server: append, refuse, repeat, read in pages."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from offturn.store.entries import NewEntry
from offturn.store.replies import (
    BehindLog,
    DuplicateId,
    Gone,
    OrphanResult,
    Recorded,
    RecordReply,
    Requested,
    Unexpected,
)
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from offturn_engine.chain import chain
from offturn_engine.messages import RawMessage

KEY = SessionKey("default", "chat:1/ü *[x]?")


def entry(text: str, *, tokens: int = 1, host_id: str | None = None) -> NewEntry:
    return NewEntry.of({"role": "user", "content": text}, origin="human", tokens=tokens, host_id=host_id)


def tools(calls: Sequence[str] = (), results: Sequence[str] = ()) -> NewEntry:
    raw = {"calls": list(calls), "results": list(results)}
    return NewEntry.of(raw, origin="tool", tokens=1, calls=calls, results=results)


async def record(
    store: SessionStore, entries: Sequence[NewEntry], *, op: str, key: SessionKey = KEY, expect: int | None = None
) -> RecordReply:
    return await store.record(
        key, op=op, incarnation=1, tail_length=0, tail_chain="", entries=entries, expect=expect, config='{"policy":1}'
    )


async def recorded(store: SessionStore, entries: Sequence[NewEntry], *, op: str) -> Recorded:
    reply = await record(store, entries, op=op)
    assert isinstance(reply, Recorded)
    return reply


async def test_what_is_recorded_comes_back_as_it_was(redis: Redis) -> None:
    store = SessionStore(redis)
    raws: list[RawMessage] = [
        {"role": "user", "content": "lone \ud800 surrogate, NUL \0, \u4e2d\u6587, \U0001f600"},
        {"b": 1, "a": [1.5, None, True, {}], "nested": {"z": [], "y": {"x": "\u2028"}}},
        {"content": [], "big": 2**70, "small": 1e-300},
    ]
    sent = [NewEntry.of(r, origin="human", tokens=i, host_id=f"id \ud800\0 {i}") for i, r in enumerate(raws)]

    reply = await recorded(store, sent, op="a")
    log = await store.log(KEY, start=0, stop=10)

    assert [e.raw for e in log] == raws
    assert [json.dumps(e.raw) for e in log] == [json.dumps(raw) for raw in raws]
    assert [(e.seq, e.origin, e.host_id, e.tokens) for e in log] == [
        (i, "human", f"id \ud800\0 {i}", i) for i in range(3)
    ]
    assert reply.seqs == (0, 1, 2)
    assert reply.path == ((0, 3),)


async def test_the_chain_is_the_one_the_engine_computes(redis: Redis) -> None:
    store = SessionStore(redis)
    sent = [entry(str(i)) for i in range(5)]

    await record(store, sent[:2], op="a")
    reply = await recorded(store, sent[2:], op="b")
    log = await store.log(KEY, start=0, stop=5)

    assert [e.chain for e in log] == [chain(e.digest for e in sent[: n + 1]) for n in range(5)]
    assert reply.chain == log[-1].chain


async def test_a_repeated_operation_gets_the_first_reply_and_does_nothing(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, [entry("a")], op="one")
    first = await store.record(
        KEY, op="two", incarnation=1, tail_length=1, tail_chain=chain([entry("a").digest]), entries=[entry("b")],
        thresholds=(1, 9, 1),
    )  # fmt: skip

    await record(store, [entry("c")], op="three")
    again = await record(store, [], op="two")

    assert isinstance(first, Recorded)
    assert first.ring
    assert again == first
    assert [e.raw["content"] for e in await store.log(KEY, start=0, stop=9)] == ["a", "b", "c"]


async def test_an_operation_is_remembered_for_128_more(redis: Redis) -> None:
    """And for no more than twice as many: the oldest are forgotten many at a time."""
    store = SessionStore(redis)
    await record(store, [entry("first")], op="first")

    async def others(start: int) -> None:
        for n in range(start, start + 128):
            await store.request(KEY, op=f"op {n}", incarnation=1, reason="manual")

    await others(0)
    remembered = await recorded(store, [], op="first")
    await others(128)
    size = await redis.execute_command("HLEN", KEY.key("ops"))  # type: ignore[no-untyped-call]
    newest = await store.request(KEY, op="op 255", incarnation=1, reason="manual")
    forgotten = await recorded(store, [], op="first")

    assert remembered.seqs == (0,)
    assert size == 128
    assert newest == Requested(request_no=256)
    assert forgotten.seqs == ()


async def test_replies_that_an_older_release_kept_are_given_and_forgotten_first(redis: Redis) -> None:
    """It kept them as they were, and their order in a list beside them."""
    store, commands = SessionStore(redis), redis.execute_command
    await record(store, [entry("first")], op="first")
    for n in range(128):
        await commands("HSET", KEY.key("ops"), f"old {n}", '{"kind":"requested","request_no":7,"ring":true}')  # type: ignore[no-untyped-call]
        await commands("RPUSH", KEY.key("opsq"), f"old {n}")  # type: ignore[no-untyped-call]

    known = await store.request(KEY, op="old 5", incarnation=1, reason="manual")
    for n in range(128):
        await store.request(KEY, op=f"new {n}", incarnation=1, reason="manual")

    assert known == Requested(request_no=7)
    assert not [op for op in await commands("HKEYS", KEY.key("ops")) if op.startswith(b"old")]  # type: ignore[no-untyped-call]
    assert not await commands("EXISTS", KEY.key("opsq"))  # type: ignore[no-untyped-call]
    assert isinstance(await store.request(KEY, op="new 0", incarnation=1, reason="manual"), Requested)


async def test_known_ids_are_skipped_and_keep_their_place(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, [entry("a", host_id="1"), entry("b", host_id="2")], op="one")

    batch = [entry("b", host_id="2"), entry("c", host_id="3"), entry("c", host_id="3"), entry("d")]
    reply = await recorded(store, batch, op="two")

    assert reply.seqs == (1, 2, 2, 3)
    assert (reply.first_seq, reply.last_seq, reply.length, reply.path_tokens) == (2, 3, 4, 4)


async def test_an_id_with_other_content_refuses_the_whole_batch(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, [entry("a", host_id="1")], op="one")

    stored = await record(store, [entry("new"), entry("other", host_id="1")], op="two")
    batch = await record(store, [entry("x", host_id="7"), entry("y", host_id="7")], op="three")

    assert stored == DuplicateId(index=1, host_id="1")
    assert batch == DuplicateId(index=1, host_id="7")
    assert len(await store.log(KEY, start=0, stop=9)) == 1


async def test_a_result_without_an_open_call_refuses_the_whole_batch(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, [tools(calls=["x", "x"]), tools(results=["x"])], op="one")

    twice = await record(store, [tools(results=["x"]), tools(results=["x"])], op="two")
    own = await record(store, [tools(calls=["y"], results=["y"])], op="three")
    right = await record(store, [tools(calls=["z"], results=["x"]), tools(results=["z"])], op="four")

    assert twice == OrphanResult(index=1, call_id="x")
    assert own == OrphanResult(index=0, call_id="y")
    assert isinstance(right, Recorded)
    meta = await store.meta(KEY)
    assert meta
    assert meta.open_calls == {}
    assert meta.log_len == 4


IDS = st.lists(st.sampled_from(["1", "2", "a\0", "\ud800"]), max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(st.tuples(IDS, IDS), max_size=3), max_size=4))
async def test_open_calls_pair_by_occurrence(redis: Redis, batches: list[list[tuple[list[str], list[str]]]]) -> None:
    """The store's counts against a plain simulation, over any batches."""
    await redis.flushall()
    store = SessionStore(redis)
    open_calls: dict[str, int] = {}
    for number, batch in enumerate(batches):
        trial = dict(open_calls)
        orphan = _apply(trial, batch)

        reply = await record(store, [tools(calls, results) for calls, results in batch], op=str(number))

        assert isinstance(reply, OrphanResult if orphan else Recorded)
        open_calls = open_calls if orphan else {call: count for call, count in trial.items() if count}
        meta = await store.meta(KEY)
        assert (meta.open_calls if meta else {}) == open_calls


def _apply(counts: dict[str, int], batch: list[tuple[list[str], list[str]]]) -> bool:
    for calls, results in batch:
        for call in results:
            counts[call] = counts.get(call, 0) - 1
            if counts[call] < 0:
                return True
        for call in calls:
            counts[call] = counts.get(call, 0) + 1
    return False


async def test_expected_length_and_acknowledged_tail(redis: Redis) -> None:
    store = SessionStore(redis)
    first = await recorded(store, [entry("a"), entry("b")], op="one")

    unexpected = await record(store, [entry("c")], op="two", expect=1)
    expected = await record(store, [entry("c")], op="three", expect=2)
    tails = [
        await store.record(KEY, op=f"{n} {hash_}", incarnation=1, tail_length=n, tail_chain=hash_, entries=[])
        for n, hash_ in ((1, chain([entry("a").digest])), (2, first.chain), (2, "0" * 40), (9, first.chain))
    ]

    assert unexpected == Unexpected(length=2)
    assert isinstance(expected, Recorded)
    assert isinstance(tails[0], Recorded)
    assert isinstance(tails[1], Recorded)
    assert tails[2:] == [BehindLog(length=3, chain=expected.chain)] * 2


async def test_writes_name_the_incarnation(redis: Redis) -> None:
    store = SessionStore(redis)
    wrong = await store.record(KEY, op="a", incarnation=2, tail_length=0, tail_chain="", entries=[entry("x")])
    nothing = await store.request(KEY, op="b", incarnation=1, reason="manual")

    assert (wrong, nothing) == (Gone(), Gone())
    assert await redis.dbsize() == 0


async def test_the_first_record_stores_the_config_and_later_ones_do_not(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, [entry("a")], op="one")
    await store.record(
        KEY, op="two", incarnation=1, tail_length=0, tail_chain="", entries=[], config='{"policy":2}',
        calibration='{"factor":1.25}', thresholds=(10, 20, 5), usage='{"input":7,"nested":null}',
    )  # fmt: skip

    meta = await store.meta(KEY)
    events = await store.events(KEY)

    assert meta
    assert (meta.config, meta.calibration) == ('{"policy":1}', '{"factor":1.25}')
    assert (meta.soft, meta.hard, meta.growth) == (10, 20, 5)
    assert [(e.kind, e.fields) for e in events] == [("usage", {"input": 7, "nested": None, "seq": 1})]


async def test_the_log_is_read_in_pages_of_entries_and_of_bytes(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, [entry(f"{i}" * 10) for i in range(450)], op="one")

    lengths, length, hash_, more = [], 0, "", True
    while more:
        page = await store.sync(KEY, incarnation=1, length=length, chain=hash_)
        assert [e.seq for e in page.entries] == list(range(length, length + len(page.entries)))
        assert not page.reset
        lengths.append(len(page.entries))
        length, hash_, more = length + len(page.entries), page.entries[-1].chain, page.more
    small = await store.sync(KEY, incarnation=1, length=0, chain="", limit_bytes=1)

    assert lengths == [200, 200, 50]
    assert len(small.entries) == 1
    assert small.more
    assert [e.seq for e in await store.log(KEY, start=150, stop=999)] == list(range(150, 450))


@pytest.mark.parametrize(
    ("incarnation", "length", "known"), [(2, 3, True), (1, 3, False), (1, 9, True), (1, 2, True), (1, 0, True)]
)
async def test_a_reader_with_another_log_starts_again(redis: Redis, incarnation: int, length: int, known: bool) -> None:
    store = SessionStore(redis)
    sent = [entry(str(i)) for i in range(4)]
    await record(store, sent, op="one")
    hash_ = chain(e.digest for e in sent[:length]) if known else "0" * 40

    page = await store.sync(KEY, incarnation=incarnation, length=length, chain=hash_)

    same = incarnation == 1 and known and length <= 4
    assert page.reset is not same
    assert [e.seq for e in page.entries] == list(range(length if same else 0, 4))


async def test_reading_changes_nothing(redis: Redis) -> None:
    store = SessionStore(redis)
    none = await store.sync(KEY, incarnation=0, length=0, chain="")
    untouched = await redis.dbsize()
    await record(store, [entry("a")], op="one")
    before = [await redis.dump(name) for name in sorted(await redis.keys())]

    await store.sync(KEY, incarnation=1, length=0, chain="")
    assert await store.meta(KEY)

    assert (none.meta, none.next_incarnation, untouched) == (None, 1, 0)
    assert [await redis.dump(name) for name in sorted(await redis.keys())] == before


async def test_a_message_of_10_mb(redis: Redis) -> None:
    store = SessionStore(redis)
    text = "".join(f"{i:09d}\n" for i in range(1_000_000))
    await record(store, [entry("before"), entry(text), entry("after")], op="one")

    page = await store.sync(KEY, incarnation=1, length=1, chain=chain([entry("before").digest]))
    rest = await store.sync(KEY, incarnation=1, length=2, chain=page.entries[0].chain)

    assert [e.raw["content"] == text for e in page.entries] == [True]
    assert page.more
    assert [e.raw["content"] for e in rest.entries] == ["after"]


async def test_sessions_are_listed_by_name(redis: Redis) -> None:
    store = SessionStore(redis)
    names = [SessionKey("default", "%3A:meta"), KEY]
    others = [SessionKey("other", "a"), SessionKey("default-2", "b")]
    for name in [*names, *others]:
        await record(store, [entry("x")], op="one", key=name)

    assert await store.sessions("default") == names
    assert len(await store.sessions("default", 1)) == 1
    assert await store.sessions("other", 1) == others[:1]


async def test_a_purged_session_is_not_listed_and_uses_up_no_limit(redis: Redis) -> None:
    store = SessionStore(redis)
    names = [SessionKey("default", f"{number}") for number in range(12)]
    for name in names:
        await record(store, [entry("x")], op="one", key=name)
    for name in names[:-1]:
        await store.purge(name, incarnation=1)

    assert await store.sessions("default") == names[-1:]
    assert await store.sessions("default", 1) == names[-1:]


async def test_content_stays_in_the_log(redis: Redis) -> None:
    store = SessionStore(redis)
    await store.record(
        KEY, op="one", incarnation=1, tail_length=0, tail_chain="", entries=[entry("s3cret")], thresholds=(1, 1, 1)
    )
    requested = await store.request(KEY, op="two", incarnation=1, reason="phase", focus="s3cret", note="s3cret")
    holders = {b"log", b"meta"}  # focus and note of an open request are the session's own state

    assert requested == Requested(request_no=2)
    for name in await redis.keys():
        found = b"s3cret" in (await redis.dump(name) or b"")
        assert not found or name.rpartition(b":")[2] in holders
    events = await store.events(KEY)
    assert [e.kind for e in events] == ["due", "due"]
    assert await store.events(KEY, after=events[0].id) == events[1:]
