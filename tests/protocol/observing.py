"""A session's state as the store's keys hold it, in the model's terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from offturn.store.entries import loads, text_of
from offturn.store.hosting import recorded_of
from offturn.store.kinds import KINDS
from offturn.store.packs import MARK, lines, unpack
from offturn.store.replies import Reply
from offturn.store.state import Meta
from offturn_config import keys
from offturn_config.keys import SessionKey
from offturn_engine.ranges import seqs_of
from tests.protocol.facts import Gen, Item, State, base_of, chain_at, ids_of, log_bytes, path_tokens, pressure
from tests.protocol.model_packing import read
from tests.protocol.words import plain


async def observe(redis: Any, key: SessionKey) -> State:
    """The state as it is in the store."""
    async with redis.pipeline() as pipe:
        for name in ("meta", "ops", "ids", "chunks", "packs"):
            pipe.hgetall(key.key(name))
        for name in ("log", "chunksq"):
            pipe.lrange(key.key(name), 0, -1)
        pipe.zscore(keys.due(), key.member)
        pipe.hexists(keys.dead(), key.member)
        pipe.time()
        pipe.get(key.key("life"))
        pipe.get(key.key("marks"))
        pipe.hget(keys.usage(key.tenant), "quota_bytes")
        found = await pipe.execute()
        meta, ops, ids, chunks, packs, log, chunksq, score, dead, clock, life, marks, allowed = found
    now = int(clock[0]) * 1000 + clock[1] // 1000
    doze = int(meta.get(b"doze") or 0)
    asleep = doze > now and score == doze
    due = score is not None and not asleep
    fields = Meta.read([item for pair in meta.items() for item in pair], due=due, now_ms=now)
    if fields is None:
        assert life or not any((ops, ids, log, packs, marks))
        return State(
            incarnation=int(meta.get(b"incarnation", life or 0)),
            due=score is not None,
            parked=dead,
            allowed=int(allowed or 0),
        )
    there = await _with_record(redis, key, list(fields.generations))
    assert fields.parked is dead
    assert sorted(chunks) == sorted(chunksq)
    packed, saved = _packed(packs, marks or b"")
    items = [read(item) for _, _, found in packed for item in found] + [read(item) for item in log]
    state = State(
        incarnation=fields.incarnation,
        alive=True,
        epoch=fields.epoch,
        revision=fields.revision,
        log=tuple(items),
        packs=tuple((low, high) for low, high, _ in packed),
        path=fields.path,
        gens=tuple(
            Gen(
                g.number,
                g.nonce,
                g.epoch,
                g.base,
                g.replaces,
                g.provisional,
                frozenset(seqs_of(g.covered)),
                g.tokens_after,
                g.at_tokens,
                g.number in there,
                loads(meta[b"g:%d" % g.number])["told"],
            )
            for g in fields.generations.values()
        ),
        counter=fields.counter,
        current=fields.current,
        adopted=fields.adopted,
        token=fields.token,
        fence=fields.fence,
        leased=fields.leased,
        due=due,
        request_no=fields.request_no,
        asked=fields.asked,
        served=fields.served,
        held=fields.held,
        attempts=fields.attempts,
        failures=fields.failures,
        parked=fields.parked,
        ends=tuple(end.kind for end in fields.ends),
        strikes=fields.strikes,
        trial=int(meta[b"trial"]) if meta.get(b"trial") else None,
        blocked=fields.blocked,
        begun=int(meta.get(b"begun") or 0),
        tried=int(meta.get(b"tried") or 0),
        automatic=int(meta.get(b"automatic") or 0),
        starts=len(loads(meta.get(b"starts") or b"[]")),
        thresholds=(fields.soft, fields.hard, fields.growth),
        reason=fields.reason,
        note=fields.note,
        phases=tuple((one["request"], one["seq"], one["note"]) for one in loads(meta.get(b"phases") or b"[]")),
        redactions=fields.redactions,
        config=fields.config,
        quota=fields.quota,
        allowed=int(allowed or 0),
        pace=fields.pace,
        stepped=fields.stepped,
        doze="asleep" if asleep else "over" if 0 < doze <= now else "",
        quiet=int(meta.get(b"quiet") or 0) > 0,
        chunks=frozenset(text_of(name) for name in chunks),
        ops=by_name((text_of(op), reply_of(kept, items)) for op, kept in ops.items()),
    )
    places = {
        host_id: f"{seq}:{'-' if items[seq].redacted else items[seq].digest}" for host_id, seq in ids_of(state).items()
    }
    assert places == {text_of(host_id): text_of(place) for host_id, place in ids.items()}
    assert (fields.log_len, fields.chain) == (len(items), chain_at(state, len(items)))
    assert fields.path_tokens == path_tokens(state)
    assert fields.log_bytes == log_bytes(state)
    assert (fields.base, fields.saved, fields.packable) == (base_of(state), saved, len(items))
    assert meta[b"v"] == (b"2" if packed else b"1"), "older releases must refuse what is packed, and nothing else"
    assert fields.pressure == pressure(state)
    return state


def _packed(packs: Mapping[bytes, bytes], marks: bytes) -> tuple[list[tuple[int, int, list[bytes]]], int]:
    """First seq, end and items of each pack, and how many bytes less all of them take than their items would."""
    found, end, saved = [], 0, 0
    for first in sorted(map(int, packs)):
        assert first == end, "the packs do not follow each other"
        stored = packs[b"%d" % first]
        count = len(lines(stored))
        assert len(marks) >= MARK * (first + count)
        items = unpack(stored, marks[MARK * first : MARK * (first + count)])
        end, saved = first + count, saved + sum(map(len, items)) - len(stored) - MARK * count
        found.append((first, end, items))
    assert len(marks) == MARK * end
    return found, saved


async def _with_record(redis: Any, key: SessionKey, numbers: Sequence[int]) -> set[int]:
    if not numbers:
        return set()
    async with redis.pipeline() as pipe:
        for number in numbers:
            pipe.exists(key.key(f"gen:{number}"))
        found = await pipe.execute()
    return {number for number, exists in zip(numbers, found, strict=True) if exists}


def by_name(ops: Iterable[tuple[str, Reply]]) -> tuple[tuple[str, Reply], ...]:
    """Operations in an order that the store, which keeps none but the clock's, has too."""
    return tuple(sorted(ops, key=lambda pair: pair[0]))


def reply_of(kept: bytes, items: Sequence[Item]) -> Reply:
    """What a repeated call gets, without what depends on the clock."""
    _, fields = loads(kept)
    if isinstance(fields, list):
        length = fields[2]
        found: Reply = recorded_of([kept, items[length - 1].chain.encode() if length else b"", 0])
    else:
        found = KINDS[fields.pop("kind")].read(fields)
    return cast("Reply", plain(found))
