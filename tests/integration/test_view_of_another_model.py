"""`view(model=...)`: for that call, by what is known of that model, and nothing is committed or learnt."""

from __future__ import annotations

import pytest

from offturn import CompactionClient, InvalidSetting, Usage
from tests.integration.host import assert_sendable, human, says, turns

WINDOW = 16_000
OWN, OTHER = "openai:gpt-5", "anthropic:claude-opus-5-5"


async def test_another_model_is_measured_by_its_family_and_commits_nothing(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW, model=OWN)
    await session.record(turns("openai-chat", 3))
    own = await session.view()
    other = await session.view(model=OTHER)
    mirrored = await session.mirror(list(own.messages), model=OTHER)

    assert other.messages == own.messages
    assert other.tokens == mirrored.tokens == pytest.approx(own.tokens * 1.45, abs=2)
    assert (await session.view(model=OWN)).tokens == own.tokens

    await session.record(turns("openai-chat", 60, start=3))
    tight = await session.view(model=OTHER)
    assert_sendable(tight)
    assert await session.generations() == []


async def test_what_another_model_counted_teaches_nothing(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW, model=OWN)
    await session.record([human("go"), says("Done."), human("thanks " * 500)])
    own, other = await session.view(), await session.view(model=OTHER)
    await session.record(says("ok"), usage=Usage(other.tokens * 2), view=other)

    assert (await session.view(generation=0)).tokens - own.tokens < 20


async def test_a_model_that_is_no_name_is_refused(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(human("go"))
    for call in (session.view(model=7), session.mirror([human("go")], model=7)):  # type: ignore[arg-type]
        with pytest.raises(InvalidSetting, match="model is a int"):
            await call
