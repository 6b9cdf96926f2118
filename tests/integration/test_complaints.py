"""What users of other agents complain of and no other test shows here; docs/complaints.md has all of it."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Session, View
from offturn.testing import FakeSummarizer
from offturn_engine.draft import SUMMARY_HEAD, SUMMARY_TELLS
from offturn_engine.restore import RESTORED
from offturn_engine.summary import SummaryRequest
from offturn_models.anthropic import Anthropic
from offturn_worker.fake_model import FakeModel
from tests.integration.host import FORMATS, Raw, assert_sendable, human, long_text, says, stored, texts, turns
from tests.integration.test_too_dense import dense

WINDOW = 14_000
PICTURE = base64.b64encode(bytes(range(256)) * 400).decode()  # 100 KB


class TooManyBytes(Exception):
    """As both SDKs shape it."""

    status_code = 413


def opened(client: CompactionClient, name: str = "chat", fmt: str = "openai-chat", **settings: Any) -> Session:
    return client.session(name, format=fmt, window=WINDOW, **settings)


def image(text: str) -> Raw:
    url = f"data:image/png;base64,{PICTURE}"
    return {
        "role": "user",
        "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}],
    }


async def test_a_turn_goes_on_while_a_summary_is_written(client: CompactionClient) -> None:
    """The model has not answered yet, and the host's calls do: nothing of them waits for it."""
    session, seen = opened(client), list[View]()
    await session.record(turns("openai-chat", 22))

    async def a_turn(_: SummaryRequest) -> None:
        async with asyncio.timeout(120):  # a call that waits for this answer waits for ever
            assert (await session.record([human("Stop, leave the parser alone.")])).durable
            seen.append(await session.view())
            await session.record([says("Understood.")])

    [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=a_turn))

    assert isinstance(outcome, Compacted)
    assert seen[0].messages[-1] == human("Stop, leave the parser alone.")
    assert_sendable(seen[0])
    assert list((await session.view()).messages[-2:]) == [human("Stop, leave the parser alone."), says("Understood.")]


async def test_what_was_tried_in_vain_is_known_to_the_next_process(client: CompactionClient, valkey_url: str) -> None:
    """A worker that has just started goes on counting where the last one stopped."""
    session = await dense(client)
    for _ in range(3):
        async with CompactionClient.from_url(valkey_url, timeout=20) as worker:
            assert await worker.run_due(summarizer=FakeSummarizer()) != []
        await session.record([human("On."), says("I go on.")])

    assert "3 compactions in a row" in (await session.status()).blocked
    assert await client.run_due(summarizer=FakeSummarizer()) == []


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_finished_turn_is_not_started_again(client: CompactionClient, fmt: str) -> None:
    """Nothing is put into the human's mouth: what is ours says what it is, and all else is as recorded, in order."""
    session, sent = opened(client, fmt=fmt), turns(fmt, 22)
    await session.record(sent)
    await client.run_due(summarizer=FakeSummarizer())

    view = await session.view()

    ours, rest = view.messages[:-12], list(view.messages[-12:])
    assert rest == sent[-12:]
    assert texts([ours[0]]).count(SUMMARY_HEAD) == texts([ours[0]]).count(SUMMARY_TELLS) == 1
    unmarked = [raw for raw in ours[1:] if raw not in sent and not str(raw["content"]).startswith(RESTORED)]
    assert unmarked == []


async def test_generations_hold_no_copy_of_what_they_cover(client: CompactionClient, redis: Redis) -> None:
    """Ten of them: neither an answer, nor a result, nor an image is stored again."""
    session = opened(client)
    for number in range(10):
        await session.record([image(f"Look at picture {number}."), says("I see it."), *turns("openai-chat", 20)])
        await session.request()
        await client.run_due(summarizer=FakeSummarizer())

    assert (await session.status()).current == 10
    log = str(await stored(redis, "chat"))
    assert log.count(PICTURE) == 10
    records = [await redis.get(name) for name in await redis.keys(session.key.key("gen:*"))]
    assert len(records) == 10
    for record in records:
        assert PICTURE[:200].encode() not in record
        assert long_text(400)[:200].encode() not in record
        assert len(record) < len(log) / 50


async def test_the_summarizers_window_moves_no_cut(client: CompactionClient) -> None:
    """A small one means more calls; what is covered and what stays is the session's affair."""
    made = []
    for name, window in (("large", 200_000), ("small", 8_000)):
        session, model = opened(client, name), FakeSummarizer(window=window)
        await session.record(turns("openai-chat", 24, size=2_600))
        await client.run_due(summarizer=model)
        [generation] = await session.generations()
        made.append((generation.covered, len((await session.view()).messages), len(model.asked)))

    (covered, shown, few), (same, shown_too, many) = made
    assert (covered, shown) == (same, shown_too)
    assert few < many


async def test_a_summarizers_call_writes_nothing_into_a_cache(client: CompactionClient) -> None:
    """What is read once is not worth the price of writing it."""
    async with FakeModel(keep_bodies=True) as server:
        session = opened(client, fmt="anthropic", overrides={"after.cache": "system_and_3"})
        await session.record(turns("anthropic", 22))
        [outcome] = await client.run_due(summarizer=Anthropic("fake", api_key="key", base_url=server.url))

        assert isinstance(outcome, Compacted)
        assert "cache_control" in str((await session.view(system="Be brief.")).kwargs())
        assert server.calls
        assert all("cache_control" not in str(call.body) for call in server.calls)


async def test_without_automatic_triggers_a_view_too_large_pays_nobody(client: CompactionClient) -> None:
    session, model = opened(client, overrides={"trigger.enabled": False}), FakeSummarizer()
    sent = turns("openai-chat", 60)
    await session.record(sent)

    view = await session.view()

    assert view.kind == "emergency"
    assert_sendable(view)
    assert await client.run_due(summarizer=model) == []
    assert model.asked == []
    assert list((await session.view(generation=0, window=1_000_000)).messages) == sent


async def test_old_images_do_not_make_every_request_too_large(client: CompactionClient) -> None:
    """A provider counts bytes where the window would still hold them; the newest picture stays."""
    session = client.session("chat", format="openai-chat", window=60_000)
    for number in range(12):
        await session.record([image(f"Look at picture {number}."), says(f"I see picture {number}.")])
    await session.record([image("And this one?")])
    sent = await session.view()
    assert texts(list(sent.messages)).count(PICTURE) == 13

    view = await session.overflow(TooManyBytes(), sent=sent)

    assert texts(list(view.messages)).count(PICTURE) <= 9
    assert view.messages[-1] == image("And this one?")
