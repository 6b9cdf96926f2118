"""`search`, `recall` of ranges, and what becomes of them as a session changes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, InvalidSetting, Refused, UnknownFormat
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_engine.handles import HANDLE
from tests.conftest import TIMEOUT
from tests.integration.host import FORMATS, human, says, turn, turns
from tests.integration.moved import WINDOW, compacted, open_session


@pytest.mark.parametrize("fmt", FORMATS)
async def test_every_handle_of_a_view_can_be_recalled(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=40_000, overrides={"human.budget": 400, "human.minimum": 0})
    await session.record([human(f"Rule {i}: never touch file number {i}. " + "a word " * 60) for i in range(200)])
    for number in range(12):
        [asked, called, told, answer] = turn(fmt, number, size=6_000)
        await session.record([asked, called, told, answer])
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    summary = str((await session.view()).messages)

    names = set(re.findall(r"\[m\d+\]|\bm\d+(?:\.\d+)?\b", summary))
    spans = re.findall(r"\[m\d+\] to \[m\d+\]", summary)
    covered = re.findall(r"Summary of messages ([\d, -]+) of", summary)
    assert len(names) > 20
    assert spans
    assert covered
    for name in (*names, *spans, *covered):
        assert await session.recall(name), name
    assert all(HANDLE.fullmatch(name) for name in names)
    first = await session.recall(spans[0])
    assert first.startswith("[m0, human]\nRule 0: never touch file number 0.")
    assert (await session.recall("m0-m2")).count("[m") == 3


async def test_hits_name_what_was_summarised(client: CompactionClient) -> None:
    session = await compacted(client)
    [hit, *_] = await session.search('"def module_3()"')
    assert (hit.seq, hit.handle, hit.role, hit.origin, hit.on_path) == (14, "m14", "tool", "tool", True)
    assert await session.recall(hit.handle) == "def module_3(): ..."
    assert len(await session.search("module", limit=3)) == 3


async def test_what_was_taken_back_says_so_and_is_not_given_to_the_model(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record([*turns("openai-chat", 2), human("The needle is blue."), says("Noted.")])
    await session.rewind(turns=1)
    tool = session.recall_tool()

    assert [(hit.handle, hit.on_path) for hit in await session.search("needle")] == [("m8", False)]
    assert await session.recall("m8") == "The needle is blue."
    for arguments in ('{"query": "needle"}', '{"handle": "m8"}'):
        told = await tool.run({"id": "c", "function": {"name": tool.name, "arguments": arguments}})
        assert "blue" not in told["content"]


async def test_what_is_redacted_or_purged_is_not_found(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record([human("The needle is blue."), says("The needle it is."), *turns("openai-chat", 1)])
    await session.redact([0], reason="asked for")
    tool = session.recall_tool("text")

    assert [hit.handle for hit in await session.search("needle")] == ["m1"]
    assert await session.search("redacted") == []
    assert await session.recall("m0") == "[redacted]"
    assert await tool.run("m0") == "[redacted]"
    assert "m1" in await tool.run("needle")

    other = open_session(client)
    await other.purge()
    with pytest.raises(Refused):
        await session.search("needle")
    assert "Nothing was found" in await tool.run("needle")


async def test_another_process_finds_what_was_just_recorded(client: CompactionClient, valkey_url: str) -> None:
    session, tool = open_session(client), open_session(client).recall_tool("text")
    await session.record(human("The first needle."))
    assert "first" in await tool.run("needle")
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as second:
        await open_session(second).record(says("The second needle."))
    assert [hit.seq for hit in await session.search('"second needle"')] == [1]


async def test_a_long_log_is_read_in_pages(
    client: CompactionClient, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session(client, window=1_000_000)
    for number in range(8):
        await session.record([says("a word " * 20_000), says(f"needle {number} " + "a word " * 2_000)])
    sizes: list[int] = []
    sync = SessionStore.sync

    async def measured(self: SessionStore, *args: Any, **options: Any) -> Any:
        snapshot = await sync(self, *args, **options)
        sizes.append(sum(len(str(entry.raw)) for entry in snapshot.entries))
        return snapshot

    monkeypatch.setattr(SessionStore, "sync", measured)
    assert [hit.seq for hit in await open_session(client).search('"needle 5"')] == [11]
    assert sum(sizes) > 1_000_000
    assert max(sizes) <= 2 * 256 * 1024


@pytest.mark.parametrize("text", ["", "  ", None, 5, "a" * 1_001])
async def test_a_text_to_search_for(client: CompactionClient, text: Any) -> None:
    with pytest.raises(InvalidSetting):
        await open_session(client).search(text)


@pytest.mark.parametrize("limit", [0, 101, True, "5"])
async def test_limits(client: CompactionClient, limit: Any) -> None:
    with pytest.raises(InvalidSetting):
        await open_session(client).search("a", limit=limit)
    with pytest.raises(InvalidSetting):
        open_session(client).recall_tool(characters=limit)


async def test_a_tool_of_no_dialect(client: CompactionClient) -> None:
    with pytest.raises(UnknownFormat):
        open_session(client).recall_tool("klingon")
    assert open_session(client, "text-observation").recall_tool().definition.startswith("Reads again")
    with pytest.raises(Refused):
        await client.session("none", format="openai-chat", window=WINDOW).search("a")
