"""SIGTERM and SIGINT: the first asks the worker to drain, the second ends the process at once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

SIGNALS = (signal.SIGTERM, signal.SIGINT)

log = structlog.get_logger(__name__)


@contextmanager
def stop_on_signal() -> Iterator[asyncio.Event]:
    """Inside the block, in the main thread, the signals set the event; arq would cancel every job at the first."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _on_signal, number, asked)
    try:
        yield asked
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


def _on_signal(number: signal.Signals, asked: asyncio.Event) -> None:
    log.info("signal", name=number.name, again=asked.is_set())
    if asked.is_set():
        os._exit(128 + number)  # leases expire; nothing is left to release
    asked.set()
