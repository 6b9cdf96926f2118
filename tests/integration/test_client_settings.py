"""What a handle is opened with: kept with the session, shared by all handles, refused where it cannot work."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from offturn import (
    CompactionClient,
    Conflict,
    InvalidPolicy,
    InvalidSetting,
    UnknownFormat,
    UnknownPolicy,
)
from tests.conftest import TIMEOUT
from tests.integration.host import human, stored, turns

WINDOW = 16_000


async def test_handles_and_clients_share_a_session(client: CompactionClient, valkey_url: str) -> None:
    first = client.session("chat", format="openai-chat", window=WINDOW)
    second = client.session("chat", format="openai-chat", window=WINDOW)
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as other:
        third = other.session("chat", format="openai-chat", window=WINDOW)
        for number, handle in enumerate([first, second, third, first, third]):
            await handle.record(human(f"{number}"))
        views = [await handle.view() for handle in (first, second, third)]

    assert [list(view.messages) for view in views] == [[human(f"{n}") for n in range(5)]] * 3
    assert len({view.id for view in views}) == 1


async def test_tenants_do_not_see_each_other(client: CompactionClient, valkey_url: str) -> None:
    async with CompactionClient.from_url(valkey_url, tenant="other", timeout=TIMEOUT) as other:
        theirs = other.session("chat", format="openai-chat", window=WINDOW)
        await theirs.record(turns("openai-chat", 30))

        assert await client.run_due() == []
        assert await client.sessions() == []
        assert list((await client.session("chat", format="openai-chat").view()).messages) == []
        assert len(await other.run_due()) == 1


async def test_a_later_handle_keeps_the_sessions_settings_and_says_so(client: CompactionClient) -> None:
    await client.session("chat", format="openai-chat", window=WINDOW).record(human("a"))
    later = client.session("chat", format="openai-chat", window=WINDOW * 2, adopt="never")
    silent = client.session("chat", format="openai-chat")

    view = await later.view()

    assert view.limit < WINDOW
    assert view.warnings == (
        "the session keeps window, max_output, adopt of its first record; this handle was opened with another value",
    )
    assert (await silent.view()).warnings == ()
    assert (await client.session("new", format="openai-chat").view()).warnings[0].startswith("no window given: 128000")


async def test_a_session_has_one_format(client: CompactionClient, redis: Redis) -> None:
    await client.session("chat", format="openai-chat", window=WINDOW).record(turns("openai-chat", 1))
    wrong = client.session("chat", format="anthropic", window=WINDOW)

    with pytest.raises(Conflict, match="holds 'openai-chat' messages"):
        await wrong.view()
    with pytest.raises(Conflict, match="holds 'openai-chat' messages"):
        await wrong.record(human("a"))
    assert len(await stored(redis, "chat")) == 4


async def test_what_cannot_work_is_refused_before_any_io(client: CompactionClient) -> None:
    with pytest.raises(UnknownPolicy, match="unknown policy 'blanced': choose one of balanced"):
        client.session("chat", format="openai-chat", policy="blanced")
    with pytest.raises(UnknownFormat, match="no format 'openai'"):
        client.session("chat", format="openai")
    with pytest.raises(InvalidPolicy, match=r"trigger\.soft"):
        client.session("chat", format="openai-chat", overrides={"trigger.soft": 0.9})
    with pytest.raises(InvalidPolicy, match=r"no parameter 'trigger\.sofft'"):
        client.session("chat", format="openai-chat", overrides={"trigger.sofft": 0.5})
    with pytest.raises(InvalidPolicy, match="max_output -1: use 0 or more"):
        client.session("a", format="openai-chat", window=4_000, max_output=-1)
    with pytest.raises(InvalidPolicy, match="window 4000 minus max_output 5000"):
        client.session("chat", format="openai-chat", window=4_000, max_output=5_000)
    with pytest.raises(InvalidSetting, match="adopt 'now'"):
        client.session("chat", format="openai-chat", adopt="now")  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="session id"):
        client.session("", format="openai-chat")
    with pytest.raises(InvalidSetting, match="tenant"):
        CompactionClient.from_url("redis://localhost", tenant="A B")
    with pytest.raises(InvalidSetting, match="use redis://"):
        CompactionClient.from_url("http://localhost")


async def test_the_timeout_is_above_zero() -> None:
    for timeout in (0, -1.0, float("nan")):
        with pytest.raises(InvalidSetting, match="seconds above 0"):
            CompactionClient.from_url("redis://localhost", timeout=timeout)
