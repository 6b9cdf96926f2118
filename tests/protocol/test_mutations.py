"""The suite can fail: each deliberately broken script is noticed by its trace, or by the random runs."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from redis.asyncio import Redis

from offturn.store.scripts import NAMES, Scripts, texts
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from tests.protocol.mutations_archive import ARCHIVE_MUTATIONS
from tests.protocol.mutations_bounds import BOUNDS_MUTATIONS
from tests.protocol.mutations_packing import PACKING_MUTATIONS
from tests.protocol.mutations_redacting import REDACTING_MUTATIONS
from tests.protocol.runs import play_random
from tests.protocol.stage import Stage
from tests.protocol.test_traces import EVERY, play

RUNS = 60


class Mutation(NamedTuple):
    script: str  # "" for all of them
    old: str
    new: str
    trace: str = ""  # "" where the random runs must notice it


EPOCH = Mutation("commit", "if a.epoch ~= s.epoch then return refused('epoch') end", "", "no-epoch")
HOLDS = "return num('fence') == claim.fence and s.token == claim.token"
PENDING = "pending = wanted()"
LESS = "if not inside(replaced, g.covered) then return refused('fuller') end"
SAME = "if g.provisional and current ~= a.base and inside(g.covered, replaced) then return refused('fuller') end"
LIFE = "if a.incarnation ~= incarnation then return reply('gone') end"

MUTATIONS = {
    "no lease check": Mutation("", HOLDS, "return true", "no-fence"),
    "fence without token": Mutation("", HOLDS, "return num('fence') == claim.fence", "fence-reset"),
    "operation ids forgotten": Mutation(
        "", "local kept = alive() and redis.call('HGET', OPS, a.op)", "local kept = false", "no-op-ids"
    ),
    "commit of a worker not once": Mutation("commit", "local known = once()", "local known = false", "commit-again"),
    "rollback not once": Mutation("rollback", "local known = once()", "local known = false", "written-op-ids"),
    "outcome clears due": Mutation("finish", PENDING, "pending = false", "lost-dirty"),
    "due from request numbers": Mutation(
        "finish", PENDING, "pending = num('request_no') ~= a.claim.request_no", "written-finish"
    ),
    "due read before": Mutation("finish", PENDING, "pending = requirement() == 'hard'", "split-finish"),
    "any life": Mutation("record", LIFE, "", "unfenced-purge"),
    "first record unnamed": Mutation("record", LIFE, LIFE.replace("if ", "if live and "), "written-first-record"),
    "base only": Mutation("", "if not g or not g.provisional then", "if true then", "base-only"),
    "no epoch check": EPOCH,
    "no epoch check, base again current": EPOCH._replace(trace="base-only-aba"),
    "no chain check": Mutation(
        "commit", "if not linked(a.chain_length, a.chain) then return refused('chain') end", "", "no-chain"
    ),
    "busy clears due": Mutation(
        "claim", "  due_now()\n  return reply('busy'", "  clear_due()\n  return reply('busy'", "job-id-generation"
    ),
    "failed clears due": Mutation("finish", "set_due(now + a.backoff_ms)", "clear_due()", "results-kept"),
    "links to the base": Mutation("commit", "a.base, current, now", "a.base, a.base, now", "written-links"),
    "provisional over a fuller one": Mutation("commit", SAME, "", "host-twice"),
    "covers less": Mutation("commit", LESS, "", "covers-less"),
    "host commits in full": Mutation(
        "commit", "if not a.claim and not g.provisional then return refused('fence') end", "", "host-full"
    ),
    "rollback off the path": Mutation(
        "rollback",
        "if not inside(covered(a.target), sorted(cjson.decode(s.path))) then",
        "if false then",
        "written-rollback-path",
    ),
    "rollback leaves due": Mutation(
        "", "if not wanted() then\n    clear_due()", "if true then\n    clear_due()", "written-rollback-due"
    ),
    "rollback keeps the epoch": Mutation("rollback", "set('epoch', a.op)", "", "base-only-aba"),
    "revision without nonce": Mutation(
        "", "string.format('%d:%s', number, nonce)", "number .. ':'", "written-revision"
    ),
    "no hold": Mutation("finish", "  hold()\n", "", "no-gain-holds"),
    "rests do not hold": Mutation("finish", " or outcome == 'resting'\nif", "\nif", "resting-holds"),
    "rests strike": Mutation("finish", "outcome == 'no-gain' and not again", "not again", "resting-is-not-dense"),
    "hold over hard": Mutation("", "if size >= num('hard') then return 'hard' end", "", "hard-ignores-hold"),
    "attempts uncounted": Mutation("claim", "set('attempts', num('attempts') + 1)", "", "parked"),
    "deaths untold": Mutation("claim", "died = died", "died = false", "parked"),
    "every claim a death": Mutation("claim", "and s.token ~= ''", "", "results-kept"),
    "adopts at any length": Mutation(
        "adopt", "if a.length ~= num('log_len') then return reply('stale') end", "", "stale-adopt"
    ),
    "writes into a tombstone": Mutation(
        "", "return not alive() or incarnation ~= num('incarnation')", "return false", "gone"
    ),
    "ids overwritten": Mutation(
        "record", "if digest ~= entry[DIGEST] and digest ~= FORGOTTEN then", "if false then", "ids"
    ),
    "tail unchecked": Mutation("record", "if not linked(a.tail_length, a.tail_chain) then", "if false then", "behind"),
    "renewed by anybody": Mutation("renew", "or not holds(a.claim)", "", "renewed-too-late"),
    "renewed in another epoch": Mutation("renew", "or a.claim.epoch ~= s.epoch", "", "renewed-in-vain"),
    "served only at finish": Mutation(
        "commit", "set('served', math.max(num('served'), a.claim.request_no))", "", "purged-with-all"
    ),
    "served falls": Mutation(
        "finish", "math.max(num('served'), a.claim.request_no)", "a.claim.request_no", "withdrawn-after-a-commit"
    ),
    "rollback without a hold": Mutation("rollback", "\nhold()\n", "\n"),
    "superseded serves": Mutation(
        "finish", "if outcome ~= 'superseded' then set", "if true then set", "amend-by-claim"
    ),
    "undo not once": Mutation("undo", "local known = once()", "local known = false", "undo-once"),
    "undo keeps the epoch": Mutation("undo", "set('epoch', a.op)", "", "no-epoch"),
    "undo of any tail": Mutation("undo", "a.length == num('log_len')", "true", "moved-tail"),
    "undo of any generation": Mutation("undo", "a.counter == num('counter') and", "", "moved-generation"),
    "undo of any epoch": Mutation("undo", "a.epoch == s.epoch and", "", "moved-epoch"),
    "undo of any log": Mutation("undo", "if not same or not linked(a.length, a.chain)", "if not same", "moved-log"),
    "undo to the number before": Mutation("undo", "number = g.replaces", "number = number - 1", "undo-along-replaces"),
    "undo keeps what is off the path": Mutation("undo", "inside(g.covered, order)", "true", "written-undo-due"),
    "undo asks for nothing": Mutation("undo", "local ring = ask()", "local ring = false", "written-undo-due"),
    "undo keeps what is unfit": Mutation("undo", "not unfit[number] and", "", "unfit"),
    "undo keeps the size": Mutation(
        "undo", "g.tokens_after, g.at_tokens = a.shown_tokens, a.path_tokens", "", "amend-tail"
    ),
    "undo to the same path": Mutation("undo", "if ranges_json(path) == s.path then", "if false then", "undo-once"),
    "path in any order": Mutation(
        "", "table.sort(copy, function(x, y) return x[1] < y[1] end)", "", "amended-then-covered"
    ),
    "amended by another id": Mutation("undo", "if entry[ID] then", "if false then", "amend-tail"),
    "amend hands no pin over": Mutation("undo", "if a.config then", "if false then", "amend-tail"),
    "undo forgets the settings": Mutation(
        "undo", "if a.config then set('config', a.config) end", "set('config', a.config or '')", "undo-once"
    ),
    "new ids at one place": Mutation("undo", "a.length + i - 1", "a.length", "mirrored"),
    "undo adopts a shadow": Mutation("undo", "set('adopted', shown)", "set('adopted', number)", "shadow"),
    "shadow keeps what is off the path": Mutation("undo", "holding(num('adopted'))", "num('adopted')", "shadow-older"),
    "only one is appended": Mutation(
        "undo", "redis.call('RPUSH', LOG, lines[i])", "redis.call('RPUSH', LOG, lines[1])", "mirrored"
    ),
    "chain of the last one": Mutation(
        "undo",
        "chain = redis.sha1hex(chain .. entry[DIGEST])",
        "chain = redis.sha1hex(s.chain .. entry[DIGEST])",
        "mirrored",
    ),
    "a repeated record ends at the tail": Mutation(
        "record", "length > 0 and hash_at(length) or ''", "s.chain", "written-op-ids-later"
    ),
    "ids for ever": Mutation(
        "record", "if seq and (ids[id] or on(shown, tonumber(seq))) then", "if seq then", "id-again"
    ),
    "purge of any life": Mutation("purge", "if gone(a.incarnation) then return reply('gone') end", "", "purged-twice"),
    "purge not again": Mutation("purge", "a.incarnation == num('incarnation') then", "false then", "purged-twice"),
    "purge leaves generations": Mutation("purge", "redis.call('UNLINK', payload(number))", "", "purged-with-all"),
    "purge leaves due": Mutation("purge", "\nunlist()", "", "purged-with-all"),
    "purge forgets the life": Mutation("purge", "'incarnation', a.incarnation,", "", "purged-twice"),
    "configure keeps the epoch": Mutation("configure", "set('epoch', a.op)", "", "configured"),
    "configure over another's": Mutation(
        "configure", "if a.epoch ~= s.epoch then return reply('moved') end", "", "configured-by-two"
    ),
    "configure asks for nothing": Mutation("configure", "local ring = ask()", "local ring = false", "configured-lower"),
    "cancel keeps the epoch": Mutation("cancel", "set('epoch', a.op)", "", "cancelled"),
    "cancel keeps requests": Mutation("cancel", "set('served', num('request_no'))", "", "cancelled"),
    "cancel clears due": Mutation("cancel", "\ndue_as_wanted()\n", "\nclear_due()\n", "cancelled-pressing"),
    "drop holds nothing": Mutation("cancel", "  hold()\n", "", "dropped"),
    "drop leaves the hard level": Mutation("cancel", "  set('tried', num('path_tokens'))\n", "", "dropped-hard"),
    "drop leaves steps": Mutation("cancel", "  set('stepped', num('held'))\n", "", "steps-dropped"),
    "unblock keeps attempts": Mutation("unblock", "\nunpark()", "", "unblocked"),
    "unblock keeps holds": Mutation("unblock", "set('held', 0)", "", "unblock-lifts-holds"),
    "unblock keeps the breaker": Mutation("unblock", "\nlift()", "", "too-dense"),
    "rollback keeps the breaker": Mutation("rollback", "\nlift()", "", "too-dense-in-vain"),
    "no breaker": Mutation(
        "",
        "if num('strikes') < (num('too_dense') > 0 and num('too_dense') or STRIKES) then return end",
        "do return end",
        "too-dense",
    ),
    "breaker asks on": Mutation("", " or blocked() then return false", " then return false", "too-dense"),
    "the same again": Mutation("", "and not tried()", "", "too-dense"),
    "what came meanwhile was tried": Mutation(
        "finish", "set('tried', num('begun'))", "set('tried', num('path_tokens'))", "tried-before-it-grew"
    ),
    "tried under other settings": Mutation("configure", "set('tried', 0)", "", "tried-before-it-grew"),
    "tried in another epoch": Mutation(
        "finish", "fruitless and a.claim.epoch ~= s.epoch", "false", "tried-in-another-epoch"
    ),
    "asked in another epoch": Mutation("finish", "outcome == 'skipped' or ", "", "asked-in-another-epoch"),
    "nobody tells that no job comes": Mutation(
        "finish", "if rests then set(", "if false then set(", "superseded-and-nothing-left"
    ),
    "the same strikes again": Mutation("finish", " and not again", "", "asked-the-same-again"),
    "adopted is new": Mutation("adopt", "turn(a.nonce)", "turn(a.nonce)\n  set('tried', 0)", "adopted-is-nothing-new"),
    "emergency asks for nothing": Mutation("commit", "ring = ask()", "", "emergency-after-a-try"),
    "emergency keeps what was tried": Mutation("commit", "set('tried', 0)\n", "", "emergency-after-a-try"),
    "breaker leaves requests open": Mutation(
        "", "set('served', num('request_no'))\n  set('blocked'", "set('blocked'", "too-dense"
    ),
    "a phase in place of the one before": Mutation("request", "phases[#phases + 1] =", "phases[1] =", "phases-stay"),
    "a commit forgets later phases": Mutation("commit", "phase.request > a.claim.request_no", "false", "phases-stay"),
    "a commit keeps told phases": Mutation("commit", "phase.request > a.claim.request_no", "true", "phases-stay"),
    "a copy has no phases": Mutation("record", "mark_phases(a.phases)", "num('x')", "phases-of-a-copy"),
    "a phase ends later": Mutation("request", "seq = num('log_len') - 1", "seq = num('log_len')", "phases-stay"),
    "phases of requests only": Mutation(
        "claim",
        "phases = cjson.decode(s.phases or '[]')",
        "phases = asked and cjson.decode(s.phases or '[]') or nil",
        "",
    ),
    "breaker opens at a request only": Mutation("request", "if blocked() then", "if false then", "too-dense"),
    "any gain is progress": Mutation("claim", "\njudge()", "", "too-dense-in-vain"),
    "judged twice": Mutation("", "set('trial', '')\n  if", "if", "too-dense-in-vain"),
    "growth is no progress": Mutation("", "and grown < num('growth') then", "then", "grown"),
    "strikes for ever": Mutation("", "then strike() else set('strikes', 0) end", "then strike() end", "room-made"),
    "small is dense": Mutation(
        "finish", "and pressure() >= num('soft') then strike() end", "then strike() end", "small-is-not-dense"
    ),
    "outages count": Mutation("finish", "math.max(0, num('attempts') - 1)", "num('attempts')", "providers-away"),
    "outages are not told": Mutation("finish", "num('failures') + 1", "0", "providers-away"),
    "outages are told for ever": Mutation("", "  set('failures', 0)\n", "", "providers-away"),
    "deaths are not told": Mutation("claim", "ended('died', s.worker or '')", "num('x')", "ends-are-told"),
    "failures are not told": Mutation("finish", "  ended(", "  tostring(", "ends-are-told"),
    "ends are told for ever": Mutation("", "  set('ends', '')\n", "", "ends-are-told"),
    "no hourly limit": Mutation("claim", "#recent >= hourly then", "false then", "hourly"),
    "requests are limited": Mutation("claim", "if not asked and not step and free", "if not step and free", "hourly"),
    "unblock asks for nothing": Mutation("unblock", "local ring = ask()", "local ring = false", "unblocked"),
    "subset by ends only": Mutation(
        "", "if not y[j] or y[j][1] > low then return false end", "if not y[j] then return false end", "hole"
    ),
    "asked twice": Mutation(
        "", "if (due() and not broken) or not wanted() then return false end", "if not wanted() then return false end"
    ),
}

MUTATIONS |= {
    name: Mutation(*fields)
    for name, fields in {**BOUNDS_MUTATIONS, **REDACTING_MUTATIONS, **PACKING_MUTATIONS, **ARCHIVE_MUTATIONS}.items()
}


def broken(mutation: Mutation) -> dict[str, str]:
    found = dict(texts())
    names = [name for name in [mutation.script] if name] or [name for name in NAMES if mutation.old in found[name]]
    assert names, "the mutation does not apply any more"
    for name in names:
        assert mutation.old in found[name], "the mutation does not apply any more"
        found[name] = found[name].replace(mutation.old, mutation.new)
    return found


@pytest.mark.parametrize("name", MUTATIONS)
async def test_a_broken_script_is_noticed(name: str, redis: Redis) -> None:
    mutation = MUTATIONS[name]
    store = SessionStore(redis)
    store._scripts = Scripts(redis, broken(mutation))

    with pytest.raises(AssertionError):
        await exercise(store, redis, mutation.trace)


async def exercise(store: SessionStore, redis: Redis, trace: str) -> None:
    if trace:
        await play(stage(store, redis, trace), EVERY[trace])
        return
    for seed in range(RUNS):
        await play_random(stage(store, redis, f"run {seed}"), seed)


def stage(store: SessionStore, redis: Redis, session: str) -> Stage:
    return Stage(store, redis, SessionKey("default", session), max_attempts=3)
