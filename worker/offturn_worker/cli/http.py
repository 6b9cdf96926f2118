"""`offturn serve` and `offturn keys ...`: the HTTP service, and who may ask it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from offturn import CompactionClient
from offturn.links import Links
from offturn_config.errors import InvalidSetting
from offturn_config.settings import load_client_settings, load_http_settings
from offturn_worker.cli.options import StoreUrl, Tenant, named_as_given
from offturn_worker.cli.output import out, print_json, print_table, say, when
from offturn_worker.cli.store import AsJson, with_links
from offturn_worker.logs import configure_logging

if TYPE_CHECKING:
    from offturn_http.keys import StoredKeys
    from offturn_http.serving import Serving

T = TypeVar("T")

COLUMNS = ("id", "tenant", "role", "made", "label")

typer_app = typer.Typer(help="Make, list and remove API keys of the HTTP service.", no_args_is_help=True)


def serve(
    store: StoreUrl = None,
    host: Annotated[str | None, typer.Option(help="Address; else OFFTURN_HTTP_HOST, else 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Else OFFTURN_HTTP_PORT, else 8700; 0: a free one.")] = None,
) -> None:
    """Serve the HTTP API until SIGTERM or Ctrl-C. Settings: OFFTURN_* variables, see docs/settings.md."""
    from offturn_http.serving import run

    with named_as_given(store_url=store):
        settings = load_http_settings(store_url=store, http_host=host, http_port=port)
    configure_logging(level=settings.log_level, style=settings.log_format)

    def started(serving: Serving) -> None:
        out.print(serving.address, markup=False)
        say(f"the page is at {serving.address}, what may be asked is in {serving.address}/openapi.json")
        say("`offturn keys add` makes a key for either; `offturn worker` compacts, this process does not")

    run(settings, started)


@typer_app.command("add")
def add(
    role: Annotated[str, typer.Option(help="host, reader or operator.")] = "host",
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    tenant: Tenant = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make a key for a tenant. It is shown this once: the store keeps a digest only."""
    with named_as_given(tenant=tenant):
        whose = load_client_settings(tenant=tenant).tenant
    key, facts = _with_keys(store, lambda keys: keys.add(whose, role, label), create=True)
    if as_json:
        print_json({"key": key, **asdict(facts)})
        return
    out.print(key, markup=False)
    say(f"key {facts.id} of tenant {facts.tenant}, role {facts.role}; it is not shown again")


@typer_app.command("list")
def list_keys(store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Every key, without its secret."""
    found = _with_keys(store, lambda keys: keys.every())
    if as_json:
        print_json([asdict(one) for one in found])
        return
    print_table(COLUMNS, [(one.id, one.tenant, one.role, when(one.created * 1000), one.label) for one in found])


@typer_app.command("remove")
def remove(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `offturn keys list` shows it.")],
    store: StoreUrl = None,
) -> None:
    """Take a key away. Requests with it, and browsers signed in with it, are refused within seconds."""
    if not _with_keys(store, lambda keys: keys.remove(key_id)):
        raise InvalidSetting(f"key {key_id!r:.40} does not exist: see `offturn keys list`")
    out.print(f"key {key_id}: removed", markup=False)


def _with_keys(store: str | None, work: Callable[[StoredKeys], Awaitable[T]], *, create: bool = False) -> T:
    from offturn_http.keys import StoredKeys

    async def run(_: CompactionClient, links: Links) -> T:
        async def opened() -> Links:
            return links

        return await work(StoredKeys(opened))

    return with_links(store, None, run, create=create)
