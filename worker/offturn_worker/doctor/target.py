"""A server to look at: its address, how it is shown, and the commands that reach it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from offturn.embedded_directory import DataDirectory
from offturn_config.urls import StoreUrl, parse_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`role` is store or queue; `option` names the server to a command, "" where the settings do. No secret is shown."""

    role: str
    url: str = field(repr=False)
    address: StoreUrl
    variable: str
    given: bool

    @classmethod
    def of(cls, role: str, url: str, *, given: bool) -> Target:
        """`given`: by an option. Raises InvalidSetting."""
        variable = f"OFFTURN_{role.upper()}_URL"
        return cls(role=role, url=url, address=parse_url(url, variable), variable=variable, given=given)

    @property
    def shown(self) -> str:
        return str(self.address)

    @property
    def tls(self) -> bool:
        """Is it spoken to in TLS?"""
        return self.address.scheme == "rediss"

    @property
    def option(self) -> str:
        return f" --store {shlex.quote(self.shown)}" if self.given else ""

    @property
    def cli(self) -> str:
        """redis-cli with this server; a password stays in its variable."""
        address = self.running
        if address is None:
            return "redis-cli"
        if address.scheme == "unix":
            return f"redis-cli -s {shlex.quote(address.path)}"
        if address.scheme not in ("redis", "rediss"):
            return "redis-cli -h HOST"  # sentinels know which
        if address.password and not self.given:
            return f'redis-cli -u "${self.variable}"'
        return f"redis-cli -u {shlex.quote(str(address))}"

    @property
    def running(self) -> StoreUrl | None:
        """Where it listens; an embedded one is not started for a look. None: there is none."""
        if self.address.scheme != "embedded":
            return self.address
        record = DataDirectory(self.directory).read()
        return None if record is None else StoreUrl(scheme="redis", host="127.0.0.1", port=record.port)

    @property
    def directory(self) -> Path:
        """Of an embedded server."""
        return Path(self.address.path).resolve()
