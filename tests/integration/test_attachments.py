"""Media that a host keeps itself: in what is sent to the provider, and never in the store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, InvalidSetting, View
from offturn_engine.formats import get
from tests.integration.host import FORMATS, Raw, human, says
from tests.integration.keyspace import everything

KEY = "attachment://photo-7"
BYTES = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="


def photo(fmt: str, reference: str = KEY) -> Raw:
    if fmt == "openai-chat":
        return {"type": "image_url", "image_url": {"url": reference}}
    return {"type": "image", "source": {"type": "url", "url": reference}}


def shown(fmt: str, *references: str) -> Raw:
    return {"role": "user", "content": [{"type": "text", "text": "What is it?"}, *(photo(fmt, r) for r in references)]}


def value(fmt: str) -> Any:
    if fmt == "openai-chat":
        return f"data:image/png;base64,{BYTES}"
    return {"type": "base64", "media_type": "image/png", "data": BYTES}


@pytest.mark.parametrize("fmt", FORMATS)
async def test_what_is_sent_has_the_bytes_and_the_store_never(client: CompactionClient, redis: Redis, fmt: str) -> None:
    asked: list[str] = []

    async def fetch(reference: str) -> Any:
        asked.append(reference)
        return value(fmt)

    session = client.session("chat", format=fmt, window=16_000, attachments=fetch)
    sent = [shown(fmt, KEY), says("A cat."), shown(fmt, KEY)]
    await session.record(sent)

    view = await session.view()
    again = await session.mirror([*view.messages, says("The same cat.")])

    assert list(view.messages) == sent
    assert asked == [KEY, KEY]
    assert str(view.kwargs()).count(BYTES) == str(again.kwargs()).count(BYTES) == 2
    assert KEY not in str(view.kwargs())
    assert get(fmt).problems(view.kwargs()["messages"]) == []
    assert (len(again.messages), again.behind, view.warnings) == (4, False, ())
    held = await everything(redis, "-")
    assert KEY.encode() in held
    assert BYTES.encode() not in held
    assert BYTES not in repr(view)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_what_is_not_to_be_had_is_a_line_of_text_and_a_warning(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=16_000, attachments={KEY: value(fmt)})
    await session.record(shown(fmt, KEY, "attachment://lost"))

    view = await session.view()

    line = {"type": "text", "text": "[attachment attachment://lost could not be had]"}
    assert view.kwargs()["messages"][0]["content"][2] == line
    assert BYTES in str(view.kwargs())
    assert view.warnings == ("1 attachment could not be had: a line of text stands for each",)
    assert get(fmt).problems(view.kwargs()["messages"]) == []


async def test_an_attachment_that_takes_too_long_is_not_waited_for(
    client: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(reference: str) -> Any:
        if reference == KEY:
            await asyncio.Event().wait()
        return value("openai-chat")

    session = client.session("slow", format="openai-chat", window=16_000, attachments=fetch)
    await session.record(shown("openai-chat", KEY, "attachment://fast"))
    with_media = session._with_media

    async def hurried(view: View) -> View:
        monkeypatch.setattr(client._connector, "timeout", 0.05)  # the store has answered, however long it took
        return await with_media(view)

    monkeypatch.setattr(session, "_with_media", hurried)
    view = await session.view()

    assert f"[attachment {KEY} could not be had]" in str(view.kwargs())
    assert BYTES in str(view.kwargs())
    assert view.warnings == ("1 attachment could not be had: a line of text stands for each",)


async def test_without_a_resolver_references_go_out_as_they_are(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=16_000)
    await session.record(shown("openai-chat", KEY))

    view = await session.view()

    assert view.kwargs()["messages"] == [shown("openai-chat", KEY)]
    assert view.warnings == ()


async def test_what_gives_no_values_is_refused(client: CompactionClient) -> None:
    with pytest.raises(InvalidSetting, match="attachments is a int"):
        client.session("chat", format="openai-chat", attachments=7)  # type: ignore[arg-type]
    session = client.session("chat", format="openai-chat", window=16_000, attachments=lambda _: 7)
    await session.record([human("hi"), says("hi"), shown("openai-chat", KEY)])
    with pytest.raises(InvalidSetting, match="attachments gave a int"):
        await session.view()


async def test_the_session_goes_on_while_the_host_looks(client: CompactionClient) -> None:
    recorded: list[int] = []

    async def fetch(_: str) -> Any:
        done = await session.record(says("Meanwhile."))
        assert done.durable
        recorded.append(done.first_seq)
        return value("openai-chat")

    session = client.session("chat", format="openai-chat", window=16_000, attachments=fetch)
    await session.record(shown("openai-chat", KEY))
    first = await session.view()
    second = await session.mirror([*first.messages, says("Meanwhile."), human("And?")])

    assert recorded == [1, 3]
    assert len(first.messages) == 1
    assert BYTES in str(second.kwargs())
