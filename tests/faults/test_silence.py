"""Markers in what sessions say, in keys and in a password, looked for in everything a worker prints."""

from __future__ import annotations

from pathlib import Path

from redis.asyncio import Redis

from offturn import CompactionClient
from offturn_config.keys import QUEUE, SessionKey
from offturn_worker.fake_model import FakeModel
from tests.faults.processes import PATIENCE, TIMEOUT, Worker, handle, settled, until, workers
from tests.integration.host import calls, human, result, says

MARK = "m4rker"


async def test_a_worker_says_nothing_of_a_session(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    """At the most talkative level, while a model fails, a record is broken and a job cannot be read."""
    words = f"words of the session {MARK} " * 40
    async with (
        FakeModel() as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        model.script([500, "error_text", "ok"])
        worker = await crew.start(
            SUMMARIZER=f"openai:{MARK}@{model.openai_url}", OPENAI_API_KEY=f"key-{MARK}", LOG_LEVEL="debug"
        )
        session = handle(client, "s")
        for number in range(16):
            call = calls("openai-chat", f"c{number}", command=f"cat /{MARK}/{number}")
            await session.record([human(words), call, result("openai-chat", f"c{number}", words), says(words)])
        await session.phase_done(f"note {MARK}", focus=f"focus {MARK}")
        await settled(session)
        log = SessionKey("default", "s").key("log")
        await session.record([human(words)])  # which no job has read yet
        entry = await redis.lindex(log, -1)  # type: ignore[misc]
        await redis.lset(log, -1, entry[:60] + MARK.encode())  # type: ignore[misc]
        await session.request()
        await redis.set("arq:job:j", MARK)
        await redis.zadd(QUEUE, {"j": 1})
        await until(lambda: {"DeserializationError"} <= {str(line.get("error")) for line in worker.lines})
        await until(lambda: "StoreFault" in {line.get("reason") for line in worker.lines})
        assert MARK not in worker.said
        assert worker.alive


async def test_a_refused_password_is_not_printed(tmp_path: Path, redis: Redis, valkey_url: str) -> None:
    url = valkey_url.replace("redis://", f"redis://{MARK}:{MARK}@")
    worker = Worker(url, tmp_path / "worker.log")
    assert worker.process.wait(PATIENCE) == 2
    assert len(worker.said.splitlines()) == 1
    assert MARK not in worker.said
