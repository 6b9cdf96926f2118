"""What a worker logs: names, numbers and durations, nothing of a session or of an exception's text."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import structlog
from redis.asyncio import Redis

from offturn.doorbell import Doorbell
from offturn_config.keys import SessionKey
from offturn_worker.jobs import TENANT_BUSY
from tests.integration.shell import KEY, Compaction, settings, until, until_empty, working


async def test_a_failing_job_ends_neither_worker_nor_secrecy(
    redis: Redis, valkey_url: str, lines: Callable[[], list[dict[str, Any]]]
) -> None:
    compact = Compaction()
    compact.fault = ValueError("my secret message text")
    async with working(settings(valkey_url), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        await until_empty(redis)
        compact.fault = None
        await Doorbell(redis).ring(SessionKey("default", "s2"), 1)
        await until(lambda: compact.begun == ["s1", "s2"])
        await until_empty(redis)
    failed = [line for line in lines() if line["event"] == "job_failed"]
    assert failed[0]["error"] == "ValueError"
    assert failed[0]["session"] == "s1"
    assert any("shell.py" in place for place in failed[0]["where"])
    assert "secret" not in json.dumps(lines())


async def test_logs_are_json_with_names_and_durations(
    redis: Redis, valkey_url: str, lines: Callable[[], list[dict[str, Any]]]
) -> None:
    compact = Compaction()
    async with working(settings(valkey_url), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        await until_empty(redis)
    done = next(line for line in lines() if line["event"] == "job_done")
    assert {"timestamp", "level", "logger", "tenant", "session", "request", "ms", "outcome", "reason"} <= set(done)
    assert [line for line in lines() if line["logger"].startswith("arq")] == []


async def test_a_session_that_waits_for_its_tenant_is_no_news(
    redis: Redis, valkey_url: str, lines: Callable[[], list[dict[str, Any]]]
) -> None:
    """Twelve sessions that waited for one place wrote 68 lines in 20 seconds; a thousand would write 500 a second."""
    compact = Compaction()
    compact.reason = TENANT_BUSY
    async with working(settings(valkey_url), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        await until_empty(redis)
    assert [line["level"] for line in lines() if line["event"] == "job_done"] == ["debug"]


def test_no_exception_text_of_any_library_is_logged(lines: Callable[[], list[dict[str, Any]]]) -> None:
    try:
        raise ValueError("quoted content")
    except ValueError:
        logging.getLogger("some.library").exception("it failed")
        structlog.get_logger("ours").exception("ours_failed")
    assert [(line["event"], line["error"]) for line in lines()] == [
        ("it failed", "ValueError"),
        ("ours_failed", "ValueError"),
    ]
    assert "quoted content" not in json.dumps(lines())
