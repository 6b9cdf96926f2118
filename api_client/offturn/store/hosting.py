"""The scripts hosts call. A write takes effect once per operation id, `op`, however often it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from offturn.store.entries import NewEntry, data_of, dumps, text_of
from offturn.store.replies import (
    AdoptReply,
    Gone,
    MendReply,
    PurgeReply,
    RecordReply,
    Requested,
    RollbackReply,
    SteerReply,
    UndoReply,
)
from offturn.store.scripted import Scripted, header_of
from offturn_config.keys import SessionKey
from offturn_engine.ranges import Ranges


class HostScripts(Scripted):
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
        expect: int | None = None,
        config: str = "{}",
        limits: tuple[int, int] | None = None,
        calibration: str | None = None,
        thresholds: tuple[int, int, int] | None = None,
        usage: str | None = None,
    ) -> RecordReply:
        """Append entries, once per `op`. A first record creates the session and stores `config` and `limits` by value.

        `tail_length`, `tail_chain`: what the caller knows to be acknowledged. `limits`: TTL in ms, bytes of the log; 0: none.
        `thresholds`: soft, hard, growth in
        estimate units. `usage`: JSON for an event.
        """
        args = {
            "op": op,
            "incarnation": incarnation,
            "tail_length": tail_length,
            "tail_chain": tail_chain,
            "expect": expect,
            "entries": [header_of(entry) for entry in entries],
            "config": config,
            "limits": limits,
            "calibration": calibration,
            "thresholds": thresholds,
            "usage": usage,
        }
        return cast(
            "RecordReply", await self._reply("record", key, args, [data_of(entry.envelope) for entry in entries])
        )

    async def request(
        self, key: SessionKey, *, op: str, incarnation: int, reason: str, focus: str = "", note: str = ""
    ) -> Requested | Gone:
        """Ask for a compaction whatever the pressure, once per `op`. The caller rings the doorbell."""
        args = {"op": op, "incarnation": incarnation, "reason": reason, "focus": focus, "note": note}
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
    ) -> UndoReply:
        """Put `path` in place of the one read at `epoch`, `length`, `chain` and `counter`, once per `op`.

        `path_tokens` and `open_calls` are those of the new path. In force is then the first of current and what it
        replaced that lies inside it and is not `unfit`; its view weighs `shown_tokens`. `entries` are appended:
        `path` names them by the seqs from `length` on. `shadow`: in force is then the first of what was in force and
        what that replaced.
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
        }
        return cast("UndoReply", await self._reply("undo", key, args, [data_of(entry.envelope) for entry in entries]))

    async def configure(
        self,
        key: SessionKey,
        *,
        op: str,
        incarnation: int,
        config: str,
        thresholds: tuple[int, int, int],
        limits: tuple[int, int] | None = None,
        calibration: str = "",
    ) -> SteerReply:
        """Replace what the first record stored, once per `op`; running jobs become stale. `limits`: as in `record`."""
        args = {"op": op, "incarnation": incarnation, "config": config, "thresholds": thresholds, "limits": limits}
        return cast("SteerReply", await self._reply("configure", key, {**args, "calibration": calibration}))

    async def cancel(self, key: SessionKey, *, op: str, incarnation: int) -> SteerReply:
        """Withdraw open requests, once per `op`; running jobs become stale."""
        return cast("SteerReply", await self._reply("cancel", key, {"op": op, "incarnation": incarnation}))

    async def unblock(self, key: SessionKey, *, op: str, incarnation: int) -> SteerReply:
        """Take a parked session out of its place, once per `op`."""
        return cast("SteerReply", await self._reply("unblock", key, {"op": op, "incarnation": incarnation}))

    async def purge(self, key: SessionKey, *, incarnation: int) -> PurgeReply:
        """Remove everything of this life of the session but its number; again, it answers the same."""
        return cast("PurgeReply", await self._reply("purge", key, {"incarnation": incarnation}))
