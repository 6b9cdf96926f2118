"""API keys and browsers' logins, as the store keeps them. A key is shown once, when it is made: the store has digests only."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex, token_urlsafe
from typing import Any, get_args

import orjson

from offturn.links import Links
from offturn.store.entries import text_of
from offturn.store.errors import mapped
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_http.auth import Caller, Role

_KEY = re.compile(r"offturn_([0-9a-f]{12})_([A-Za-z0-9_-]{43})\Z")
ROLES: tuple[Role, ...] = get_args(Role)
NOBODY = sha256(b"no key").hexdigest()
FRESH_SECONDS = 5.0  # that a key is believed without asking: so long a removed one may still be used
REMEMBERED = 10_000
LONGEST_LABEL = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFacts:
    """A key without its secret. `created`: seconds since the epoch; `label`: what its maker wrote on it."""

    id: str
    tenant: str
    role: Role
    created: int
    label: str


@dataclass(slots=True)
class StoredKeys:
    """Every method may raise what the store raises."""

    links: Callable[[], Awaitable[Links]]
    _known: OrderedDict[str, tuple[float, Caller]] = field(default_factory=OrderedDict)

    async def add(self, tenant: str, role: str, label: str = "") -> tuple[str, KeyFacts]:
        """A new key, and what is kept of it. Raises InvalidSetting."""
        checked = next((one for one in ROLES if one == role), None)
        if checked is None:
            raise InvalidSetting(f"role {role!r:.40}: use host, reader or operator")
        if len(label) > LONGEST_LABEL:
            raise InvalidSetting(f"label of {len(label)} characters: use at most {LONGEST_LABEL}")
        name, secret, now = token_hex(6), token_urlsafe(32), int(time.time())
        facts = KeyFacts(id=name, tenant=SessionKey(tenant, "x").tenant, role=checked, created=now, label=label)
        record = {"tenant": tenant, "role": role, "created": now, "label": label, "sha256": _digest(secret)}
        await self._ask("HSET", keys.api_keys(), name, orjson.dumps(record))
        return f"offturn_{name}_{secret}", facts

    async def every(self) -> list[KeyFacts]:
        """All keys, the oldest first."""
        found = [_facts(text_of(name), value) for name, value in (await self._ask("HGETALL", keys.api_keys())).items()]
        return sorted((one for one in found if one is not None), key=lambda one: (one.created, one.id))

    async def remove(self, name: str) -> bool:
        """Was there such a key? It, and the logins made with it, end within seconds, in every process."""
        return bool(await self._ask("HDEL", keys.api_keys(), name))

    def has_been_right(self, given: str) -> bool:
        """Was this a key or a login when this process looked it up last? Without a look at the store."""
        digest = _digest(given)
        return f"key:{digest}" in self._known or f"login:{digest}" in self._known

    async def caller(self, key: str) -> Caller | None:
        """Whose key it is; None where it is none."""
        match = _KEY.match(key)
        if match is None:
            return None
        return await self._remembered(f"key:{_digest(key)}", lambda: self._checked(match[1], match[2]))

    async def sign_in(self, key: str, seconds: int) -> str | None:
        """A token for a browser; None where the key is none."""
        caller = await self.caller(key)
        if caller is None:
            return None
        token = token_urlsafe(32)
        await self._ask("SET", keys.login(_digest(token)), caller.key, "EX", seconds)
        return token

    async def signed_in(self, token: str) -> Caller | None:
        """Whose login it is; None where it is none or has ended."""
        digest = _digest(token)
        return await self._remembered(f"login:{digest}", lambda: self._of_login(digest))

    async def sign_out(self, token: str) -> None:
        """End a login."""
        self._known.pop(f"login:{_digest(token)}", None)
        await self._ask("DEL", keys.login(_digest(token)))

    async def _checked(self, name: str, secret: str) -> Caller | None:
        """In the same time for a key that is not there as for one with another secret."""
        record = _record(await self._ask("HGET", keys.api_keys(), name))
        known = compare_digest(_digest(secret), record["sha256"] if record else NOBODY)
        return Caller(record["tenant"], record["role"], name) if record and known else None

    async def _of_login(self, digest: str) -> Caller | None:
        name = await self._ask("GET", keys.login(digest))
        record = name and _record(await self._ask("HGET", keys.api_keys(), name))
        return Caller(record["tenant"], record["role"], text_of(name)) if record else None

    async def _remembered(self, name: str, ask: Callable[[], Awaitable[Caller | None]]) -> Caller | None:
        known, now = self._known.get(name), time.monotonic()
        if known is not None and known[0] > now:
            return known[1]
        found = await ask()
        if found is None:
            self._known.pop(name, None)
            return None
        self._known[name] = (now + FRESH_SECONDS, found)
        self._known.move_to_end(name)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return found

    async def _ask(self, *command: Any) -> Any:
        links = await self.links()
        with mapped():
            return await links.redis.execute_command(*command)  # type: ignore[no-untyped-call]


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _record(value: bytes | None) -> dict[str, Any] | None:
    """None for what no release has written."""
    try:
        record: dict[str, Any] = orjson.loads(value or b"null")
        return record if {"tenant", "role", "sha256"} <= record.keys() and record["role"] in ROLES else None
    except (ValueError, AttributeError, TypeError):
        return None


def _facts(name: str, value: bytes) -> KeyFacts | None:
    record = _record(value)
    if record is None:
        return None
    told = {part: record[part] for part in ("tenant", "role")}
    return KeyFacts(id=name, created=record.get("created", 0), label=record.get("label", ""), **told)
