"""The directory of an embedded server: who lives in it, and where that server listens."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from offturn_config.errors import InvalidSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """`server.json`: the server's process, and where it listens."""

    pid: int
    port: int


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """`path` is absolute, exists, and is its user's alone."""

    path: Path

    @classmethod
    def prepared(cls, path: Path) -> DataDirectory:
        """The directory, made where it is missing. Raises InvalidSetting."""
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (path / "server.lock").touch(mode=0o600)
        except OSError as error:
            raise broken(path, f"{error.strerror}: name a directory that can be written") from None
        return cls(path.resolve())

    def lock(self) -> int | None:
        """An open, locked file to hand to a server; None where a server lives."""
        lock = os.open(self.path / "server.lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return None
        return lock

    def use(self) -> int | None:
        """An open file that says, for as long as it is open, that somebody uses the server; None while one is stopped.

        The kernel closes it with its process, however that ends.
        """
        users = os.open(self.path / "users.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(users, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            os.close(users)
            return None
        return users

    def is_last(self, users: int) -> bool:
        """Does nobody else use the server? Then nobody starts to before the file is closed. Ends this use either way."""
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def read(self) -> Record | None:
        """What was written last; None where that cannot be read."""
        try:
            values = json.loads((self.path / "server.json").read_text())
            return Record(pid=int(values["pid"]), port=int(values["port"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, record: Record) -> None:
        """Replace the record in one step."""
        fresh = self.path / f"server.json.{os.getpid()}"
        fresh.write_text(json.dumps(asdict(record)))
        fresh.replace(self.path / "server.json")


def broken(path: Path, problem: str) -> InvalidSetting:
    """An error that names the URL."""
    return InvalidSetting(f"embedded://{path}: {problem}")
