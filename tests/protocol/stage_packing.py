"""The steps of a stage that change how the log is kept."""

from __future__ import annotations

from typing import Any

from offturn.store.packs import pack
from offturn_config.keys import SessionKey
from offturn_engine.ranges import seqs_of
from tests.protocol.facts import State, base_of
from tests.protocol.words import word

QUIET = ("pack", "unpack_last")
"""Writes after which a session ends when it would have ended."""


class PackingStage:
    """Part of `Stage`."""

    state: State
    key: SessionKey
    store: Any
    both: Any
    gathered: dict[str, dict[str, Any]]

    async def on_gather(self, name: str, count: str) -> str:
        """Make a pack of the first so many messages that are in none."""
        base = base_of(self.state)
        stop = min(base + int(count), len(self.state.log))
        items = await self.store.items(self.key, start=base, stop=stop) if stop > base else []
        assert len(items) == stop - base
        packed = pack(items) if items else b""
        self.gathered[name] = {
            "incarnation": self.state.incarnation,
            "base": base,
            "items": items,
            "packed": packed,
        }
        return "gathered"

    async def on_pack(self, name: str, count: str = "") -> str:
        """Put a pack there that was made before, else one of now."""
        if count or name not in self.gathered:
            await self.on_gather(name, count or "1")
        return word(await self.both("pack", self.gathered.pop(name)))

    async def on_unpack(self, name: str, before: str = "") -> str:
        """Take the newest pack apart, or the one that ended before this seq."""
        base = int(before) if before else base_of(self.state)
        return word(await self.both("unpack_last", {"incarnation": self.state.incarnation, "base": base}))

    async def on_read(self, start: str, stop: str) -> str:
        """What a host reads of the log from `start` on, page by page, and what a job reads of these seqs."""
        s, low, high = self.state, int(start), int(stop)
        chains = [item.chain for item in s.log]
        job = await self.store.log(self.key, start=low, stop=high)
        assert [(e.seq, e.chain) for e in job] == list(enumerate(chains))[low:high]
        meta = await self.store.meta(self.key)
        path = await self.store.path(self.key, meta) if meta else []
        assert [(e.seq, e.chain) for e in path] == [(seq, chains[seq]) for seq in seqs_of(s.path)]
        known: dict[str, Any] = {"incarnation": s.incarnation, "redactions": s.redactions}
        while low < len(s.log):
            chain = chains[low - 1] if low else ""
            page = await self.store.sync(self.key, **known, length=low, chain=chain, limit_bytes=1)
            assert not page.reset
            assert [(e.seq, e.chain) for e in page.entries] == list(enumerate(chains))[low:][: len(page.entries)]
            assert page.entries
            low += len(page.entries)
            assert page.more is (low < len(s.log))
        return "read"
