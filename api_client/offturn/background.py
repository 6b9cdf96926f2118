"""One event loop in a thread of its own, for hosts that block: every blocking client of the process runs on it."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any, TypeVar

from offturn.errors import Closed, OffturnError, Refused

T = TypeVar("T")

FORKED = "this client was opened before the process was forked: open another one here with CompactionClient.from_url"
ENDED = (
    "the process is ending: every client was closed; what an atexit function of yours calls, register after opening it"
)
INSIDE = "a blocking call on offturn's own thread would wait for itself: use the async session, or another thread"


class Background:
    """The loop and its thread. `at_exit`: awaited when the interpreter ends."""

    def __init__(self) -> None:
        self.at_exit: dict[object, Callable[[], Coroutine[Any, Any, None]]] = {}
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="offturn", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result or exception; interrupted, it is cancelled. Raises Closed (fork, end), and Refused."""
        if refusal := self._refusal():
            work.close()
            raise refusal
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # the caller's thread was interrupted, or the work is over anyway
            future.cancel()
            raise

    def _refusal(self) -> OffturnError | None:
        if self._process != os.getpid():
            return Closed(FORKED)
        if threading.current_thread() is self._thread:
            return Refused(INSIDE)
        return Closed(ENDED) if self._loop.is_closed() else None

    def stop(self) -> None:
        """Await what is to be done at the end, all of it, then end the thread."""
        with ExitStack() as ending:
            ending.callback(self._end)
            for closing in self.at_exit.values():
                ending.callback(self.run, closing())

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_starting = threading.Lock()
_running: Background | None = None
_inherited: list[Background | None] = []


def background() -> Background:
    """The one of this process, started at its first use."""
    global _running
    with _starting:
        if _running is None:
            _running = Background()
            atexit.register(_running.stop)
        return _running


def _forked() -> None:
    """A child has no thread of its parent's. The loop is kept: collected, it would close what the parent listens on."""
    global _running, _starting
    if _running is not None:
        atexit.unregister(_running.stop)
    _inherited.append(_running)
    _running, _starting = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
