"""A route is tried without a paid call: what each kind of server says, and how it is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from offturn_models.model import Model
from offturn_models.probe import Probed, probe
from offturn_models.route import parse_entry
from offturn_worker.fake_model import FakeModel
from tests.integration.shell import until

APIS = ("anthropic", "openai")
KEY = "sk-test-5fd924625f6ab16a"
SECONDS = 60.0  # what the first look loads takes some on a busy machine


def entry(api: str, server: FakeModel, name: str = "fake") -> Model:
    return parse_entry(
        f"{api}:{name}", keys={api: KEY}, base_urls={"anthropic": server.url, "openai": server.openai_url}
    )


@pytest.fixture
def at_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local server passes for the provider's own."""
    monkeypatch.setattr(Model, "at_provider", True)


@pytest.mark.parametrize("api", APIS)
async def test_a_model_that_is_there_costs_nothing(api: str) -> None:
    async with FakeModel(key=KEY, window=50_000) as server:
        said = await probe(entry(api, server), seconds=SECONDS)

    assert (said.said, said.model) == ("found", f"{api}:fake")
    assert said.window == 50_000
    assert (server.look_ups, server.calls) == (["/v1/models/fake"], [])


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("options", "name", "said", "status"),
    [
        ({"key": "another"}, "fake", "auth", 401),
        ({}, "none", "unlisted", None),
        ({"models": None}, "fake", "cannot_tell", 404),
        ({"looking_up": "garbled"}, "fake", "cannot_tell", None),
        ({"looking_up": 405}, "fake", "cannot_tell", 405),
        ({"looking_up": 403}, "fake", "auth", 403),
        ({"looking_up": 402}, "fake", "quota", 402),
        ({"looking_up": 429}, "fake", "rate_limited", 429),
        ({"looking_up": 500}, "fake", "unavailable", 500),
        ({"looking_up": 529}, "fake", "overloaded", 529),
    ],
)
async def test_what_a_compatible_server_says(
    api: str, options: dict[str, Any], name: str, said: str, status: int | None
) -> None:
    async with FakeModel(**options) as server:
        found = await probe(entry(api, server, name), seconds=SECONDS)

    assert found == Probed(model=f"{api}:{name}", said=said, status=status)  # type: ignore[arg-type]
    assert server.calls == []


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("name", "options", "said"), [("none", {}, "not_found"), ("fake", {"looking_up": "garbled"}, "garbled")]
)
@pytest.mark.usefixtures("at_provider")
async def test_the_provider_itself_is_not_asked_twice(api: str, name: str, options: dict[str, Any], said: str) -> None:
    async with FakeModel(**options) as server:
        assert (await probe(entry(api, server, name), seconds=SECONDS)).said == said
        assert len(server.look_ups) == 1


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_says_nothing_is_given_up(api: str) -> None:
    async with FakeModel(looking_up="hang") as server:
        assert (await probe(entry(api, server), seconds=0.3)).said == "timeout"
    nobody = parse_entry(f"{api}:fake", keys={api: KEY}, base_urls={api: "http://127.0.0.1:1"})
    assert (await probe(nobody, seconds=SECONDS)).said == "unavailable"


@pytest.mark.parametrize("stage", ["deprecated", "retired"])
async def test_a_model_at_its_end(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeModel() as server:
        model = entry("anthropic", server)
        facts = await model.retrieve_facts()

        async def aged() -> Any:
            return facts.model_copy(update={"lifecycle": stage})

        monkeypatch.setattr(model, "retrieve_facts", aged)
        found = await probe(model, seconds=SECONDS)

    assert (found.said, found.lifecycle) == ("found", stage)


async def test_a_cancelled_look_ends() -> None:
    async with FakeModel(looking_up="hang") as server:
        task = asyncio.create_task(probe(entry("openai", server), seconds=60))
        await until(lambda: server.look_ups)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def test_an_address_is_shown_without_what_may_be_a_key() -> None:
    model = parse_entry("openai:x@http://host:1/v1?key=secret", keys={"openai": KEY})
    assert model.address == "http://host:1/v1"
