"""The scripts hosts call. A write takes effect once per operation id, `op`, however often it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from offturn.copying import made
from offturn.store.entries import NewEntry, Tombstone, dumps, text_of
from offturn.store.errors import Archived, NotConfirmed, StoreFault, readable
from offturn.store.replies import (
    AdoptReply,
    ConfigureReply,
    Gone,
    MendReply,
    PurgeReply,
    Recorded,
    RecordReply,
    RedactReply,
    Requested,
    RollbackReply,
    SteerReply,
    UndoReply,
)
from offturn.store.scripted import header_of, reply_of
from offturn.store.state import Bounds, Pace, ranges_of, revision_of
from offturn.store.stubs import Stubs
from offturn_config.keys import SessionKey
from offturn_engine.compaction import PhaseEnd
from offturn_engine.ledger.phases import LONGEST_WHY
from offturn_engine.ranges import Ranges
from offturn_engine.tools import one_line
from offturn_engine.triggers import Requirement

REQUIREMENTS: tuple[Requirement, ...] = ("none", "soft", "hard")  # as numbers, in the answer to a record
NOT_CONFIRMED = (
    "done on the primary, and {} of {} replicas did not confirm it within {} s: what was deleted may come back with a "
    "failover; make the same call again until it returns"
)
NOT_ASKED = (
    "done on the primary; whether replicas have it is not known, because the store's user may not run INFO: allow it "
    "(ACL SETUSER ... +info +wait), then make the same call again"
)


class HostScripts(Stubs):
    """Appends, requests, and what moves, steers or ends a session."""

    async def record(
        self,
        key: SessionKey,
        *,
        op: str,
        incarnation: int,
        tail_length: int,
        tail_chain: str,
        entries: Sequence[NewEntry],
        redactions: int = 0,
        expect: int | None = None,
        config: str | None = "{}",
        limits: Bounds | None = None,
        calibration: str | None = None,
        thresholds: tuple[int, int, int] | None = None,
        pace: Pace | None = None,
        phases: Sequence[PhaseEnd] = (),
        usage: str | None = None,
    ) -> RecordReply:
        """Append entries, once per `op`. A first record creates the session and stores `config` and `limits` by value;
        None: of a caller with messages in its log, which therefore exists.

        `tail_length`, `tail_chain`: what the caller knows to be acknowledged, and `redactions` when it read that.
        `limits`: see Bounds. `thresholds`: soft, hard, growth in
        estimate units. `pace`: see there. `phases`: ends that a first record brings along, oldest first. `usage`: JSON for
        an event.
        """
        args = {
            "op": op,
            "incarnation": incarnation,
            "tail_length": tail_length,
            "tail_chain": tail_chain,
            "redactions": redactions,
            "expect": expect,
            "entries": [header_of(entry) for entry in entries],
            "config": config,
            "limits": limits,
            "calibration": calibration,
            "thresholds": thresholds,
            "pace": pace,
            "phases": [{"request": 0, "seq": end.seq, "note": end.note} for end in phases] or None,
            "usage": usage,
        }
        # The client copies bytes once more with each argument behind them, and a view not at all.
        found = await self._run("record", key, args, [memoryview(entry.envelope) for entry in entries])
        if not isinstance(found, list):
            return cast("RecordReply", reply_of(found))
        with readable(f"a kept reply of session {key.session!r}"):
            return recorded_of(found)

    async def request(
        self, key: SessionKey, *, op: str, incarnation: int, reason: str, focus: str = "", note: str = ""
    ) -> Requested | Gone:
        """Ask for a compaction whatever the pressure, once per `op`. The caller rings the doorbell."""
        args = {"op": op, "incarnation": incarnation, "reason": reason, "focus": focus, "note": note}
        args["brief"] = one_line(note, LONGEST_WHY)
        return cast("Requested | Gone", await self._reply("request", key, args))

    async def adopt(self, key: SessionKey, *, incarnation: int, length: int, nonce: str) -> AdoptReply:
        """Put the current generation in force, if the log still has the length at which no group was open."""
        args = {"incarnation": incarnation, "length": length, "nonce": nonce}
        return cast("AdoptReply", await self._reply("adopt", key, args))

    async def mend(self, key: SessionKey, *, incarnation: int, nonce: str) -> MendReply:
        """Forget generations whose record is gone, and put the nearest one that is there in their place."""
        return cast("MendReply", await self._reply("mend", key, {"incarnation": incarnation, "nonce": nonce}))

    async def rollback(self, key: SessionKey, *, op: str, incarnation: int, target: int) -> RollbackReply:
        """Put generation `target` (0: the raw transcript) in force, once per `op`; running jobs become stale."""
        args = {"op": op, "incarnation": incarnation, "target": target}
        return cast("RollbackReply", await self._reply("rollback", key, args))

    async def undo(
        self,
        key: SessionKey,
        *,
        op: str,
        incarnation: int,
        epoch: str,
        length: int,
        chain: str,
        counter: int,
        path: Ranges,
        path_tokens: int,
        open_calls: Mapping[str, int],
        unfit: Sequence[int] = (),
        shown_tokens: int = 0,
        shadow: bool = False,
        entries: Sequence[NewEntry] = (),
        config: str | None = None,
    ) -> UndoReply:
        """Put `path` in place of the one read at `epoch`, `length`, `chain` and `counter`, once per `op`.

        `path_tokens` and `open_calls` are those of the new path. In force is then the first of current and what it
        replaced that lies inside it and is not `unfit`; its view weighs `shown_tokens`. `entries` are appended:
        `path` names them by the seqs from `length` on. `shadow`: in force is then the first of what was in force and
        what that replaced. `config` is stored in the place of the settings, which this epoch has read too.
        """
        args = {
            "op": op,
            "incarnation": incarnation,
            "epoch": epoch,
            "length": length,
            "chain": chain,
            "counter": counter,
            "path": path,
            "path_tokens": path_tokens,
            "open": text_of(dumps(dict(open_calls))),
            "unfit": unfit,
            "shown_tokens": shown_tokens,
            "shadow": shadow,
            "entries": [header_of(entry) for entry in entries],
            **({} if config is None else {"config": config}),
        }
        return cast("UndoReply", await self._reply("undo", key, args, [entry.envelope for entry in entries]))

    async def configure(
        self,
        key: SessionKey,
        *,
        op: str,
        incarnation: int,
        epoch: str,
        config: str,
        thresholds: tuple[int, int, int],
        limits: Bounds | None = None,
        pace: Pace | None = None,
        calibration: str = "",
    ) -> ConfigureReply:
        """Replace what the first record stored, once per `op`; running jobs become stale. `limits`: as in `record`.

        epoch: the one in which the caller has read what it changes.
        """
        args = {"op": op, "incarnation": incarnation, "epoch": epoch, "config": config, "thresholds": thresholds}
        more = {"limits": limits, "pace": pace, "calibration": calibration}
        return cast("ConfigureReply", await self._reply("configure", key, {**args, **more}))

    async def cancel(self, key: SessionKey, *, op: str, incarnation: int, hold: bool = False) -> SteerReply:
        """Withdraw open requests, once per `op`; running jobs become stale.

        hold: no automatic compaction either until the path has grown, at the hard level until the next message.
        """
        args = {"op": op, "incarnation": incarnation, "hold": hold or None}
        return cast("SteerReply", await self._reply("cancel", key, args))

    async def unblock(self, key: SessionKey, *, op: str, incarnation: int) -> SteerReply:
        """Take a parked session out of its place, once per `op`."""
        return cast("SteerReply", await self._reply("unblock", key, {"op": op, "incarnation": incarnation}))

    async def purge(self, key: SessionKey, *, incarnation: int) -> PurgeReply:
        """Remove everything of this life of the session but its number, in the archive too; again, it answers the same."""
        try:
            reply = await self._reply("purge", key, {"incarnation": incarnation}, bring=False)
        except Archived:
            return await self.purge_archived(key, incarnation=incarnation)
        return cast("PurgeReply", reply)

    async def confirm(self, key: SessionKey, *, replicas: int, seconds: float) -> None:
        """Wait until all replicas have what the server has written; `replicas` as a purge or redact answered.

        Raises NotConfirmed where one has not within `seconds`, StoreFault where the server may not be asked for them.
        """
        if replicas < 0:
            raise StoreFault(NOT_ASKED)
        if not replicas:
            return
        reached = await self._scripts.run_and_wait(
            "confirm", self._keys(key), [key.member, b"{}"], replicas=replicas, wait_ms=int(seconds * 1000)
        )
        if reached < replicas:
            raise NotConfirmed(NOT_CONFIRMED.format(replicas - reached, replicas, seconds))

    async def redact(
        self,
        key: SessionKey,
        *,
        op: str,
        incarnation: int,
        epoch: str,
        length: int,
        chain: str,
        counter: int,
        tombstones: Sequence[Tombstone],
        quoting: Sequence[int],
        tokens: int,
        reason: str,
        salt: str,
    ) -> RedactReply:
        """Put tombstones in the place of log entries and remove all that may quote these, once per `op`.

        `epoch`, `length`, `chain` and `counter` are as in `undo`, but the log may have grown. `quoting`: generations that
        edit what quotes one of them. `tokens`: by which the path gets lighter. `salt` is random and kept nowhere. Running
        jobs become stale. Without tombstones nothing is changed.
        """
        args = {
            "op": op,
            "incarnation": incarnation,
            "epoch": epoch,
            "length": length,
            "chain": chain,
            "counter": counter,
            "entries": [
                {"seq": one.seq} if one.host_id is None else {"seq": one.seq, "id": one.host_id} for one in tombstones
            ],
            "quoting": quoting,
            "tokens": tokens,
            "reason": reason,
            "salt": salt,
        }
        return cast("RedactReply", await self._reply("redact", key, args, [one.envelope for one in tombstones]))


def recorded_of(found: Sequence[Any]) -> Recorded:
    """The answer to a record: what is kept of it, the chain hash, unattended. `blocked` and seqs only where they tell more."""
    text, chain, unattended = found
    at, (incarnation, first, length, path, path_tokens, pressure, flags, *rest) = orjson.loads(text)
    request_no, current, adopted, revision, epoch, *more = rest
    return made(
        Recorded,
        incarnation=incarnation,
        first_seq=first,
        last_seq=length - 1,
        seqs=tuple(more[1] or ()) if len(more) > 1 else tuple(range(first, length)),
        length=length,
        chain=chain.decode(),
        path=ranges_of(path),
        path_tokens=path_tokens,
        pressure=pressure,
        requirement=REQUIREMENTS[flags & 3],
        due=bool(flags & 4),
        ring=bool(flags & 8),
        request_no=request_no,
        current=current,
        adopted=adopted,
        revision=revision_of(revision),
        epoch=epoch,
        unattended=bool(unattended),
        blocked=more[0] if more else "",
        at=at,
    )
