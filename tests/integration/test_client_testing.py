"""`offturn.testing`, as a host's own tests use it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from offturn import Compacted, CompactionClient, Failed
from offturn.testing import FakeSummarizer, compaction_client, offturn_client
from offturn_engine.errors import SummarizerError
from offturn_engine.summary import SummaryReply
from tests.conftest import TIMEOUT
from tests.integration.host import FORMATS, Raw, human, turns

WINDOW = 16_000

__all__ = ["offturn_client"]


async def test_the_fixture_is_a_client_of_an_empty_store(offturn_client: CompactionClient) -> None:
    assert await offturn_client.sessions() == []
    session = offturn_client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 22))
    [outcome] = await offturn_client.run_due(summarizer=FakeSummarizer())
    assert isinstance(outcome, Compacted)
    assert (await session.view()).generation == 1


async def test_each_client_has_its_own_store_and_is_gone_afterwards(tmp_path: Path) -> None:
    async with compaction_client() as one, compaction_client(tenant="b") as two:
        await one.session("chat", format="openai-chat", window=WINDOW).record(human("a"))
        assert [key.session for key in await one.sessions()] == ["chat"]
        assert await two.sessions() == []


async def test_an_embedded_store_keeps_a_session(tmp_path: Path) -> None:
    url = f"embedded://{tmp_path}"
    async with (
        CompactionClient.from_url(url, timeout=TIMEOUT) as first,
        CompactionClient.from_url(url, timeout=TIMEOUT) as joined,
    ):
        session = first.session("chat", format="openai-chat", window=WINDOW)
        await session.record(turns("openai-chat", 22))
        await joined.run_due(summarizer=FakeSummarizer())
        view = await session.view()
    async with CompactionClient.from_url(url, timeout=TIMEOUT) as again:
        later = await again.session("chat", format="openai-chat", window=WINDOW).view()

    assert view.generation == 1
    assert list(later.messages) == list(view.messages)


LANGUAGES = {
    "English": "Please fix the login bug and keep the tests green.",
    "German": "Bitte repariere den Fehler beim Anmelden, und die Tests sollen dabei nicht rot werden.",
    "Chinese": "请修复登录错误。不要修改配置文件。测试必须保持通过。",
}


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("fmt", FORMATS)
async def test_its_own_answers_are_accepted(client: CompactionClient, fmt: str, language: str, mixed: bool) -> None:
    summarizer = FakeSummarizer()
    session = client.session("chat", format=fmt, window=WINDOW)
    for start in (0, 40):
        talk: list[Raw] = [human(LANGUAGES[language]), *turns(fmt, 22, start=start)]
        if not mixed:
            talk = [
                human(LANGUAGES[language]) if isinstance(raw["content"], str) and raw["role"] == "user" else raw
                for raw in talk
            ]
        await session.record(talk)
        [outcome] = await client.run_due(summarizer=summarizer)
        assert isinstance(outcome, Compacted)
        assert (outcome.method, outcome.provisional) == ("model", False)

    assert len(summarizer.asked) == 2, "no answer had to be repaired"
    assert len({asked.key for asked in summarizer.asked}) == 2
    assert all(asked.tokens > 1_000 and asked.max_output_tokens >= 1_000 for asked in summarizer.asked)


async def test_answers_follow_the_script(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 22))
    busy = SummarizerError("overloaded", "busy", retryable=True)
    summarizer = FakeSummarizer([busy, "Sorry, I cannot do that.", SummaryReply(text="", finish="length", model="x")])

    [failed] = await client.run_due(summarizer=summarizer)
    assert failed == Failed(kind="overloaded", cause="provider")
    await session.request()
    [outcome] = await client.run_due(summarizer=summarizer)

    assert isinstance(outcome, Compacted)
    assert outcome.method == "extractive"
    assert outcome.provisional
    assert 2 <= len(summarizer.asked) <= 3


def test_pytest_is_imported_for_the_fixture_only() -> None:
    code = (
        "import sys, offturn.testing as t; assert 'pytest' not in sys.modules;"
        "from offturn.testing import offturn_client; assert 'pytest' in sys.modules; assert t.offturn_client is offturn_client"
    )
    paths = {str(Path(entry)) for entry in sys.path if entry}
    environment = {"PYTHONPATH": ":".join(paths), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
