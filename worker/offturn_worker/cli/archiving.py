"""`offturn session archive` and `restore`, and the list of what is in the archive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import typer

from offturn import CompactionClient
from offturn.bringing import LOST
from offturn.links import Links
from offturn.store.archiving import ArchiveStore
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_config.settings import load_worker_settings
from offturn_worker.archive.keeping import Keeper, Kept
from offturn_worker.archive.objects import ArchiveError, Objects
from offturn_worker.cli.options import StoreUrl, Tenant
from offturn_worker.cli.output import out, print_json, print_table, when
from offturn_worker.cli.store import AsJson, SessionId, with_links

T = TypeVar("T")

NO_ARCHIVE = (
    "OFFTURN_ARCHIVE_URL is not set: where archived sessions are kept, such as file:///var/offturn or s3://bucket"
)
STAYS = {
    "changed": "it was written to meanwhile, so it is in use",
    "running": "a job runs on it; try again when it has ended",
    "due": "work is due on it; try again when that is done (`offturn session list`)",
    "late": "writing it took more than an hour; nothing was changed",
    "archived": "it is in the archive already",
}


def archive(session_id: SessionId, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Move a session from the store into the archive now, however short it has rested. A host's next call brings it back."""

    async def work(keeper: Keeper, key: SessionKey) -> dict[str, Any]:
        kept = await keeper.archive(key)
        if kept == "gone":
            raise InvalidSetting(f"session {session_id!r} does not exist: see `offturn session list`")
        if not isinstance(kept, Kept):
            raise InvalidSetting(f"session {session_id!r}: {STAYS[kept]}")
        return {"session": session_id, "messages": kept.messages, "bytes": kept.bytes}

    facts = _with_keeper(store, tenant, session_id, work)
    if as_json:
        print_json(facts)
    else:
        told = f"session {session_id}: {facts['messages']:,} messages are in the archive, {facts['bytes']:,} bytes"
        out.print(told, markup=False)


def restore(session_id: SessionId, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Bring a session back from the archive into the store, as a host's next call would."""

    async def work(keeper: Keeper, key: SessionKey) -> bool:
        try:
            return await keeper.restore(key)
        except ArchiveError as error:
            if error.trouble not in LOST or (stub := await keeper.store.stub(key)) is None:
                raise
            lost = LOST[error.trouble].format(stub.object)
            raise InvalidSetting(f"session {session_id!r}: {lost} (`offturn session purge`)") from None

    if not _with_keeper(store, tenant, session_id, work):
        raise InvalidSetting(f"session {session_id!r} is not in the archive: see `offturn session list --archived`")
    if as_json:
        print_json({"session": session_id, "restored": True})
    else:
        out.print(f"session {session_id}: is back in the store", markup=False)


def list_archived(store: str | None, tenant: str | None, as_json: bool) -> None:
    """What of the tenant is in the archive."""

    async def work(client: CompactionClient, links: Links) -> list[dict[str, Any]]:
        found = await links.store.archived(client.tenant)
        return [
            {
                "session": one.key.session,
                "at": one.at,
                "messages": one.messages,
                "bytes": one.bytes,
                "object": one.object,
            }
            for one in found
        ]

    rows = with_links(store, tenant, work)
    if as_json:
        print_json(rows)
        return
    columns = ("session", "archived", "messages", "bytes", "object")
    print_table(columns, [[row["session"], when(row["at"]), *(row[name] for name in columns[2:])] for row in rows])


def add_to(app: typer.Typer) -> None:
    """The commands join those that look at sessions."""
    for command in (archive, restore):
        app.command(command.__name__)(command)


def _with_keeper(
    store: str | None, tenant: str | None, session_id: str, work: Callable[[Keeper, SessionKey], Awaitable[T]]
) -> T:
    url = load_worker_settings().archive_url
    if url is None:
        raise InvalidSetting(NO_ARCHIVE)
    objects = Objects(url)

    async def run(client: CompactionClient, links: Links) -> T:
        return await work(Keeper(ArchiveStore(links.redis), objects), SessionKey(client.tenant, session_id))

    return with_links(store, tenant, run)
