"""Logging, configured here and nowhere else: one JSON object a line, with ids, sizes and durations, never content.

The text of an exception may quote a message or a Redis command with its arguments, so no log line carries it: only
its type and where it was raised.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TextIO

import orjson
import structlog
from structlog.types import EventDict, Processor, WrappedLogger

QUIET = ("arq", "aiohttp.access", "httpx", "httpcore", "httpx2", "anthropic", "openai")
"""Libraries whose INFO and DEBUG lines hold arguments, results or bodies."""

MUTE = ("python_multipart",)
"""Libraries whose warnings quote what they were given to read."""

FRAMES = 4


def configure_logging(
    *,
    level: Literal["debug", "info", "warning", "error"],
    style: Literal["json", "console"],
    stream: TextIO | None = None,
) -> None:
    """For the whole process; `stream` is standard error unless given."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        without_text,
    ]
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _renderer(style)],
        )
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for library in QUIET:
        logging.getLogger(library).setLevel(logging.WARNING)
    for library in MUTE:
        logging.getLogger(library).setLevel(logging.CRITICAL)


def described(error: BaseException) -> dict[str, object]:
    """An exception without its text: its type, and the innermost places it went through."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return {
        "error": type(error).__name__,
        "where": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames],
    }


def without_text(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """A processor: `exc_info` becomes what `described` says."""
    info: Any = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event.update(described(error))
    return event


@contextmanager
def unhandled_logged() -> Iterator[None]:
    """Inside the block, exceptions nobody awaited are logged without their text; asyncio's own handler prints it."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(_log_unhandled)
    try:
        yield
    finally:
        loop.set_exception_handler(before)


def _log_unhandled(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    facts = described(error) if isinstance(error, BaseException) else {}
    structlog.get_logger(__name__).error("unhandled", problem=str(context.get("message", "")), **facts)


def _renderer(style: Literal["json", "console"]) -> Processor:
    if style == "console":
        return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    return structlog.processors.JSONRenderer(serializer=_dumps)


def _dumps(event: object, **_options: object) -> str:
    return orjson.dumps(event, default=repr).decode()
