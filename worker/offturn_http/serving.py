"""The process of `offturn serve`: a socket, uvicorn, the connections, and the way down."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import structlog
import uvicorn

from offturn.connect import open_redis
from offturn.links import Connector
from offturn.stopping import stop
from offturn_config.errors import InvalidSetting
from offturn_config.settings import HttpSettings, load_trigger_settings
from offturn_http.app import application
from offturn_http.keys import StoredKeys
from offturn_http.patience import Patient
from offturn_http.service import Service
from offturn_http.settings import Limits
from offturn_worker.fleet import Fleet
from offturn_worker.logs import unhandled_logged
from offturn_worker.server import FIRST_LOOK_SECONDS, Named, arrived, outages
from offturn_worker.shutdown import stop_on_signal

BACKLOG = 2_048

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Requests are answered at `address`, for who has one of `keys`."""

    address: str
    keys: StoredKeys


def run(settings: HttpSettings, started: Callable[[Serving], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; the second ends the process at once. Raises InvalidSetting where it cannot start."""
    asyncio.run(_until_told(settings, started))


async def _until_told(settings: HttpSettings, started: Callable[[Serving], None] | None) -> None:
    with unhandled_logged(), stop_on_signal() as stop:
        async with service(settings) as (serving, ended):
            if started is not None:
                started(serving)
            asked = asyncio.create_task(stop.wait())
            try:
                await asyncio.wait((asked, ended), return_when=asyncio.FIRST_COMPLETED)
            finally:
                asked.cancel()
    log.info("stopped")


@asynccontextmanager
async def service(settings: HttpSettings) -> AsyncIterator[tuple[Serving, asyncio.Task[None]]]:
    """Serve inside the block, and let running requests end after it; with the task that serves. Raises InvalidSetting."""
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(_listening(settings))
        named = {"store": await _named(stack, settings, settings.store_url, "OFFTURN_STORE_URL")}
        if settings.queue_url and settings.queue_url != settings.store_url:
            named["queue"] = await _named(stack, settings, settings.queue_url, "OFFTURN_QUEUE_URL")
        away = await outages(named, min(FIRST_LOOK_SECONDS, settings.timeout))
        for name, error in away.items():
            named[name].tell(error)
        connector = Connector(settings.store_url, settings.queue_url, settings.timeout, on_outage="raise")
        stack.push_async_callback(connector.close)
        keys, forced = StoredKeys(connector.links), load_trigger_settings().autocompact_pct
        app = application(connector, keys, _limits(settings), autocompact_pct=forced)
        made: Service = app.state.service
        made.fleet = Fleet(named["store"].redis, named.get("queue", named["store"]).redis)
        ready = asyncio.Event()
        server = _Server(_config(app, settings), made, ready)
        arrival = arrived({name: named[name] for name in away}, seconds=settings.timeout, looking=lambda: None)
        running = asyncio.create_task(_serve(server, listener, arrival))
        try:
            await ready.wait()
            serving = Serving(address=_address(listener), keys=keys)
            log.info("serving", address=serving.address)
            yield serving, running
        finally:
            server.should_exit = True
            await running


async def _named(stack: AsyncExitStack, settings: HttpSettings, url: str, setting: str) -> Named:
    redis = await open_redis(url, timeout=settings.timeout, setting=setting)
    stack.push_async_callback(redis.aclose)
    return Named(redis=redis, url=url, setting=setting, holds_queue=False)


async def _serve(server: uvicorn.Server, listener: socket.socket, arrival: Coroutine[None, None, None]) -> None:
    """Until it is asked to stop. Raises InvalidSetting where a server that was away will not do when it is there."""
    serving, looking = asyncio.create_task(server.serve(sockets=[listener])), asyncio.create_task(arrival)
    try:
        await asyncio.wait((serving, looking), return_when=asyncio.FIRST_COMPLETED)
        if looking.done():
            looking.result()
        await serving
    finally:
        server.should_exit = True
        await stop(looking)
        await serving


class _Server(uvicorn.Server):
    """uvicorn's, which ends event streams before it waits for requests, and leaves signals alone."""

    def __init__(self, config: uvicorn.Config, service: Service, ready: asyncio.Event) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._service.tail.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: Any, settings: HttpSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.http_proxies),
        forwarded_allow_ips=settings.http_proxies or "",
        timeout_graceful_shutdown=round(settings.drain_seconds),
        backlog=BACKLOG,
    )


def _limits(settings: HttpSettings) -> Limits:
    return Limits(
        body_bytes=settings.http_body_bytes,
        requests_per_minute=settings.http_requests_per_minute or 0,
        wrong_keys_per_minute=settings.http_wrong_keys_per_minute,
        streams=settings.http_streams,
        streams_per_key=settings.http_streams_per_key,
        handles=settings.http_sessions,
        login_seconds=settings.http_login_seconds,
    )


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@contextmanager
def _listening(settings: HttpSettings) -> Iterator[socket.socket]:
    """Raises InvalidSetting."""
    host, port = settings.http_host, settings.http_port
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise InvalidSetting(
            f"OFFTURN_HTTP_HOST, OFFTURN_HTTP_PORT = {host}:{port}: {error.strerror or type(error).__name__}; "
            "0 takes a free port"
        ) from None
    with listener:
        yield listener
