"""Which errors and answers of both SDKs count as too long: made by hand, built from responses, and from real calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from offturn import CompactionClient, InvalidSetting, View, is_overflow
from offturn.overflow import Overflow
from offturn_engine.formats import get
from offturn_worker.fake_model import FakeModel
from tests.integration.host import FORMATS, human, long_text, says

PROMPT = "prompt is too long: 210000 tokens > 200000 maximum"
OPENAI = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. "
    "Please reduce the length of the messages."
)
GEMINI = "The input token count (1189862) exceeds the maximum number of tokens allowed (1048576)."
LLAMA = {
    "code": 400,
    "message": "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 9000,
    "n_ctx": 8192,
}


class Failure(Exception):
    """Whatever attributes an SDK's exception may have."""

    def __init__(self, text: str = "", **attributes: Any) -> None:
        super().__init__(text)
        self.__dict__.update(attributes)


@dataclass
class Answer:
    """An SDK's response object."""

    stop_reason: str | None = None
    choices: tuple[Any, ...] = ()
    usage: Any = None


@dataclass
class Choice:
    finish_reason: str


def response(status: int, body: Any) -> httpx2.Response:
    return httpx2.Response(status, json=body, request=httpx2.Request("POST", "http://model/v1"))


def of_anthropic(status: int, body: Any) -> Exception:
    return anthropic.AsyncAnthropic(api_key="k")._make_status_error_from_response(response(status, body))


def of_openai(status: int, body: Any) -> Exception:
    return openai.AsyncOpenAI(api_key="k")._make_status_error_from_response(response(status, body))


def described(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


OVERFLOWS = [
    (of_anthropic(400, described("invalid_request_error", PROMPT)), 210_000, 200_000),
    (of_anthropic(400, {"error": LLAMA}), 9_000, 8_192),
    (of_anthropic(413, described("request_too_large", "Request exceeds the maximum size")), None, None),
    (of_anthropic(413, {}), None, None),
    (of_openai(400, {"error": {"message": OPENAI, "code": "context_length_exceeded"}}), 9_000, 8_192),
    (of_openai(400, {"error": {"message": "Too long.", "code": "context_length_exceeded"}}), None, None),
    (of_openai(400, {"error": LLAMA}), 9_000, 8_192),
    (of_openai(400, {"message": OPENAI, "type": "BadRequestError"}), 9_000, 8_192),
    (of_openai(413, {}), None, None),
    (
        of_openai(
            429,
            {"error": {"message": "Request too large for m on TPM: Limit 30000, Requested 59353.", "type": "tokens"}},
        ),
        None,
        30_000,
    ),
    (
        anthropic.BadRequestError("too long", response=response(400, None), body=described("x", PROMPT)),
        210_000,
        200_000,
    ),
    (openai.BadRequestError("too long", response=response(400, None), body=LLAMA), 9_000, 8_192),
    (Failure(PROMPT, status_code=400), 210_000, 200_000),
    (Failure(message=OPENAI, status=400), 9_000, 8_192),
    (Failure(error_code="context_length_exceeded"), None, None),
    (Failure(code="context_length_exceeded", status_code=400), None, None),
    (Failure(type="exceed_context_size_error", body={"n_prompt_tokens": 900, "n_ctx": 512}), 900, 512),
    (Failure(status_code=400, body={"error": {"message": "x", **LLAMA}}), 9_000, 8_192),
    (Failure(response=Failure(status_code=413)), None, None),
    (Failure("prompt is too long: 9 tokens > 5 maximum", status_code=400), 9, None),
    ({"error": LLAMA}, 9_000, 8_192),
    (
        {"object": "response", "status": "failed", "error": {"code": "context_length_exceeded", "message": "x"}},
        None,
        None,
    ),
    ({"status": "incomplete", "incomplete_details": {"reason": "model_context_window_exceeded"}}, None, None),
    (Failure(GEMINI, code=400, status="INVALID_ARGUMENT", message=GEMINI), 1_189_862, 1_048_576),
    ({"stop_reason": "model_context_window_exceeded"}, None, None),
    (Answer("model_context_window_exceeded", usage={"input_tokens": 7_000, "output_tokens": 1_192}), 7_000, 8_192),
]

OTHERS = [
    {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    {"object": "response", "status": "completed", "error": None, "incomplete_details": None, "output": []},
    Failure(GEMINI, code=429, status="RESOURCE_EXHAUSTED", message=GEMINI),
    {"candidates": [{"finishReason": "MAX_TOKENS"}]},
    of_anthropic(429, described("rate_limit_error", "Too many tokens, please wait")),
    of_anthropic(529, described("overloaded_error", "Overloaded")),
    of_anthropic(400, described("invalid_request_error", "messages: at least one message is required")),
    of_anthropic(401, described("authentication_error", "invalid x-api-key")),
    of_openai(400, {"error": {"message": "no such parameter", "type": "invalid_request_error"}}),
    of_openai(429, {"error": {"message": "quota", "code": "insufficient_quota"}}),
    of_openai(500, {}),
    openai.APITimeoutError(request=httpx2.Request("POST", "http://model/v1")),
    anthropic.APIConnectionError(request=httpx2.Request("POST", "http://model/v1")),
    ValueError("no"),
    KeyboardInterrupt(),
    Answer("max_tokens"),
    Answer("end_turn"),
    Answer(choices=(Choice("length"),)),
    {"stop_reason": None},
    {"choices": [{"finish_reason": "length"}]},
    {"role": "assistant", "content": PROMPT, "message": PROMPT},
    PROMPT,
    None,
    17,
]


@pytest.mark.parametrize(("value", "tokens", "window"), OVERFLOWS)
def test_overflows(value: Any, tokens: int | None, window: int | None) -> None:
    assert is_overflow(value)
    assert Overflow.of(value) == Overflow(tokens, window)


@pytest.mark.parametrize("value", OTHERS)
def test_others(value: Any) -> None:
    assert not is_overflow(value)


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel() as server:
        yield server


async def call(model: FakeModel, view: View, *, stream: bool) -> Any:
    """One call of the format's SDK; its answer."""
    options: dict[str, Any] = {"model": "fake", **view.kwargs()}
    if view.format == "anthropic":
        async with anthropic.AsyncAnthropic(api_key="k", base_url=model.url, max_retries=0) as client:
            if not stream:
                return await client.messages.create(**options, max_tokens=500)
            async with client.messages.stream(**options, max_tokens=500) as events:
                return await events.get_final_message()
    async with openai.AsyncOpenAI(api_key="k", base_url=model.openai_url, max_retries=0) as other:
        if not stream:
            return await other.chat.completions.create(**options, max_completion_tokens=500)
        chunks = await other.chat.completions.create(**options, max_completion_tokens=500, stream=True)
        return [chunk async for chunk in chunks][-1]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("behaviour", ["too_long", "too_long_llama", "too_long_late"])
@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_turn_survives_a_prompt_that_is_too_long(
    client: CompactionClient, model: FakeModel, fmt: str, behaviour: Any, stream: bool
) -> None:
    session = client.session("chat", format=fmt, window=60_000)
    for number in range(16):
        await session.record([human(long_text(6_000, f"Question {number}:")), says(f"Answer {number}.")])
    last = human("So what is the verdict? Please answer in one line.")
    await session.record(last)
    model.script([behaviour, behaviour])

    sent, tries = await session.view(), 0
    while True:
        tries += 1
        try:
            answer: Any = await call(model, sent, stream=stream)
        except (anthropic.APIStatusError, openai.APIStatusError) as error:
            answer = error
        if not is_overflow(answer):
            break
        smaller = await session.overflow(answer, sent=sent)
        assert smaller.estimate <= 0.8 * sent.estimate
        assert get(fmt).problems(smaller.messages) == []
        assert smaller.messages[-1] == last
        sent = smaller
    assert tries == 3
    with pytest.raises(InvalidSetting):
        await session.overflow(answer, sent=sent)


async def test_an_unrelated_error_of_a_call_is_raised_as_it_is(client: CompactionClient, model: FakeModel) -> None:
    session = client.session("chat", format="openai-chat", window=60_000)
    await session.record(human("Hello."))
    sent = await session.view()
    model.script([529])
    with pytest.raises(openai.InternalServerError) as caught:
        await call(model, sent, stream=False)
    with pytest.raises(openai.InternalServerError) as again:
        await session.overflow(caught.value, sent=sent)
    assert again.value is caught.value
