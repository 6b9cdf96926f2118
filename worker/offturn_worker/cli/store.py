"""The store a command works on: `--store`, else OFFTURN_STORE_URL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from offturn import CompactionClient, Session, StoreUnavailable
from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.links import Connector, Links
from offturn.store.errors import NotConfirmed
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_config.settings import load_client_settings
from offturn_config.urls import parse_url, redacted
from offturn_worker.cli.options import named_as_given

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="One JSON value.")]
SessionId = Annotated[str, typer.Argument(help="The session's id.")]


def with_client(
    store: str | None, tenant: str | None, work: Callable[[CompactionClient], Awaitable[T]], *, create: bool = False
) -> T:
    """Run `work` with a client that is closed afterwards. `create`: an embedded store may be made. Raises InvalidSetting."""

    async def run(client: CompactionClient, _: Connector) -> T:
        return await work(client)

    return _with(store, tenant, run, create)


def with_links(
    store: str | None,
    tenant: str | None,
    work: Callable[[CompactionClient, Links], Awaitable[T]],
    *,
    create: bool = False,
) -> T:
    """The same with the client's connections, for what its public methods do not do."""

    async def run(client: CompactionClient, connector: Connector) -> T:
        return await work(client, await connector.links())

    return _with(store, tenant, run, create)


def _with(
    store: str | None,
    tenant: str | None,
    work: Callable[[CompactionClient, Connector], Awaitable[T]],
    create: bool,
) -> T:
    with named_as_given(store_url=store, tenant=tenant):
        settings = load_client_settings(store_url=store, tenant=tenant)
        if not create:
            _refuse_missing(settings.store_url)

    async def run() -> T:
        # A command that ends keeps nothing for later.
        connector = Connector(settings.store_url, settings.queue_url, settings.timeout, on_outage="raise")
        async with CompactionClient(connector, settings.tenant) as client:
            return await work(client, connector)

    try:
        return asyncio.run(run())
    except NotConfirmed:
        raise
    except StoreUnavailable as error:
        where = redacted(settings.store_url)
        raise InvalidSetting(f"store {where!r}: {error}; start it, or name another with --store") from None


def _refuse_missing(store_url: str) -> None:
    """Looking at an embedded store that is not there must not make one."""
    address = parse_url(store_url)
    if address.scheme == "embedded" and not (Path(address.path) / "server.lock").exists():
        raise InvalidSetting(f"OFFTURN_STORE_URL = {str(address)!r}: no store is there: name the folder of one")


async def existing(client: CompactionClient, session_id: str) -> Session:
    """A handle of a session that exists, with the format it was recorded in. Raises InvalidSetting."""
    config = await client.stored_config(session_id)
    if config is None:
        raise _no_session(session_id)
    return client.session(
        session_id, format=config.format, window=config.window, max_output=config.max_output, model=config.model
    )


async def whole(links: Links, key: SessionKey) -> Cache:
    """All of a session as it is stored; `opened` are its own settings. Raises InvalidSetting where it does not exist."""
    meta = await links.store.meta(key)
    if meta is None:
        raise _no_session(key.session)
    config = SessionConfig.from_json(meta.config)
    cache = Cache(links.store, key, config.fmt, config)
    await cache.refresh()
    return cache


def _no_session(session_id: str) -> InvalidSetting:
    return InvalidSetting(f"session {session_id!r} does not exist: see `offturn session list`")
