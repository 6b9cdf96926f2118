"""What is left of an archived session in the store, and what can be done with it while it is away."""

from __future__ import annotations

from dataclasses import dataclass

from offturn.store.entries import loads, text_of
from offturn.store.errors import StoreFault, readable
from offturn.store.replies import Gone, Purged, PurgeReply
from offturn.store.scripted import Scripted
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey

VERSION = b"archived"
PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """Of an archived session. `object`: its name in the archive; `at`: since when, ms of Redis TIME; `bytes`: of the object.

    trouble: why the last try to bring it back failed, "" where none did.
    """

    key: SessionKey
    incarnation: int
    object: str
    at: int
    bytes: int
    messages: int
    sha: str
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An archived session as the list of them tells it. `at`: ms of Redis TIME; `bytes`: of its object."""

    key: SessionKey
    object: str
    at: int
    bytes: int
    messages: int


class Stubs(Scripted):
    """The part of the store that hosts and workers need where a session is archived."""

    async def stub(self, key: SessionKey) -> Stub | None:
        """None where the session is not in the archive."""
        found = await self._command("HGETALL", self._key(key, "meta"))
        if found.get(b"v") != VERSION:
            return None
        with readable(f"what is left of archived session {key.session!r}"):
            fields = {text_of(name): text_of(value) for name, value in found.items()}
            return Stub(
                key=key,
                incarnation=int(fields["incarnation"]),
                object=fields["object"],
                at=int(fields["at"]),
                bytes=int(fields["bytes"]),
                messages=int(fields["messages"]),
                sha=fields["sha"],
                trouble=fields.get("trouble", ""),
            )

    async def want(self, key: SessionKey) -> tuple[bool, str]:
        """Make an archived session due for a worker that brings it back.

        Is it archived? And the trouble of the last try where the next one has to wait, "" where it is made at once.
        """
        archived, trouble = await self._scripts.run(
            "archive_want", [self._key(key, "meta"), keys.due(self._shard)], [key.member]
        )
        return bool(archived), text_of(trouble)

    async def purge_archived(self, key: SessionKey, *, incarnation: int) -> PurgeReply:
        """End the life of an archived session; its object is deleted by a worker.

        At once, or by the walk where this user of the server may not touch the lists of the archive.
        """
        own = [self._key(key, "meta"), self._key(key, "life"), keys.due(self._shard), keys.dead(self._shard)]
        lists, args = [keys.archived(self._shard), keys.trash(self._shard)], [key.member, str(incarnation)]
        try:
            replicas = await self._scripts.run("archive_purge", [*own, *lists], args)
        except StoreFault:
            replicas = await self._scripts.run("archive_purge", own, args)
        return Gone() if replicas == -2 else Purged(replicas=replicas)

    async def archived_count(self) -> int:
        """Of all tenants."""
        return int(await self._command("HLEN", keys.archived(self._shard)))

    async def archived(self, tenant: str | None = None, limit: int = 1_000) -> list[Listed]:
        """Archived sessions of a tenant (None: of all), sorted by name; of more than `limit` no matter which."""
        found, cursor = dict[SessionKey, Listed](), -1
        pattern = "*" if tenant is None else f"{tenant}:*"
        while cursor and len(found) < limit:
            cursor, page = await self._command(
                "HSCAN", keys.archived(self._shard), max(cursor, 0), "MATCH", pattern, "COUNT", PAGE
            )
            found.update((one.key, one) for member, value in page.items() if (one := listed(member, value)))
        return sorted(found.values(), key=lambda one: (one.key.tenant, one.key.session))[:limit]


def listed(member: bytes, value: bytes) -> Listed | None:
    """An entry of the list; None for what is none."""
    try:
        key, fields = SessionKey.of_member(text_of(member)), loads(value)
        sizes = {name: int(fields[name]) for name in ("at", "bytes", "messages")}
        return Listed(key=key, object=str(fields["object"]), **sizes)
    except (ValueError, KeyError, TypeError, InvalidSetting):
        return None
