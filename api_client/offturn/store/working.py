"""The scripts of a job, from claim to finish."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from offturn.store.entries import data_of
from offturn.store.records import stored
from offturn.store.replies import Claim, ClaimReply, CommitReply, FinishReply, Held, Kept
from offturn.store.scripted import Scripted
from offturn_config.keys import SessionKey
from offturn_engine.compaction import Compaction
from offturn_engine.outcome import Finish


class WorkerScripts(Scripted):
    """What a worker calls; `commit` without a claim is a host's."""

    async def claim(
        self,
        key: SessionKey,
        *,
        token: str,
        lease_ms: int,
        max_attempts: int = 6,
        worker: str = "",
        hourly: int | None = None,
    ) -> ClaimReply:
        """Take a due session. `token` is random, new at every call; `hourly`: automatic compactions it may have an hour."""
        args = {"token": token, "lease_ms": lease_ms, "max_attempts": max_attempts, "worker": worker, "hourly": hourly}
        return cast("ClaimReply", await self._reply("claim", key, args, bring=False))

    async def renew(self, key: SessionKey, *, claim: Claim, lease_ms: int) -> bool:
        """Extend the lease, expired or not; False: it is somebody else's now, or the job's epoch is over."""
        reply = await self._reply("renew", key, {"claim": _held_by(claim), "lease_ms": lease_ms})
        return isinstance(reply, Held)

    async def commit(
        self,
        key: SessionKey,
        *,
        incarnation: int,
        epoch: str,
        base: int,
        chain_length: int,
        chain: str,
        compaction: Compaction,
        at_tokens: int,
        claim: Claim | None,
        op: str,
    ) -> CommitReply:
        """Publish a generation, once per `op`, which is its nonce: random and new for every candidate.

        `chain` is the chain hash at `chain_length`, the log up to the last seq covered or edited. `at_tokens`: the
        path's tokens when it was planned. Without a claim (a host): provisional only, in force at once.
        """
        args = {
            "op": op,
            "incarnation": incarnation,
            "epoch": epoch,
            "base": base,
            "chain_length": chain_length,
            "chain": chain,
            "claim": _held_by(claim) if claim else None,
            "generation": {
                "provisional": compaction.provisional,
                "method": compaction.method,
                "reason": compaction.reason,
                "covered": compaction.covered,
                "tokens_after": compaction.tokens_after,
                "at_tokens": at_tokens,
                "seen": compaction.seen,
                "told": compaction.seen if claim and _words(claim) else 0,
            },
        }
        # Of a long session this is a megabyte, which takes as long to compress as a loop may stand still.
        record = await asyncio.to_thread(stored, compaction)
        return cast("CommitReply", await self._reply("commit", key, args, [record]))

    async def finish(
        self,
        key: SessionKey,
        *,
        claim: Claim,
        outcome: Finish,
        backoff_ms: int = 0,
        detail: Mapping[str, str | int | float | bool] | None = None,
    ) -> FinishReply:
        """Release the lease; due is recomputed from the state, whatever the outcome.

        `failed`, `unavailable` and `deferred` stay due, later; only the first of them counts as an attempt.

        `detail` joins the fields of the event: names, numbers and sizes, never content.
        """
        args = {"claim": _held_by(claim), "outcome": outcome, "backoff_ms": backoff_ms, "detail": dict(detail or {})}
        return cast("FinishReply", await self._reply("finish", key, args))

    async def save_chunk(
        self, key: SessionKey, *, incarnation: int, redactions: int, chunk_key: str, value: str
    ) -> bool:
        """Keep a paid result (the newest 64), also after the lease is lost.

        False: the session is gone, or something was redacted since the claim that told `redactions`.
        """
        args = {"incarnation": incarnation, "redactions": redactions, "chunk": chunk_key}
        reply = await self._reply("save_chunk", key, args, [data_of(value)])
        return isinstance(reply, Kept)

    async def unlist(self, key: SessionKey) -> None:
        """Take a session that expired out of the due set and the dead letters; a live one stays."""
        await self._reply("unlist", key, {}, bring=False)


def _words(claim: Claim) -> bool:
    """Is the summary told what the host said?"""
    return bool(claim.focus or claim.note or any(phase.note for phase in claim.phases))


def _held_by(claim: Claim) -> dict[str, Any]:
    return {
        "incarnation": claim.incarnation,
        "epoch": claim.epoch,
        "fence": claim.fence,
        "token": claim.token,
        "request_no": claim.request_no,
    }
