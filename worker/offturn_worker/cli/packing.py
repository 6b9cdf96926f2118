"""`offturn session pack|unpack`: how a session's log is kept. What it says stays the same."""

from __future__ import annotations

from typing import Any

import typer

from offturn import CompactionClient, InvalidSetting
from offturn.links import Links
from offturn.packing import pack_covered
from offturn.packing import unpack as take_apart
from offturn.store.replies import Meta
from offturn_config.keys import SessionKey
from offturn_worker.cli.options import StoreUrl, Tenant
from offturn_worker.cli.output import out, print_json
from offturn_worker.cli.store import AsJson, SessionId, existing, with_links


def pack(session_id: SessionId, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Pack now what the current generation covers. Workers do so by themselves after an hour."""

    async def work(client: CompactionClient, links: Links) -> dict[str, Any]:
        key = (await existing(client, session_id)).key
        await pack_covered(links.store, key, before_ms=await links.store.now_ms())
        return _facts(await _meta(links, key))

    _tell(session_id, with_links(store, tenant, work), as_json)


def unpack(session_id: SessionId, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Take all packs apart, so that releases that know no packs can read the session."""

    async def work(client: CompactionClient, links: Links) -> dict[str, Any]:
        key = (await existing(client, session_id)).key
        await take_apart(links.store, key, await _meta(links, key), down_to=0)
        return _facts(await _meta(links, key))

    _tell(session_id, with_links(store, tenant, work), as_json)


def add_to(app: typer.Typer) -> None:
    """The commands join those that look at sessions."""
    for command in (pack, unpack):
        app.command(command.__name__)(command)


async def _meta(links: Links, key: SessionKey) -> Meta:
    meta = await links.store.meta(key)
    if meta is None:
        raise InvalidSetting(f"session {key.session!r} has ended: see `offturn session list`")
    return meta


def _facts(meta: Meta) -> dict[str, Any]:
    return {"packed": meta.base, "messages": meta.log_len, "bytes": meta.log_bytes, "stored_bytes": meta.stored_bytes}


def _tell(session_id: str, facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(facts)
        return
    how = f"{facts['packed']} of {facts['messages']} messages are packed"
    out.print(f"session {session_id}: {how}, {facts['bytes']} bytes in {facts['stored_bytes']}", markup=False)
