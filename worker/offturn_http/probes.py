"""`/livez` and `/readyz`, for who runs the process; they tell nothing that a stranger may not know."""

from __future__ import annotations

import asyncio

from redis.exceptions import RedisError
from starlette.requests import Request
from starlette.responses import Response

from offturn_config.errors import OffturnError
from offturn_http.service import service_of
from offturn_http.wire import dumps

SECONDS = 1.0


async def livez(_request: Request) -> Response:
    """200 while the process answers, whatever the store does."""
    return _answer(well=True)


async def readyz(request: Request) -> Response:
    """200 while the store answers and the process takes requests."""
    try:
        async with asyncio.timeout(SECONDS):
            await (await service_of(request).links()).redis.execute_command("PING")  # type: ignore[no-untyped-call]
    except (OffturnError, RedisError, OSError):
        return _answer(well=False)
    return _answer(well=True)


def _answer(*, well: bool) -> Response:
    return Response(dumps({"status": "ok" if well else "failing"}), 200 if well else 503, media_type="application/json")
