"""Where a store or queue lives: `redis://`, `rediss://`, `unix://` and `embedded://` URLs as a value.

Parsed here and not by arq or redis-py: arq leaves passwords percent-encoded and prints them, both leave the host name
of a TLS server unchecked by default, redis-py ignores a database that is not a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from offturn_config.errors import InvalidSetting

Scheme = Literal["redis", "rediss", "unix", "embedded"]

_SCHEMES = ("redis", "rediss", "unix", "embedded")
_PLAIN = re.compile(r"[\w.\-\[\]:~/ ]*\Z")
_SECRET_PORT = re.compile(r"^:|:[^/\]]*[^\d/\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUrl:
    """A parsed URL. `path` is a socket's or a data directory's; `str` and `repr` never show user or password."""

    scheme: Scheme
    host: str = ""
    port: int = 6379
    path: str = ""
    db: int = 0
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        if self.scheme == "embedded":
            return f"embedded://{self.path}"
        if self.scheme == "unix":
            return f"unix://{self.path}?db={self.db}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}/{self.db}"


def parse_url(url: str, setting: str = "OFFTURN_STORE_URL") -> StoreUrl:
    """The URL as a value. Raises InvalidSetting naming `setting`, the URL without secrets, and the remedy."""
    scheme, _, rest = url.partition("://")
    if scheme == "embedded":
        return _embedded(rest, setting)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad(setting, url, "the host or port cannot be read: percent-encode / ? # @ in a password") from None
    if parts.scheme not in _SCHEMES or "://" not in url:
        raise _bad(setting, url, "use redis://, rediss://, unix:// or embedded://PATH")
    if parts.fragment or "@" in parts.path or "@" in parts.query:
        raise _bad(setting, url, "percent-encode / ? # @ in the user and password")
    if parts.scheme == "unix":
        return _unix(parts, url, setting)
    return StoreUrl(
        scheme=cast("Scheme", parts.scheme),
        host=unquote(parts.hostname or "localhost"),
        port=6379 if port is None else port,
        db=_db(parts, parts.path.strip("/"), url, setting),
        username=_decoded(parts.username),
        password=_decoded(parts.password),
    )


def redacted(url: str) -> str:
    """The URL as text for a message: everything before the last @, and whatever could be a password, is `***`."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    before, at, shown = rest.rpartition("@")
    shown = shown.partition("?")[0]
    if not _PLAIN.match(shown) or _SECRET_PORT.search(shown):
        shown = "***"
    return f"{scheme}{separator}{'***' if before else ''}{at}{shown}"


def _embedded(path: str, setting: str) -> StoreUrl:
    if not path or "\0" in path or "\n" in path:
        raise InvalidSetting(f"{setting} = 'embedded://': name a directory, as in embedded://~/.local/share/offturn")
    return StoreUrl(scheme="embedded", host="127.0.0.1", path=str(Path(path).expanduser()))


def _unix(parts: SplitResult, url: str, setting: str) -> StoreUrl:
    path = unquote(parts.path)
    if not path or parts.hostname:
        raise _bad(setting, url, "give the socket's absolute path, as in unix:///run/redis.sock?db=0")
    return StoreUrl(
        scheme="unix",
        path=path,
        db=_db(parts, "", url, setting),
        username=_decoded(parts.username),
        password=_decoded(parts.password),
    )


def _db(parts: SplitResult, path: str, url: str, setting: str) -> int:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    text = options.pop("db", None) or path or "0"
    if options:
        raise _bad(setting, url, f"the option {next(iter(options))!r} is not read: only ?db=N is")
    if not text.isascii() or not text.isdigit():
        raise _bad(setting, url, "the database must be a number, as in redis://localhost:6379/0")
    return int(text)


def _decoded(text: str | None) -> str | None:
    return unquote(text) if text else None


def _bad(setting: str, url: str, remedy: str) -> InvalidSetting:
    return InvalidSetting(f"{setting} = {redacted(url)!r}: {remedy}")
