"""Each request to a model is told to the observer: the entries of a route one by one, and what hosts have asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from offturn.observing import Call, Observer
from offturn.summarizer import EXTRACTIVE, Summarizer
from offturn.testing import FakeSummarizer
from offturn_engine.compaction import Opaque, Spent
from offturn_engine.errors import SummarizerError
from offturn_engine.remote import RemoteReply, RemoteRequest
from offturn_engine.summary import SummaryReply
from offturn_models.breaker import Closed, Entry
from offturn_models.route import Route
from offturn_worker.asked import AskedRemote, asked, models_of
from tests.integration.test_models_route import REQUEST, Scripted


class Noting(Observer):
    """Keeps each call and the error that ended it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Call, str]] = []

    @contextmanager
    def call(self, model: str) -> Iterator[Call]:
        call, kind = Call(model), ""
        try:
            yield call
        except SummarizerError as error:
            kind = error.kind
            raise
        finally:
            self.calls.append((call, kind))

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [(call.model, call.finish, kind) for call, kind in self.calls]


async def test_the_entries_of_a_route_answer_for_themselves() -> None:
    noting = Noting()
    route = asked(Route([Scripted("a", "overloaded"), Scripted("b", "refused"), Scripted("c", "stop")]), noting)
    assert isinstance(route, Route)
    assert (await route.summarize(REQUEST)).model == "c"
    assert noting.told == [("a", "", "overloaded"), ("b", "refused", ""), ("c", "stop", "")]
    assert models_of(route) == ("a", "b", "c")


class Shut:
    """Lets the second entry be asked only; notes whom it was shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str, float]] = []

    async def enter(self, entry: Entry, request: object) -> str | Closed:
        self.shown.append((entry.id, entry.account, entry.timeout))
        return "pass" if entry.id == "second" else Closed(reason="auth", wait=1)

    async def leave(self, entry: Entry, shown: str, trouble: object) -> None:
        assert entry.id == "second"


async def test_who_is_not_asked_is_not_told_of_and_gates_see_the_entry_itself() -> None:
    noting, gate = Noting(), Shut()
    entries = [Scripted("a", "stop", id="first", account="x"), Scripted("b", "stop", id="second", timeout=7)]
    route: Any = asked(Route(entries), noting)
    await route.behind(gate).summarize(REQUEST)
    assert noting.told == [("b", "stop", "")]
    assert gate.shown == [("first", "x", 1.0), ("second", "scripted", 7)]


async def test_tokens_are_told_as_they_were_reported() -> None:
    noting = Noting()
    reply = SummaryReply(
        text="x", finish="length", model="m", input_tokens=5, cached_tokens=3, output_tokens=2, milliseconds=9
    )
    model: Any = asked(FakeSummarizer([reply], model="m", window=9), noting)
    assert (model.model, model.window) == ("m", 9)
    assert await model.summarize(REQUEST) == reply
    [(call, _)] = noting.calls
    assert call.finish == "length"
    assert call.spent == Spent(calls=1, input_tokens=5, cached_tokens=3, output_tokens=2, milliseconds=9)
    assert models_of(model) == ("m",)


def test_code_alone_asks_nobody() -> None:
    assert asked(EXTRACTIVE, Noting()) is EXTRACTIVE
    assert models_of(EXTRACTIVE) == ()


class Endpoints:
    async def compact(self, request: RemoteRequest) -> RemoteReply:
        opaque = Opaque(provider="anthropic", model=f"anthropic:{request.model}", data="{}")
        return RemoteReply(opaque=opaque, spent=Spent(calls=1, input_tokens=8))

    def summarizer(self, model: str) -> Summarizer:
        return FakeSummarizer([SummarizerError("auth", "m", retryable=False)], model=model)


async def test_endpoints_and_sessions_own_models_are_told_too() -> None:
    noting = Noting()
    remote = AskedRemote(Endpoints(), noting)
    await remote.compact(RemoteRequest(mode="anthropic-compact", model="large", messages=()))
    with pytest.raises(SummarizerError):
        await remote.summarizer("openai:own").summarize(REQUEST)
    assert noting.told == [("anthropic:large", "stop", ""), ("openai:own", "", "auth")]
    assert noting.calls[0][0].spent.input_tokens == 8
