"""Both summarizers against a real server: what comes back, what is counted, what is too long, and what a cancel frees."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import anthropic
import openai
import pytest

from offturn import CompactionClient
from offturn_engine.reply import Refusal, check
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_models.anthropic import Anthropic
from offturn_models.errors import AuthFailed, InputTooLong
from offturn_models.openai import OpenAI
from tests.integration.host import assert_sendable, human, long_text, says
from tests.llm.conftest import PATIENCE, Server

pytestmark = [pytest.mark.timeout(1_800)]

Build: TypeAlias = Callable[..., Anthropic | OpenAI]
TITLES = ("Goal", "Done", "Next Steps")
SOURCE = (
    "[m0 human]\nFix ticket 4711 in src/app.py.\n\n[m1 assistant]\nI read src/app.py and ran the tests: 3 failed.\n"
)


def request(source: str = SOURCE, *, most: int = 48) -> SummaryRequest:
    headings = "\n".join(f"## {title}" for title in TITLES)
    content = f"{source}\nWrite the record under these headings:\n{headings}"
    return SummaryRequest(
        system="You keep the record.", content=content, max_output_tokens=most, titles=TITLES, source=source, key="k"
    )


async def test_round_trip_usage_and_cached_tokens(build: Build) -> None:
    summarizer = build()
    asked = request(SOURCE * 12)
    first = await summarizer.summarize(asked)
    second = await summarizer.summarize(asked)

    for reply in (first, second):
        assert reply.finish in ("stop", "length")
        assert reply.text
        assert reply.model == summarizer.model
        assert 0 < reply.output_tokens <= asked.max_output_tokens
    assert first.input_tokens == second.input_tokens > 200
    assert second.cached_tokens > 0.9 * second.input_tokens  # input includes cached, in either dialect


async def test_a_wrong_key(build: Build, server: Server) -> None:
    if server.key == "none":
        pytest.skip("the server that was named asks for no key")
    with pytest.raises(AuthFailed):
        await build(api_key="sk-wrong").summarize(request())


async def test_an_answer_by_a_schema_has_its_keys_and_is_no_summary(server: Server) -> None:
    keys = ("goal", "done", "next")
    short = {"type": "string", "maxLength": 40}
    schema: Any = {"type": "object", "properties": dict.fromkeys(keys, short), "required": [*keys]}
    async with openai.AsyncOpenAI(
        base_url=f"{server.url}/v1", api_key=server.key, timeout=PATIENCE, max_retries=0
    ) as llm:
        answer = await llm.chat.completions.create(
            model=server.model,
            messages=[{"role": "user", "content": request().content}],
            max_tokens=200,
            response_format={"type": "json_schema", "json_schema": {"name": "record", "schema": schema}},
        )
    text = answer.choices[0].message.content or ""
    if answer.choices[0].finish_reason == "stop":
        assert set(json.loads(text)) == set(keys)
    told = check(SummaryReply(text=text, finish="stop", model="m"), request(), language="en", budget=400)
    assert isinstance(told, Refusal)


async def test_a_request_beyond_the_window_says_how_long_it_was(build: Build, server: Server) -> None:
    with pytest.raises(InputTooLong) as caught:
        await build().summarize(request("a word and another one. " * server.window))
    assert caught.value.limit == server.window
    assert (caught.value.tokens or 0) > server.window


async def test_an_answer_that_meets_the_end_of_the_window_is_cut(build: Build, server: Server) -> None:
    source = "one two three four five six. " * (server.window // 8)
    reply = await build().summarize(request(source, most=server.window))
    assert reply.finish in ("length", "stop")
    if reply.finish == "length":
        assert isinstance(check(reply, request(source), language="en", budget=server.window), Refusal)


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
async def test_overflow_gives_a_view_that_this_server_takes(
    client: CompactionClient, server: Server, dialect: str
) -> None:
    session = client.session("chat", format=dialect, window=128_000)
    for number in range(24):
        await session.record([human(f"Step {number}."), says(long_text(1_200, f"step {number}"))])
    await session.record(human("What was done?"))

    async with (
        anthropic.AsyncAnthropic(base_url=server.url, api_key=server.key, timeout=PATIENCE, max_retries=0) as claude,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=server.key, timeout=PATIENCE, max_retries=0) as gpt,
    ):

        async def ask(view: Any) -> Any:
            create: Any = claude.messages.create if dialect == "anthropic" else gpt.chat.completions.create
            return await create(model=server.model, max_tokens=8, **view.kwargs())

        view, refusals = await session.view(), 0
        while True:
            try:
                answer = await ask(view)
                break
            except (anthropic.APIError, openai.APIError) as error:
                refusals += 1
                before, view = view, await session.overflow(error, sent=view)  # raises what it does not know
                assert view.tokens < before.tokens
                assert_sendable(view)
    assert 1 <= refusals <= 3
    assert answer.usage
    assert view.messages[-1] == human("What was done?")


async def test_a_cancelled_call_frees_the_slot(build: Build, server: Server) -> None:
    await until(server, busy=False)
    call = asyncio.create_task(build().summarize(request("Count: one, two, three. " * 20, most=2_000)))
    await until(server, busy=True)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert call.cancelled()
    await until(server, busy=False)


async def until(server: Server, *, busy: bool) -> None:
    async with asyncio.timeout(PATIENCE):
        while await server.busy() is not busy:  # noqa: ASYNC110 -- the state of another process
            await asyncio.sleep(0.05)
