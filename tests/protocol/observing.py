"""A session's state as the store's keys hold it, in the model's terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offturn.store.entries import loads, text_of
from offturn.store.replies import KINDS, Reply
from offturn.store.state import Meta
from offturn_config import keys
from offturn_config.keys import SessionKey
from offturn_engine.chain import digest
from offturn_engine.ranges import seqs_of
from tests.protocol.facts import Gen, Item, State, chain_at, ids_of, log_bytes, path_tokens, pressure


async def observe(redis: Any, key: SessionKey) -> State:
    """The state as it is in the store."""
    async with redis.pipeline() as pipe:
        for name in ("meta", "ops", "ids", "chunks"):
            pipe.hgetall(key.key(name))
        for name in ("log", "opsq", "chunksq"):
            pipe.lrange(key.key(name), 0, -1)
        pipe.zscore(keys.due(), key.member)
        pipe.hexists(keys.dead(), key.member)
        pipe.time()
        pipe.get(key.key("life"))
        meta, ops, ids, chunks, log, opsq, chunksq, score, dead, clock, life = await pipe.execute()
    now = int(clock[0]) * 1000 + clock[1] // 1000
    doze = int(meta.get(b"doze") or 0)
    asleep = doze > now and score == doze
    due = score is not None and not asleep
    fields = Meta.read([item for pair in meta.items() for item in pair], due=due, now_ms=now)
    if fields is None:
        assert life or not any((ops, ids, log))
        return State(incarnation=int(meta.get(b"incarnation", life or 0)), due=score is not None, parked=dead)
    there = await _with_record(redis, key, list(fields.generations))
    assert fields.parked is dead
    assert sorted(chunks) == sorted(chunksq)
    assert sorted(ops) == sorted(opsq)
    items = []
    for item in log:
        chain, _, envelope = item.split(b" ", 2)
        entry = loads(envelope)
        of = digest(entry["m"], entry["o"], entry["id"])
        items.append(Item(chain.decode(), of, entry["k"], entry["id"], len(item), "x" in entry))
    state = State(
        incarnation=fields.incarnation,
        alive=True,
        epoch=fields.epoch,
        revision=fields.revision,
        log=tuple(items),
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
        redactions=fields.redactions,
        config=fields.config,
        quota=fields.quota,
        pace=fields.pace,
        stepped=fields.stepped,
        doze="asleep" if asleep else "over" if 0 < doze <= now else "",
        quiet=int(meta.get(b"quiet") or 0) > 0,
        chunks=frozenset(text_of(name) for name in chunks),
        ops=tuple((text_of(op), reply_of(ops[op])) for op in opsq),
    )
    places = {
        host_id: f"{seq}:{'-' if items[seq].redacted else items[seq].digest}" for host_id, seq in ids_of(state).items()
    }
    assert places == {text_of(host_id): text_of(place) for host_id, place in ids.items()}
    assert (fields.log_len, fields.chain) == (len(items), chain_at(state, len(items)))
    assert fields.path_tokens == path_tokens(state)
    assert fields.log_bytes == log_bytes(state)
    assert fields.pressure == pressure(state)
    return state


async def _with_record(redis: Any, key: SessionKey, numbers: Sequence[int]) -> set[int]:
    if not numbers:
        return set()
    async with redis.pipeline() as pipe:
        for number in numbers:
            pipe.exists(key.key(f"gen:{number}"))
        found = await pipe.execute()
    return {number for number, exists in zip(numbers, found, strict=True) if exists}


def reply_of(text: bytes) -> Reply:
    fields = loads(text)
    return KINDS[fields.pop("kind")].read({name: value for name, value in fields.items() if name != "at"})
