"""The Lua scripts: each is one round trip (EVALSHA) and one atomic step.

A script's text is `lua/lib.lua` and `lua/due.lua`, its own file as a function, and `lua/ending.lua`, which calls it: the
rules all of them share exist once. A server makes each function anew at each call, so a text has those that it uses; and
it looks for what a function refers to in a list, which is short where that stands in a function around this one: so all
functions stand in one, behind the values they share. Those of the archive work on stubs, which these rules refuse, and
stand alone.
"""

from __future__ import annotations

import re
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
    "slice",
    "pack",
    "unpack",
)

OF_THE_ARCHIVE = (
    "archive_evict",
    "archive_restore",
    "archive_want",
    "archive_trouble",
    "archive_purge",
    "archive_forget",
    "archive_trash",
    "archive_walk",
    "tenant_forget",
)


_FUNCTION = re.compile(r"^local function (\w+)\((?:[^\n]*\bend|[^\n]*\n.*?^end)$\n", re.MULTILINE | re.DOTALL)
_NO_CODE, _WORD = re.compile(r"--.*|'[^'\n]*'"), re.compile(r"(?<![\w.])[A-Za-z_]\w*")


@cache
def texts() -> Mapping[str, str]:
    """Every script by name, ready to send."""
    folder = files("offturn.store") / "lua"

    def text(name: str) -> str:
        return (folder / f"{name}.lua").read_text(encoding="utf-8")

    shared, ending = text("lib") + text("due"), text("ending")

    def whole(name: str) -> str:
        own = f"local function script()\n{text(name)}end\n{ending}"
        values, rules = _FUNCTION.sub("", shared), _as_used(shared, own)
        return f"{values}\nlocal function all()\n{rules}{own}end\nreturn all()\n"

    return {name: whole(name) for name in NAMES} | {name: text(name) for name in OF_THE_ARCHIVE}


def _as_used(shared: str, own: str) -> str:
    """Those of the shared functions that this script calls, or one that it calls does."""
    functions = {found[1]: found[0] for found in _FUNCTION.finditer(shared)}
    kept: set[str] = set()
    calling = [own]
    while calling:
        words = set(_WORD.findall(_NO_CODE.sub("", calling.pop())))
        for name in words & functions.keys() - kept:
            kept.add(name)
            calling.append(functions[name])
    return "".join(functions[name] for name in functions if name in kept)


class Scripts:
    """Runs scripts by hash and sends the text only to a server that has not seen it. Raises the store's errors."""

    def __init__(self, redis: Redis, texts: Mapping[str, str]) -> None:
        self._redis = redis
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command
        self._texts = {name: text.encode() for name, text in texts.items()}
        self._hashes = {name: sha1(text, usedforsecurity=False).hexdigest() for name, text in self._texts.items()}

    async def run(self, name: str, keys: Sequence[str], args: Sequence[str | bytes | memoryview]) -> Any:
        """The script's reply as the client returns it: bytes, int, list or None."""
        with mapped():
            try:
                return await self._execute("EVALSHA", self._hashes[name], len(keys), *keys, *args)
            except NoScriptError:
                return await self._execute("EVAL", self._texts[name], len(keys), *keys, *args)

    async def run_and_wait(
        self,
        name: str,
        keys: Sequence[str],
        args: Sequence[str | bytes | memoryview],
        *,
        replicas: int,
        wait_ms: int,
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
