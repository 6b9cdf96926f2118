"""Every live format end to end on a real server: record, compact, view, mirror, redact, and into the SDK's call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from anthropic.resources.messages import AsyncMessages
from openai import AsyncOpenAI
from openai.resources.chat.completions import AsyncCompletions
from openai.resources.responses import AsyncResponses
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, InvalidMessage, InvalidSetting, StoreUnavailable
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_engine.formats import get, names
from offturn_worker.fake_model import FakeModel
from tests.engine.dialects import said_in
from tests.integration.host import assert_sendable, human, result, says, stored, texts, turns

WINDOW = 16_000
CREATE: dict[str, Callable[..., Any]] = {
    "chat.completions.create": AsyncCompletions.create,
    "responses.create": AsyncResponses.create,
    "messages.create": AsyncMessages.create,
}
CUT = "```bash\nls\n```"


def said(fmt: str, count: int, start: int = 0) -> list[Any]:
    return said_in(fmt, turns("openai-chat", count, start=start))


@pytest.mark.parametrize("fmt", names())
async def test_a_session_from_the_first_record_to_a_compacted_view(client: CompactionClient, fmt: str) -> None:
    form = get(fmt)
    session = client.session("chat", format=fmt, window=WINDOW)
    for raw in said(fmt, 3):
        await session.record(raw)
    raws = said(fmt, 22)
    await session.record(raws[len(said(fmt, 3)) :])
    raw_view = await session.view()
    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    view = await session.view(system="Be brief.")

    assert isinstance(outcome, Compacted)
    assert (raw_view.kind, list(raw_view.messages)) == ("raw", raws)
    assert view.kind == "compacted"
    assert_sendable(view)
    assert "module 0" in texts(list(view.messages))
    assert all(f"Please look into module {n}." in texts(list(view.messages)) for n in range(22))

    continued = await session.mirror([*view.messages, form.user("And now?")])
    assert (continued.generation, len(continued.messages)) == (view.generation, len(view.messages) + 1)
    listed = await session.mirror([*raws, form.user("And now?")])
    assert (listed.behind, listed.generation) == (False, view.generation)
    assert await stored_count(session) == len(raws) + 1


async def stored_count(session: Any) -> int:
    return sum([line["kind"] == "message" async for line in session.export()])


@pytest.mark.parametrize("fmt", names())
async def test_a_changed_list_and_a_redacted_message(client: CompactionClient, redis: Redis, fmt: str) -> None:
    form = get(fmt)
    session = client.session("chat", format=fmt, window=WINDOW)
    raws = said(fmt, 2)
    await session.record(raws)
    await session.view()
    view = await session.mirror([*raws[:-1], form.assistant("Something else."), form.user("Go on.")])
    assert list(view.messages) == [*raws[:-1], form.assistant("Something else."), form.user("Go on.")]
    assert_sendable(view)
    await session.redact((1, 2), reason="a secret")
    shown = await session.view()
    assert "cat module_0" not in texts(list(shown.messages))
    assert "def module_0" not in texts(list(shown.messages))
    assert_sendable(shown)
    assert len(await stored(redis, "chat")) == len(raws) + 2


@pytest.mark.parametrize("fmt", names())
async def test_a_view_goes_into_the_call_that_it_names(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    await session.record(said(fmt, 2))
    view = await session.view(system="Be brief.")
    if fmt == "gemini":
        assert view.method == "models.generate_content"
        assert view.kwargs().keys() == {"contents", "config"}
        return
    size = {"max_tokens": 9} if fmt == "anthropic" else {}
    bound = inspect.signature(CREATE[view.method]).bind(None, model="m", **size, **view.kwargs())
    assert "Be brief." in texts([bound.arguments])


async def test_the_responses_api_with_its_sdk(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-responses", window=WINDOW)
    await session.record(said("openai-responses", 1))
    async with FakeModel(key="sk-k") as server, AsyncOpenAI(api_key="sk-k", base_url=server.openai_url) as sdk:
        for question in ("What did you find?", "And then?"):
            await session.record(human(question))
            view = await session.view(system="Be brief.")
            response = await sdk.responses.create(model="m", **view.kwargs())
            recorded = await session.record(response.output, usage=response, view=view)
            assert recorded.warnings == ()
    log = await stored(redis, "chat")
    asked = [None, "function_call", "function_call_output", None]
    assert [item.get("type") for item in log] == [*asked, None, "message", None, "message"]
    assert log[-1]["content"][0]["type"] == "output_text"
    assert sum(event.kind == "usage" for event in await session.events()) == 2
    assert_sendable(await session.view())


async def test_who_speaks_in_a_text_observation_chat(client: CompactionClient) -> None:
    """A user message is a tool's where it follows an action, in whatever call and from whatever process it comes."""
    first = client.session("chat", format="text-observation", window=WINDOW)
    other = client.session("chat", format="text-observation", window=WINDOW)
    await first.record([human("go"), says(CUT)], ids=["1", "2"])
    await other.record(human("a.py"), ids=["3"])
    again = await other.record(human("a.py"), ids=["3"])
    assert again.first_seq > again.last_seq
    await first.record([human("stop"), says(CUT)])
    await first.record(human("no, stop"), origin="human")
    await other.record([human("material")], origin="host")
    assert await origins(first) == ["human", "assistant", "tool", "human", "assistant", "human", "host"]


async def origins(session: Any) -> list[str]:
    return [line["origin"] async for line in session.export() if line["kind"] == "message" and line["on_path"]]


async def test_an_observation_that_a_list_brings(client: CompactionClient) -> None:
    session = client.session("chat", format="text-observation", window=WINDOW)
    await session.record([human("go"), says(CUT)])
    mine = [human("go"), says(CUT), human("a.py"), says("Done."), human("thanks")]
    await session.mirror(mine)
    assert await origins(session) == ["human", "assistant", "tool", "assistant", "human"]
    await session.mirror([*mine[:2], human("b.py"), says("Fine."), human("bye")])
    assert await origins(session) == ["human", "assistant", "tool", "assistant", "human"]
    await session.amend(5, human("c.py"))
    shown = (await session.view()).messages
    assert list(shown) == [*mine[:2], human("c.py"), says("Fine."), human("bye")]
    path = [line async for line in session.export() if line["kind"] == "message" and line["on_path"]]
    assert {line["message"]["content"]: line["origin"] for line in path}["c.py"] == "tool"


async def test_a_lost_reply_is_asked_for_again_whatever_the_message_turned_out_to_be(
    strict: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = strict.session("chat", format="text-observation", window=WINDOW)
    await session.record([human("go"), says(CUT)])
    record, left = SessionStore.record, [2]

    async def lossy(self: SessionStore, *args: Any, **kwargs: Any) -> Any:
        reply = await record(self, *args, **kwargs)
        if left[0]:
            left[0] -= 1
            raise StoreUnavailable("no reply")
        return reply

    monkeypatch.setattr(SessionStore, "record", lossy)
    with pytest.raises(StoreUnavailable):
        await session.record(human("a.py"))
    await session.record(human("a.py"))
    assert await origins(session) == ["human", "assistant", "tool"]


async def test_a_tool_that_nobody_asked_is_refused(client: CompactionClient) -> None:
    session = client.session("chat", format="text-observation", window=WINDOW)
    await session.record(human("go"))
    with pytest.raises(InvalidMessage, match="record the call first"):
        await session.record(human("a.py"), origin="tool")


@pytest.mark.parametrize("fmt", names())
async def test_a_view_in_each_other_format(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    await session.record(said(fmt, 22))
    await client.run_due(summarizer=FakeSummarizer())
    own = await session.view(format=fmt)
    for target in names():
        view = await session.view(format=target, system="Be brief.")
        assert (view.format, view.kind, view.generation) == (target, "compacted", own.generation)
        assert_sendable(view)
        assert all(f"Please look into module {n}." in texts(list(view.messages)) for n in range(22))
        assert view.kwargs()
        recorded = await session.record([], usage={"input_tokens": 9_000, "output_tokens": 1}, view=view)
        assert recorded.warnings == ()
    assert (await session.view()).messages == own.messages


@pytest.mark.parametrize("target", ["gemini", "text-observation", "openai-responses"])
async def test_a_view_in_another_format_fits_and_commits_nothing(client: CompactionClient, target: str) -> None:
    session = client.session("chat", format="anthropic", window=WINDOW)
    await session.record(said("anthropic", 60))
    view = await session.view(format=target)
    assert_sendable(view)
    assert (await session.generations(), view.format) == ([], target)
    smaller = await session.overflow({"error": {"code": "context_length_exceeded"}}, sent=view)
    assert smaller.format == target
    assert smaller.tokens <= view.tokens * 0.8
    assert_sendable(smaller)


async def test_a_format_that_is_none_is_refused(client: CompactionClient) -> None:
    session = client.session("chat", format="anthropic", window=WINDOW)
    await session.record(human("go"))
    for call in (session.view(format="yaml"), session.mirror([human("go")], format="yaml")):
        with pytest.raises(InvalidSetting, match="format 'yaml'"):
            await call


async def test_what_a_view_in_another_format_lacks_is_told(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-responses", window=WINDOW)
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "hunter2"}
    await session.record([human("go"), thought, says("Done."), human("thanks")])
    view = await session.view(format="anthropic")
    [warning] = view.warnings
    assert "1 reasoning" in warning
    assert "hunter2" not in f"{view.warnings} {view.messages}"
    assert list(view.messages) == [human("go"), says("Done."), human("thanks")]
    mirrored = await session.mirror([human("go"), thought, says("Done."), human("thanks"), says("ok")], format="gemini")
    assert (mirrored.format, len(mirrored.messages)) == ("gemini", 4)


async def test_a_session_with_tool_calls_of_a_chat_seen_by_anthropic(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    await session.record([{"role": "system", "content": "Be brief."}, human("go")])
    await session.record(
        [{"role": "assistant", "content": None, "tool_calls": [call]}, result("openai-chat", "c1", "a.py")]
    )
    view = await session.view(format="anthropic")
    assert view.system == "Be brief."
    assert view.kwargs() == {
        "system": "Be brief.",
        "messages": [
            human("go"),
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}],
            },
            result("anthropic", "c1", "a.py"),
        ],
    }
