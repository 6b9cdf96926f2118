"""A route: who is asked, who is asked next, and what is said when nobody answers."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from offturn_config.errors import InvalidSetting
from offturn_engine.provider_errors import PERMANENT, RETRYABLE, Kind, problem
from offturn_engine.summary import Finish, SummaryReply, SummaryRequest
from offturn_models.anthropic import Anthropic
from offturn_models.errors import ModelError, failed
from offturn_models.openai import OpenAI
from offturn_models.prices import ratio_of
from offturn_models.route import CHEAP, Route, parse_route
from offturn_worker.fake_model import FakeModel

REQUEST = SummaryRequest(system="s", content="## Goal", max_output_tokens=200, titles=("Goal",), source="", key="k")
KEYS = {"anthropic": "sk-a", "openai": "sk-o"}


@dataclass
class Scripted:
    """Answers with a finish, or fails with a kind."""

    model: str
    says: Kind | Finish
    window: int = 100
    id: str = "scripted"
    account: str = "scripted"
    timeout: float = 1.0
    asked: list[SummaryRequest] = field(default_factory=list)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.asked.append(request)
        if self.says in {"stop", "length"}:
            return SummaryReply(text="x", finish="stop" if self.says == "stop" else "length", model=self.model)
        if self.says == "refused":
            return SummaryReply(text="", finish="refused", model=self.model)
        raise failed(problem(self.says), model=self.model)  # type: ignore[arg-type]


async def test_the_first_that_answers() -> None:
    first, second = Scripted("a", "stop"), Scripted("b", "stop")
    assert (await Route([first, second]).summarize(REQUEST)).model == "a"
    assert not second.asked


@pytest.mark.parametrize("kind", sorted(RETRYABLE | PERMANENT | {"refused"}))
async def test_the_next_is_asked_where_one_failed(kind: Kind) -> None:
    assert (await Route([Scripted("a", kind), Scripted("b", "stop")]).summarize(REQUEST)).model == "b"


async def test_a_cut_answer_is_the_callers_business() -> None:
    second = Scripted("b", "stop")
    assert (await Route([Scripted("a", "length"), second]).summarize(REQUEST)).finish == "length"
    assert not second.asked


async def test_too_long_goes_to_larger_windows_only() -> None:
    same, larger = Scripted("b", "stop", window=100), Scripted("c", "stop", window=200)
    assert (await Route([Scripted("a", "too_long"), same, larger]).summarize(REQUEST)).model == "c"
    assert not same.asked
    with pytest.raises(ModelError) as caught:
        await Route([Scripted("a", "too_long"), same]).summarize(REQUEST)
    assert caught.value.kind == "too_long"


async def test_the_last_error_lists_what_each_one_said() -> None:
    with pytest.raises(ModelError) as caught:
        await Route([Scripted("a", "quota"), Scripted("b", "refused"), Scripted("c", "timeout")]).summarize(REQUEST)
    assert caught.value.tried == (("a", "quota"), ("b", "refused"), ("c", "timeout"))
    assert "a: quota" in str(caught.value)
    assert caught.value.retryable


async def test_a_refusal_by_all_is_an_answer() -> None:
    assert (await Route([Scripted("a", "quota"), Scripted("b", "refused")]).summarize(REQUEST)).finish == "refused"


async def test_fails_over_between_real_apis() -> None:
    async with FakeModel() as server:
        server.script([529])
        route = parse_route(f"anthropic:one@{server.url}, openai:two@{server.openai_url}", keys=KEYS)
        reply = await route.summarize(REQUEST)
        assert (reply.model, [call.path for call in server.calls]) == (
            "openai:two",
            ["/v1/messages", "/v1/chat/completions"],
        )
        assert reply.text


def test_a_route_as_text() -> None:
    route = parse_route(
        "anthropic:claude-haiku-5-5,openai:gpt-6-luna,openai:org/model:tag@http://127.0.0.1:8080/v1",
        keys=KEYS,
        window=9_000,
        timeout=7,
    )
    first, second, third = route.entries
    assert isinstance(first, Anthropic)
    assert isinstance(second, OpenAI)
    assert isinstance(third, OpenAI)
    assert (route.model, route.window) == ("anthropic:claude-haiku-5-5", 9_000)
    assert (second.model, second.timeout, second.token_parameter) == ("openai:gpt-6-luna", 7, "max_completion_tokens")
    assert (third.model, third.token_parameter) == ("openai:org/model:tag", "max_tokens")


def test_a_base_url_from_the_settings() -> None:
    entry = parse_route("openai:m", keys={}, base_urls={"openai": "http://127.0.0.1:8080/v1"}).entries[0]
    assert isinstance(entry, OpenAI)
    assert entry.token_parameter == "max_tokens"


@pytest.mark.parametrize("provider", sorted(CHEAP))
def test_a_provider_alone_is_its_cheap_model(provider: str) -> None:
    [entry] = parse_route(provider, keys=KEYS).entries
    assert entry.model == f"{provider}:{CHEAP[provider]}"
    ratio = ratio_of("anthropic:claude-opus-5-5", entry.model)
    assert ratio is not None
    assert ratio > 10
    with pytest.raises(InvalidSetting, match=f"{provider}.*names no model"):
        parse_route(provider, keys=KEYS, base_urls={provider: "http://127.0.0.1:8080"})


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "names no model"),
        (" , ", "names no model"),
        ("gpt-6-luna", "no provider 'gpt-6-luna'"),
        ("mistral:small", "mistral:small.*no provider 'mistral'"),
        ("openai:", "openai:.*names no model"),
        ("openai:@http://127.0.0.1/v1", "names no model"),
        ("openai:a b", "names no model"),
        ("openai:m@http://", "base URL of openai:m"),
    ],
)
def test_a_bad_text_is_said_with_the_remedy(spec: str, says: str) -> None:
    with pytest.raises(InvalidSetting, match=says):
        parse_route(spec, keys=KEYS)


def test_a_missing_key_is_said_when_the_route_is_read() -> None:
    with pytest.raises(InvalidSetting, match="OFFTURN_ANTHROPIC_API_KEY"):
        parse_route("openai:m,anthropic:m", keys={"openai": "sk-o"})


def test_a_secret_in_a_text_is_not_repeated() -> None:
    with pytest.raises(InvalidSetting) as caught:
        parse_route("opanai:m@http://user:hunter2@host/v1", keys=KEYS)
    assert "hunter2" not in str(caught.value)
