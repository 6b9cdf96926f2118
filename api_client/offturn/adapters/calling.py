"""Sessions of either kind, `offturn`'s and `offturn.sync`'s, called from a framework's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, TypeAlias

from offturn import sync
from offturn.session import Session

Opened: TypeAlias = Session | sync.Session


async def done(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a session's method returns; one that blocks is called in a thread."""
    if iscoroutinefunction(method):
        return await method(*args, **kwargs)
    return await asyncio.to_thread(method, *args, **kwargs)
