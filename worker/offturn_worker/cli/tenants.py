"""`offturn tenant ...`: what tenants take, and what they may take."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from offturn import CompactionClient
from offturn.links import Links
from offturn.store.sessions import SessionStore
from offturn.store.tenants import Tenants, TenantUsage
from offturn_config.errors import InvalidSetting
from offturn_config.settings import load_worker_settings
from offturn_worker.archive.objects import Objects
from offturn_worker.cli.options import StoreUrl
from offturn_worker.cli.output import out, print_json, print_table, say
from offturn_worker.cli.store import AsJson, with_links
from offturn_worker.exporting import Exported, export_tenant

T = TypeVar("T")

TenantName = Annotated[str, typer.Argument(help="Whose sessions: 1 to 64 of a-z, 0-9, _ and -.")]

COLUMNS = ("tenant", "sessions", "bytes", "archived_sessions", "archived_bytes", "quota_sessions", "quota_bytes")
SIZE = re.compile(r"(\d{1,15})([kMGT]?)B?\Z")
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

typer_app = typer.Typer(help="Show what tenants take, and set their quotas.", no_args_is_help=True)


@typer_app.command("list")
def list_tenants(store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Every tenant: sessions, bytes of their logs, what is in the archive, quotas."""

    async def work(tenants: Tenants) -> list[TenantUsage]:
        return [await tenants.usage(name) for name in await tenants.names()]

    _print(_with_tenants(store, work), as_json)


@typer_app.command("show")
def show(tenant: TenantName, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """One tenant."""
    found = _with_tenants(store, lambda tenants: tenants.usage(tenant))
    if as_json:
        print_json(asdict(found))
    else:
        print_table(("field", "value"), [(name, _shown(value)) for name, value in asdict(found).items()])


@typer_app.command("quota")
def quota(
    tenant: TenantName,
    size: Annotated[str | None, typer.Option("--bytes", help="Of all logs: 500M, 10G, or a number.")] = None,
    sessions: Annotated[int | None, typer.Option("--sessions", min=1, help="In the store at a time.")] = None,
    none: Annotated[bool, typer.Option("--none", help="No quota at all.")] = False,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """What a tenant's sessions may take. What is not named stays as it is; what is there already stays too."""
    given = None if size is None else bytes_of(size)
    if none is (size is not None or sessions is not None):
        raise InvalidSetting("give --bytes, --sessions or both, or --none alone")

    async def work(tenants: Tenants) -> TenantUsage:
        known = await tenants.usage(tenant)
        kept = (None, None) if none else (known.quota_bytes, known.quota_sessions)
        await tenants.limit(tenant, bytes=given or kept[0], sessions=sessions or kept[1])
        return await tenants.usage(tenant)

    found = _with_tenants(store, work)
    if as_json:
        print_json(asdict(found))
        return
    told = f"{_shown(found.quota_bytes)} bytes, {_shown(found.quota_sessions)} sessions"
    out.print(f"tenant {tenant}: {told} at most; it has {found.bytes:,} and {found.sessions:,}", markup=False)


@typer_app.command("export")
def export(
    tenant: TenantName,
    folder: Annotated[Path, typer.Argument(help="Where the files are, or will be.")],
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Every session of a tenant as a file of JSON lines, archived ones too. Again, it writes what has changed since."""
    url = load_worker_settings().archive_url
    objects = Objects(url) if url else None

    async def run(_: CompactionClient, links: Links) -> Exported:
        return await export_tenant(SessionStore(links.redis), tenant, folder, objects)

    done = with_links(store, tenant, run)
    if as_json:
        print_json(asdict(done))
    else:
        told = f"{done.written:,} sessions written, {done.unchanged:,} were there already"
        out.print(f"tenant {tenant}: {told}", markup=False)
    for name, why in done.failed.items():
        say(f"session {name}: left out: {why}")
    if done.failed:
        raise typer.Exit(1)


def bytes_of(text: str) -> int:
    """`10G` as a number, by powers of 1,000. Raises InvalidSetting."""
    match = SIZE.match(text)
    if match is None or int(match[1]) == 0:
        raise InvalidSetting(f"--bytes {text!r:.40}: use a number above 0, with k, M, G or T behind it if you like")
    return int(match[1]) * UNITS[match[2]]


def _with_tenants(store: str | None, work: Callable[[Tenants], Awaitable[T]]) -> T:
    async def run(_: CompactionClient, links: Links) -> T:
        return await work(Tenants(links.redis))

    return with_links(store, None, run)


def _print(rows: list[TenantUsage], as_json: bool) -> None:
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    print_table(COLUMNS, [[_shown(asdict(row)[name]) for name in COLUMNS] for row in rows])


def _shown(value: object) -> object:
    return "no limit" if value is None else f"{value:,}" if isinstance(value, int) else value
