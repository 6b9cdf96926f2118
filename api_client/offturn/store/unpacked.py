"""Which sessions have covered messages that are not packed: the store's scripts note each that is compacted.

A note says when that was first so. One that was taken comes back after its lease; a commit meanwhile is noted anew.
"""

from __future__ import annotations

from importlib.resources import files

from redis.asyncio import Redis

from offturn.store.entries import text_of
from offturn.store.scripts import Scripts
from offturn.store.sinks import SCRIPTS, Note
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey


class Unpacked:
    """The notes of one store. Every method may raise StoreUnavailable, StoreFull and StoreFault."""

    def __init__(self, redis: Redis, *, shard: str = keys.SHARD) -> None:
        folder = files("offturn.store") / "lua"
        self._scripts = Scripts(redis, {one: (folder / f"{one}.lua").read_text(encoding="utf-8") for one in SCRIPTS})
        self._notes = keys.packing(shard)

    async def take(self, *, limit: int, age_ms: int, lease_ms: int) -> list[Note]:
        """At most `limit` sessions whose note is that old, the oldest first; nobody else gets them while the lease runs.

        Members that name no session are passed.
        """
        found = await self._scripts.run("sink_take", [self._notes], [str(lease_ms), str(limit), str(age_ms)])
        texts = [text_of(item) for item in found]
        notes = [_note(member, score) for member, score in zip(texts[::2], texts[1::2], strict=True)]
        return [note for note in notes if note]

    async def settle(self, note: Note, *, again: bool) -> None:
        """Done with, or noted as if it had been compacted now. One that was compacted since it was taken comes anyway."""
        args = [note.key.member, note.score, "0" if again else ""]
        await self._scripts.run("sink_settle", [self._notes], args)


def _note(member: str, score: str) -> Note | None:
    try:
        return Note(SessionKey.of_member(member), score)
    except InvalidSetting:
        return None
