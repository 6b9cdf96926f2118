"""Where a store or queue lives: `redis://`, `rediss://`, `sentinel://`, `unix://` and `embedded://` URLs as a value.

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

Scheme = Literal["redis", "rediss", "sentinel", "unix", "embedded"]

SENTINEL_PORT = 26379

_SCHEMES = ("redis", "rediss", "unix")
_PLAIN = re.compile(r"[\w.\-\[\]:~/ ]*\Z")
_SECRET_PORT = re.compile(r"^:|:[^/\]]*[^\d/\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUrl:
    """A parsed URL. `path` is a socket's or a data directory's; `str` and `repr` never show user or password.

    `sentinels`: host and port of each; `service`: what they call the server. User and password are the server's.
    """

    scheme: Scheme
    host: str = ""
    port: int = 6379
    path: str = ""
    db: int = 0
    sentinels: tuple[tuple[str, int], ...] = ()
    service: str = ""
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        if self.scheme == "embedded":
            return f"embedded://{self.path}"
        if self.scheme == "unix":
            return f"unix://{self.path}?db={self.db}"
        if self.scheme == "sentinel":
            return f"sentinel://{','.join(_address(*one) for one in self.sentinels)}/{self.service}/{self.db}"
        return f"{self.scheme}://{_address(self.host, self.port)}/{self.db}"


def parse_url(url: str, setting: str = "OFFTURN_STORE_URL") -> StoreUrl:
    """The URL as a value. Raises InvalidSetting naming `setting`, the URL without secrets, and the remedy."""
    if not isinstance(cast("object", url), str):
        raise InvalidSetting(f"{setting}: a {type(url).__name__} is no URL: use text such as redis://localhost:6379/0")
    scheme, _, rest = url.partition("://")
    if scheme == "embedded":
        return _embedded(rest, setting)
    if scheme == "sentinel":
        return _sentinel(rest, url, setting)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad(setting, url, "the host or port cannot be read: percent-encode / ? # @ in a password") from None
    if parts.scheme not in _SCHEMES or "://" not in url:
        raise _bad(setting, url, "use redis://, rediss://, sentinel://, unix:// or embedded://PATH")
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
    hosts = shown.split(",") if scheme == "sentinel" else [shown]
    if any(not _PLAIN.match(host) or _SECRET_PORT.search(host) for host in hosts):
        shown = "***"
    return f"{scheme}{separator}{'***' if before else ''}{at}{shown}"


def _embedded(path: str, setting: str) -> StoreUrl:
    if not path or "\0" in path or "\n" in path:
        raise InvalidSetting(f"{setting} = 'embedded://': name a directory, as in embedded://~/.local/share/offturn")
    return StoreUrl(scheme="embedded", host="127.0.0.1", path=str(Path(path).expanduser()))


def _sentinel(rest: str, url: str, setting: str) -> StoreUrl:
    """`[user:password@]host[:port],...` and `/service[/db]`."""
    place, _, path = rest.partition("/")
    before, _, hosts = place.rpartition("@")
    user, _, password = before.partition(":")
    if any(mark in path for mark in "?#@"):
        raise _bad(setting, url, "percent-encode / ? # @ in the user and password; no option is read")
    service, _, db = path.partition("/")
    if not service or not hosts:
        raise _bad(
            setting, url, "name the sentinels and the service, as in sentinel://host1:26379,host2:26379/mymaster/0"
        )
    if db and not (db.isascii() and db.isdigit()):
        raise _bad(setting, url, "the database must be a number, as in sentinel://host:26379/mymaster/0")
    try:
        parts = [urlsplit(f"//{host}") for host in hosts.split(",")]
        sentinels = tuple((part.hostname or "", SENTINEL_PORT if part.port is None else part.port) for part in parts)
    except ValueError:
        raise _bad(setting, url, "a sentinel's host or port cannot be read") from None
    if not all(host for host, _ in sentinels):
        raise _bad(setting, url, "a sentinel's host is missing")
    return StoreUrl(
        scheme="sentinel",
        sentinels=sentinels,
        service=unquote(service),
        db=int(db or 0),
        username=_decoded(user),
        password=_decoded(password),
    )


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


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
