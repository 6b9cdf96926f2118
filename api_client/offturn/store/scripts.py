"""The Lua scripts: each is one round trip (EVALSHA) and one atomic step.

A script's text is `lua/lib.lua`, its own file as a function, and `lua/ending.lua`, which calls it: the rules all of them
share exist once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from offturn.store.errors import mapped

NAMES = (
    "record",
    "request",
    "claim",
    "renew",
    "commit",
    "finish",
    "adopt",
    "rollback",
    "mend",
    "undo",
    "configure",
    "cancel",
    "unblock",
    "purge",
    "redact",
    "confirm",
    "save_chunk",
    "unlist",
    "sync",
)


@cache
def texts() -> Mapping[str, str]:
    """Every script by name, ready to send."""
    folder = files("offturn.store") / "lua"

    def text(name: str) -> str:
        return (folder / f"{name}.lua").read_text(encoding="utf-8")

    lib, ending = text("lib"), text("ending")
    return {name: f"{lib}local function script()\n{text(name)}end\n{ending}" for name in NAMES}


class Scripts:
    """Runs scripts by hash and sends the text only to a server that has not seen it. Raises the store's errors."""

    def __init__(self, redis: Redis, texts: Mapping[str, str]) -> None:
        self._redis = redis
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command
        self._texts = {name: text.encode() for name, text in texts.items()}
        self._hashes = {name: sha1(text, usedforsecurity=False).hexdigest() for name, text in self._texts.items()}

    async def run(self, name: str, keys: Sequence[str], args: Sequence[str | bytes]) -> Any:
        """The script's reply as the client returns it: bytes, int, list or None."""
        with mapped():
            try:
                return await self._execute("EVALSHA", self._hashes[name], len(keys), *keys, *args)
            except NoScriptError:
                return await self._execute("EVAL", self._texts[name], len(keys), *keys, *args)

    async def run_and_wait(
        self, name: str, keys: Sequence[str], args: Sequence[str | bytes], *, replicas: int, wait_ms: int
    ) -> int:
        """Run a script, then WAIT for so many replicas; how many have all that the server wrote until then.

        Both on one connection: on one that has written nothing itself WAIT answers at once.
        """
        with mapped():
            pipe = self._redis.pipeline(transaction=False)
            pipe.execute_command("EVAL", self._texts[name], len(keys), *keys, *args)
            pipe.execute_command("WAIT", replicas, wait_ms)
            _, reached = await pipe.execute()
            return int(reached)
