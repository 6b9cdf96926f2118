"""`offturn.sync`: the async client on one background thread; the same methods, from any thread, and across a fork."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from redis import Redis

import offturn
from offturn import Compacted, Refused, StoreUnavailable, View, background, sync, writing_back
from offturn.courier import Courier
from offturn.embedded_port import free_port
from offturn.errors import Closed
from offturn.outbox import Outbox
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from tests.conftest import TIMEOUT
from tests.integration.host import human, says, turns

FMT = "openai-chat"
WINDOW = 16_000
PAIRS = [
    (offturn.Session, sync.Session),
    (offturn.CompactionClient, sync.CompactionClient),
    (offturn.Ticket, sync.Ticket),
    (offturn.WriteBack, sync.WriteBack),
    (offturn.RecallTool, sync.RecallTool),
]


@pytest.fixture
def blocking(valkey_url: str) -> Iterator[sync.CompactionClient]:
    """A client of an empty store, in a test without an event loop of its own."""
    with Redis.from_url(valkey_url) as redis:
        redis.flushall()
    with sync.CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client:
        yield client


def public(kind: type) -> dict[str, Any]:
    return {
        name: member
        for name, member in inspect.getmembers(kind, callable)
        if not name.startswith("_") and name != "start"
    }


@pytest.mark.parametrize(("aio", "blocks"), PAIRS, ids=[pair[0].__name__ for pair in PAIRS])
def test_every_method_is_there_with_the_same_parameters(aio: type, blocks: type) -> None:
    theirs, ours = public(aio), public(blocks)
    fields = getattr(aio, "__dataclass_fields__", {})
    assert set(theirs) - set(fields) == set(ours) - set(fields)
    for name, method in ours.items():
        assert not inspect.iscoroutinefunction(method)
        assert list(inspect.signature(method).parameters.values()) == list(
            inspect.signature(theirs[name]).parameters.values()
        ), name


def test_fields_of_a_record_are_the_same() -> None:
    assert list(sync.Recorded.__dataclass_fields__) == list(offturn.Recorded.__dataclass_fields__)


def test_a_blocking_host_records_compacts_and_views(blocking: sync.CompactionClient) -> None:
    session = blocking.session("chat", format=FMT, window=WINDOW)
    told = session.record(turns(FMT, 20))
    assert (told.first_seq, told.last_seq, told.requirement) == (0, 79, "soft")
    assert told.ticket is not None
    [outcome] = blocking.run_due(summarizer=FakeSummarizer())
    assert told.ticket.wait(TIMEOUT) == outcome
    view = session.view()

    assert isinstance(outcome, Compacted)
    assert (view.kind, view.generation) == ("compacted", 1)
    assert session.mirror([*view.messages, human("More.")]).messages[-1] == human("More.")
    assert session.phase_done("read").status() in ("waiting", "done")
    assert session.fork("copy").status().messages == 81
    assert [line["kind"] for line in session.export()].count("message") == 81
    assert blocking.undelivered() == session.undelivered() == []


def test_one_shot_and_write_back(blocking: sync.CompactionClient) -> None:
    told, main = threading.Event(), threading.current_thread()
    seen: list[tuple[str, int, int]] = []

    def sink(session: sync.Session, view: View) -> None:
        assert threading.current_thread() is not main
        seen.append((session.key.session, view.generation, session.status().messages))  # it may block
        told.set()

    write_back = blocking.on_generation(sink)
    mine = turns(FMT, 14)
    ticket = blocking.compact(mine, format=FMT, window=WINDOW)
    blocking.run_due(summarizer=FakeSummarizer())
    assert told.wait(TIMEOUT)
    assert seen == [(ticket.key.session, 1, 56)]
    assert len(ticket.apply(mine)) < 56
    assert write_back.failing == {}
    write_back.close()


def test_a_sink_that_blocks_takes_one_thread_and_no_other(
    blocking: sync.CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("POLL_SECONDS", 0.02), ("FIRST_SECONDS", 0.02), ("LEASE_SECONDS", 0.1)):
        monkeypatch.setattr(writing_back, name, seconds)
    calls: list[int] = []
    going_on, done = threading.Event(), threading.Event()

    def sink(_: sync.Session, view: View) -> None:
        calls.append(view.generation)
        going_on.wait(TIMEOUT)
        done.set()

    session = blocking.session("chat", format=FMT, window=WINDOW)
    session.record(turns(FMT, 14))
    session.request()
    blocking.run_due(summarizer=FakeSummarizer())
    write_back = blocking.on_generation(sink)
    while "chat" not in write_back.failing:
        time.sleep(0.01)
    time.sleep(1)  # it is told several times that it has to be called again
    assert calls == [1]
    going_on.set()
    assert done.wait(TIMEOUT)
    write_back.close()


def test_several_threads_share_a_session(blocking: sync.CompactionClient) -> None:
    session = blocking.session("chat", format=FMT, window=WINDOW)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: session.record(human(f"Line {number}.")), range(40)))
    said = [message["content"] for message in session.view().messages]
    assert sorted(said) == sorted(f"Line {number}." for number in range(40))
    assert sum(thread.name == "offturn" for thread in threading.enumerate()) == 1


def test_threads_that_open_a_session_share_its_outbox(
    blocking: sync.CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made on the one thread that uses it: two that were made at once would deliver out of order."""
    threads = set()
    made = Courier.outbox

    def seen(courier: Courier, key: SessionKey) -> Outbox:
        threads.add(threading.current_thread().name)
        return made(courier, key)

    monkeypatch.setattr(Courier, "outbox", seen)
    blocking.session("chat", format=FMT, window=WINDOW)
    assert threads == {"offturn"}


def test_a_call_keeps_its_deadline() -> None:
    client = sync.CompactionClient.from_url(f"redis://127.0.0.1:{free_port()}", timeout=0.2, on_outage="raise")
    with client, pytest.raises(StoreUnavailable):
        client.session("chat", format=FMT).record(human("Anybody there?"))


def test_a_call_from_the_background_thread_is_refused(blocking: sync.CompactionClient) -> None:
    def who_wrote(_: Any) -> None:
        session.status()

    session = blocking.session("chat", format=FMT, origin=who_wrote)
    with pytest.raises(Refused, match="wait for itself"):
        session.record(human("Who wrote this?"))
    session.record(says("An assistant."))


def test_a_call_after_the_end_is_refused() -> None:
    ended = background.Background()
    ended.stop()
    with pytest.raises(Closed, match="the process is ending"):
        ended.run(asyncio.sleep(0))


def test_an_interrupted_call_is_cancelled(blocking: sync.CompactionClient, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = threading.Event()

    main = threading.get_ident()

    def interrupt() -> None:
        while not waits(main):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    async def hangs(*_: Any, **__: Any) -> None:
        try:
            threading.Thread(target=interrupt).start()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    monkeypatch.setattr(SessionStore, "sync", hangs)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            blocking.session("chat", format=FMT).status()
    finally:
        signal.signal(signal.SIGINT, before)
    assert cancelled.wait(TIMEOUT)


def waits(thread: int) -> bool:
    """Is it in `Future.result`?"""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code is not Future.result.__code__:
        frame = frame.f_back
    return frame is not None


CHILD = """
import os, sys
import offturn
from offturn.sync import CompactionClient

client = CompactionClient.from_url(sys.argv[1], timeout=20)
session = client.session("forked", format="openai-chat", window=16_000)
session.record({"role": "user", "content": "Before the fork."})
child = os.fork()
if not child:
    try:
        session.status()
    except offturn.Closed as error:
        print(error, flush=True)
    own = CompactionClient.from_url(sys.argv[1], timeout=20)
    own.session("forked", format="openai-chat").record({"role": "user", "content": "In the child."})
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
session.record({"role": "user", "content": "In the parent."})
print(session.status().messages, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_opens_a_client_of_its_own_and_the_end_closes_what_is_open(
    blocking: sync.CompactionClient, valkey_url: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, valkey_url], capture_output=True, text=True, timeout=250, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [background.FORKED, "3"]


LEFT = """
import sys
from offturn.sync import CompactionClient
client = CompactionClient.from_url(sys.argv[1], timeout=0.3)
client.session("left", format="openai-chat").record({"role": "user", "content": "Kept."})
"""


def test_what_could_not_be_delivered_is_told_at_the_end() -> None:
    url = f"redis://127.0.0.1:{free_port()}"
    done = subprocess.run([sys.executable, "-c", LEFT, url], capture_output=True, text=True, timeout=250, check=False)
    assert "1 message of 1 session" in done.stderr
    assert "Kept." not in done.stderr
