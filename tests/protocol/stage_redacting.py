"""The steps of a stage that redact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offturn.store.entries import Redaction, Tombstone
from offturn.store.replies import Redacted
from offturn_config.keys import SessionKey
from offturn_engine.ranges import seqs_of
from tests.protocol.facts import State, chain_at, linked


class RedactingStage:
    """Part of `Stage`."""

    state: State
    key: SessionKey
    store: Any
    redis: Any
    host: Any
    named: Any
    write: Any
    draw: Any

    async def on_mark(self, name: str, *arguments: str) -> str:
        """Choose what to redact in the state that is there now: seqs, and `q1`: generation 1 quotes them."""
        self.host(name).marked = self.marked(arguments)
        return "marked"

    async def on_redact(self, name: str, *arguments: str) -> str:
        """Redact what was marked before, else what is named now."""
        named = [a for a in arguments if a != "lost"]
        marked, self.host(name).marked = self.host(name).marked, None
        marked = self.marked(named) if marked is None or named else marked
        before = {g.number for g in self.state.gens}
        answer: str = await self.write(name, "redact", {**self.named(name), **marked}, arguments)
        if answer == Redacted.__name__.lower():
            await self.left({one.seq for one in marked["tombstones"]}, before - {g.number for g in self.state.gens})
        return answer

    async def on_reread(self, name: str) -> str:
        """A host that has read the log before looks what is new: is what it has still the log's?"""
        s, host = self.state, self.host(name)
        (length, chain), lives = host.tail, host.incarnation or 0
        seen = await self.store.sync(
            self.key, incarnation=lives, length=length, chain=chain, redactions=host.redactions
        )
        same = lives == s.incarnation and host.redactions == s.redactions and linked(s, length, chain)
        assert seen.reset is (length > 0 and not same)
        await self.pages(length, chain, lives, host.redactions, same=same)
        return "reset" if seen.reset else "known"

    async def pages(self, length: int, chain: str, lives: int, redactions: int, *, same: bool) -> None:
        """What it left out it reads later, page by page, of that very log or not at all."""
        s, low = self.state, 0
        known = {"incarnation": lives, "length": length, "chain": chain, "redactions": redactions}
        while low < max(length, 1):
            page = await self.store.page(self.key, start=low, stop=length, **known)
            assert (page is not None) is (s.alive and same)
            if not page:
                break
            assert [(e.seq, e.chain) for e in page] == [(low + i, s.log[low + i].chain) for i in range(len(page))]
            low += len(page)
        assert low == (length if s.alive and same else 0)

    async def left(self, seqs: set[int], dropped: set[int]) -> None:
        """Nothing that may quote them is left beside what the model knows."""
        names = [self.key.key(f"gen:{number}") for number in dropped]
        assert not names or not await self.redis.exists(*names), "a redact leaves a generation's record"
        told = [e for e in await self.store.events(self.key) if e.fields.get("generation") in dropped]
        assert all(event.kind == "usage" for event in told), "a redact leaves an event of a generation that is gone"
        assert not seqs or all(self.state.log[seq].redacted for seq in seqs)

    def marked(self, arguments: Sequence[str]) -> dict[str, Any]:
        s = self.state
        seqs = sorted({int(a) for a in arguments if a.isdigit() and int(a) < len(s.log)})
        shown = set(seqs_of(s.path))
        return {
            "epoch": s.epoch,
            "length": len(s.log),
            "chain": chain_at(s, len(s.log)),
            "counter": s.counter,
            "tombstones": [self.tombstone(seq) for seq in seqs],
            "quoting": [int(a[1:]) for a in arguments if a.startswith("q")],
            "tokens": sum(s.log[seq].tokens - 1 for seq in seqs if seq in shown),
            "reason": "asked",
            "salt": f"salt {self.draw()}",
        }

    def tombstone(self, seq: int) -> Tombstone:
        item, left = self.state.log[seq], {"role": "user", "content": "[redacted]"}
        redaction = Redaction(reason="asked", size=9)
        return Tombstone.of(seq, left, origin="human", tokens=1, host_id=item.host_id, redaction=redaction)
