"""Both SDKs against the local wire-format server: every ending a model call has, on both APIs."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

import pytest

from offturn_config.errors import ConfigError, InvalidSetting
from offturn_engine.errors import SummarizerError
from offturn_engine.provider_errors import Kind
from offturn_engine.summary import SummaryRequest
from offturn_models.answer import Draft
from offturn_models.anthropic import Anthropic
from offturn_models.errors import (
    AuthFailed,
    BadAnswer,
    ConnectionDropped,
    InputTooLong,
    ModelError,
    ModelNotFound,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    RequestRejected,
    TimedOut,
)
from offturn_models.openai import OpenAI
from offturn_worker.fake_model import Behaviour, Call, FakeModel
from offturn_worker.fake_model.behaviour import Scripted
from tests.conftest import TIMEOUT
from tests.integration.clocks import Deadlines
from tests.integration.shell import until

KEY = "sk-test-5fd924625f6ab16a"
SECRET = "xylophone"  # stands for session content: must be in no error
SAID = f"Please keep the {SECRET} endpoint as it is. It must answer within 300 ms."
CONTENT = f"""<<<transcript 00aa
[m0 human]
{SAID}

[m1 assistant]
I fixed the handler and added a test. The tests passed. Next I will update the notes in docs/notes.md.

00aa transcript>>>

Write the record.
## Goal
(What is wanted.)
## Constraints and Preferences
(Limits.)
## Done
(Finished work.)
## In Progress
(Open work.)"""

Summarizer: TypeAlias = Anthropic | OpenAI
Build: TypeAlias = Callable[..., Summarizer]


def request(**changes: int) -> SummaryRequest:
    return SummaryRequest(
        system="You keep the record.",
        content=CONTENT,
        max_output_tokens=changes.get("max_output_tokens", 900),
        titles=("Goal", "Constraints and Preferences", "Done", "In Progress"),
        source=CONTENT,
        key="k",
    )


@pytest.fixture
async def server() -> AsyncIterator[FakeModel]:
    async with FakeModel(key=KEY, cached_tokens=7) as running:
        yield running


@pytest.fixture(params=["anthropic", "openai"])
def build(request: pytest.FixtureRequest, server: FakeModel) -> Build:
    def make(*, key: str = KEY, timeout: float = 20.0) -> Summarizer:
        if request.param == "anthropic":
            return Anthropic("some-model", api_key=key, base_url=server.url, timeout=timeout)
        return OpenAI("some-model", api_key=key, base_url=server.openai_url, timeout=timeout)

    return make


async def failure(summarizer: Summarizer) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await summarizer.summarize(request())
    return caught.value


@pytest.fixture
def drafts(monkeypatch: pytest.MonkeyPatch) -> list[Draft]:
    """The answers that are being read."""
    made: list[Draft] = []

    def noted(*, room: int) -> Draft:
        made.append(Draft(room=room))
        return made[-1]

    monkeypatch.setattr("offturn_models.answer.Draft", noted)
    return made


async def called(server: FakeModel) -> Call:
    async with asyncio.timeout(120):  # what the first call loads takes seconds on a busy machine
        await server.called.wait()
    return server.calls[0]


async def test_a_summary_comes_back(build: Build, server: FakeModel) -> None:
    summarizer = build()
    reply = await summarizer.summarize(request())
    assert reply.finish == "stop"
    assert [line for line in reply.text.splitlines() if line.startswith("## ")] == [
        f"## {title}" for title in request().titles
    ]
    assert SECRET in reply.text
    assert reply.model == summarizer.model
    call = server.calls[0]
    assert (call.model, call.max_tokens, call.stream) == ("some-model", 900, True)
    assert call.auth == "authorization"


async def test_usage_counts_cached_tokens_as_input(build: Build) -> None:
    """One API leaves them out of its input tokens, the other does not."""
    reply = await build().summarize(request())
    assert (reply.input_tokens > 50, reply.cached_tokens) == (True, 7)
    assert 0 < reply.output_tokens <= 900


async def test_both_apis_report_the_same_usage(server: FakeModel) -> None:
    ours = Anthropic("m", api_key=KEY, base_url=server.url), OpenAI("m", api_key=KEY, base_url=server.openai_url)
    one, other = [await summarizer.summarize(request()) for summarizer in ours]
    assert (one.input_tokens, one.cached_tokens, one.output_tokens, one.text) == (
        other.input_tokens,
        other.cached_tokens,
        other.output_tokens,
        other.text,
    )


@pytest.mark.parametrize(
    ("scripted", "kind", "error", "retryable"),
    [
        (429, "rate_limited", RateLimited, True),
        (500, "unavailable", Overloaded, True),
        (529, "overloaded", Overloaded, True),
        (504, "timeout", TimedOut, True),
        (402, "quota", QuotaExceeded, False),
        (401, "auth", AuthFailed, False),
        (404, "not_found", ModelNotFound, False),
        (400, "bad_request", RequestRejected, False),
        ("error_event", "overloaded", Overloaded, True),
        ("too_long", "too_long", InputTooLong, False),
        ("too_long_llama", "too_long", InputTooLong, False),
        ("too_long_late", "too_long", InputTooLong, False),
        ("drop", "dropped", ConnectionDropped, True),
        ("end", "dropped", ConnectionDropped, True),
        ("empty", "empty", BadAnswer, True),
        ("garbled", "garbled", BadAnswer, True),
    ],
)
async def test_every_failure_is_typed_and_says_nothing_of_the_session(
    build: Build, server: FakeModel, scripted: Scripted, kind: Kind, error: type[ModelError], retryable: bool
) -> None:
    server.script([scripted])
    raised = await failure(build())
    assert (type(raised), raised.kind, raised.retryable) == (error, kind, retryable)
    assert len(server.calls) == 1  # no SDK retries behind our back
    shown = "".join(traceback.format_exception(raised, chain=True)) + repr(raised) + repr(vars(raised))
    assert SECRET not in shown
    assert KEY not in shown
    assert (raised.__cause__, raised.__context__) == (None, None)
    assert "some-model" in str(raised)


async def test_a_rate_limit_says_when_to_come_back(build: Build, server: FakeModel) -> None:
    server.script([Behaviour(name="status", status=429, retry_after=300)])
    raised = await failure(build())
    assert (raised.retry_after, raised.status, raised.request_id) == (300.0, 429, "req_fake")
    assert "retry after 300 s" in str(raised)


@pytest.mark.parametrize("dialect", ["too_long", "too_long_llama"])
async def test_too_long_carries_the_numbers(build: Build, server: FakeModel, dialect: Scripted) -> None:
    server.script([dialect])
    raised = await failure(build())
    assert raised.tokens is not None
    assert raised.limit == raised.tokens // 2


async def test_a_cut_answer_is_no_success(build: Build, server: FakeModel) -> None:
    server.script(["cut"])
    assert (await build().summarize(request())).finish == "length"


async def test_the_cap_cuts(build: Build) -> None:
    reply = await build().summarize(request(max_output_tokens=12))
    assert (reply.finish, reply.output_tokens <= 12) == ("length", True)


async def test_a_model_that_declines(build: Build, server: FakeModel) -> None:
    server.script(["refusal"])
    assert (await build().summarize(request())).finish == "refused"


async def test_a_wrong_key(build: Build) -> None:
    assert (await failure(build(key="sk-wrong"))).kind == "auth"


@pytest.mark.parametrize("silence", ["hang", "stall"])
async def test_silence_ends_at_the_deadline(
    build: Build, server: FakeModel, silence: Scripted, drafts: list[Draft], monkeypatch: pytest.MonkeyPatch
) -> None:
    deadlines = Deadlines()
    monkeypatch.setattr("offturn_models.answer.asyncio", deadlines)
    server.script([silence])
    call = asyncio.create_task(build(timeout=100.0).summarize(request()))
    seen = await called(server)  # however long the request took to get there
    await until(lambda: drafts[0].events or silence == "hang")
    deadlines.end()
    with pytest.raises(TimedOut) as raised:
        await call
    assert isinstance(raised.value, SummarizerError)
    assert deadlines.seconds == [100.0]
    async with asyncio.timeout(TIMEOUT):
        await seen.disconnected.wait()


@pytest.mark.parametrize("silence", ["hang", "stall"])
async def test_cancelling_closes_the_connection(
    build: Build, server: FakeModel, silence: Scripted, drafts: list[Draft]
) -> None:
    server.script([silence])
    call = asyncio.create_task(build().summarize(request()))
    seen = await called(server)
    await until(lambda: drafts[0].events or silence == "hang")
    assert not seen.disconnected.is_set()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    async with asyncio.timeout(TIMEOUT):
        await seen.disconnected.wait()


async def test_nobody_listens() -> None:
    raised = await failure(OpenAI("m", base_url="http://127.0.0.1:9/v1", timeout=5))
    assert (raised.kind, raised.raised) == ("unavailable", "ConnectError")


@pytest.mark.parametrize("status", [302, 307, 308])
async def test_a_transcript_follows_no_redirect(server: FakeModel, status: int) -> None:
    """It goes to the address that was configured; another one is said to be wrong, at once."""
    asked: list[bytes] = []

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        headers = f"Location: {server.openai_url}/chat/completions\r\nContent-Length: 0\r\nConnection: close"
        writer.write(f"HTTP/1.1 {status} Elsewhere\r\n{headers}\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(redirect, "127.0.0.1", 0) as elsewhere:
        url = f"http://127.0.0.1:{elsewhere.sockets[0].getsockname()[1]}"
        for build in (Anthropic, OpenAI):
            assert (await failure(build("some-model", api_key=KEY, base_url=url, timeout=20.0))).kind == "not_found"

    assert len(asked) == 2
    assert server.calls == []


async def test_no_session_content_in_logs(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    """The root logger at DEBUG makes one SDK log whole requests."""
    with caplog.at_level(logging.DEBUG):
        await build().summarize(request())
    assert SECRET not in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize(("make", "variable"), [(Anthropic, "ANTHROPIC"), (OpenAI, "OPENAI")])
@pytest.mark.parametrize("key", [None, ""])
def test_a_missing_key_names_the_variable(make: Callable[..., Summarizer], variable: str, key: str | None) -> None:
    with pytest.raises(InvalidSetting, match=f"OFFTURN_{variable}_API_KEY") as caught:
        make("m", api_key=key)
    assert isinstance(caught.value, ConfigError)


@pytest.mark.parametrize("make", [Anthropic, OpenAI])
def test_key_and_address_are_hidden(make: Callable[..., Summarizer]) -> None:
    made = make("m", api_key=KEY, base_url="http://hidden.example/v1")
    assert KEY not in repr(made) + repr(vars(made))
    assert "hidden" not in repr(made) + repr(vars(made))


@pytest.mark.parametrize("bad", ["not a url", "ftp://host/v1", "http://", "http://host:99999/v1"])
def test_a_bad_address_is_said_at_once(bad: str) -> None:
    with pytest.raises(InvalidSetting, match="base URL of openai:m"):
        OpenAI("m", base_url=bad)


def test_credentials_in_an_address_are_refused_without_being_shown() -> None:
    with pytest.raises(InvalidSetting, match="OFFTURN_OPENAI_API_KEY") as caught:
        OpenAI("m", base_url=f"http://user:{KEY}@host/v1")
    assert KEY not in str(caught.value)


def test_the_cap_goes_by_the_name_the_server_knows() -> None:
    assert OpenAI("m", api_key=KEY).token_parameter == "max_completion_tokens"
    assert OpenAI("m", base_url="http://host/v1").token_parameter == "max_tokens"
    assert OpenAI("m", base_url="http://host/v1", token_parameter="max_completion_tokens").token_parameter == (
        "max_completion_tokens"
    )


def test_importing_the_clients_loads_no_sdk() -> None:
    code = "import sys, offturn_models.route; print([m for m in ('anthropic', 'openai', 'httpx2') if m in sys.modules])"
    path = ":".join(sys.path)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
    )
    assert ran.stdout.strip() == "[]"
