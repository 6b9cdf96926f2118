"""A worker looks for jobs before it loads what only a model's call needs, and loads that in a thread."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn.doorbell import Doorbell
from offturn.summarizer import EXTRACTIVE
from offturn_config.keys import QUEUE
from offturn_models.anthropic import Anthropic
from offturn_models.route import parse_route
from offturn_worker.summarizers import load
from tests.integration.shell import KEY, Compaction, settings, until, working

ROUTE = "anthropic:m, openai:m"
KEYS = {"anthropic": "sk-test", "openai": "sk-test"}

STARTED = f"""
import sys
import offturn_worker.app, offturn_worker.cli
from offturn_models.route import parse_route
from offturn_worker.summarizers import load

def loaded():
    return [name for name in ("anthropic", "openai", "httpx2") if name in sys.modules]

route = parse_route({ROUTE!r}, keys={KEYS!r})
assert loaded() == [], loaded()
load(route)
assert loaded() == ["anthropic", "httpx2"], loaded()
before = set(sys.modules)
_ = route.entries[0]._client().messages
assert set(sys.modules) == before, sorted(set(sys.modules) - before)
"""


def test_a_start_loads_no_sdk_and_what_is_loaded_later_is_the_first_models() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", STARTED], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert ran.returncode == 0, ran.stderr


def test_what_a_package_raises_while_it_is_loaded_is_told_and_no_more(
    monkeypatch: pytest.MonkeyPatch, lines: Any
) -> None:
    def broken(self: Anthropic) -> None:
        raise ImportError("cannot import name x")

    monkeypatch.setattr(Anthropic, "load", broken)
    load(parse_route(ROUTE, keys=KEYS))
    load(EXTRACTIVE)
    (line,) = lines()
    assert (line["event"], line["summarizer"], line["error"]) == (
        "summarizer_not_loaded",
        "anthropic:m",
        "ImportError",
    )


async def test_it_is_loaded_after_a_look_and_no_job_waits_for_it(redis: Redis, valkey_url: str) -> None:
    compact, go, looks = Compaction(), threading.Event(), list[bool]()

    def later() -> None:
        looks.append(threading.current_thread() is not threading.main_thread())
        go.wait(100)

    await Doorbell(redis).ring(KEY, 1)
    async with working(settings(valkey_url), compact, later=later):
        await until(lambda: looks and compact.begun)
        assert looks == [True]
        assert (await redis.info("commandstats"))["cmdstat_zrange"]["calls"]
        go.set()
    assert await redis.zcard(QUEUE) == 0
