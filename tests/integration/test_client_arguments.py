"""Arguments that cannot work are named, with a remedy: nobody meets an AttributeError from inside."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from redis.asyncio import Redis

import offturn
from offturn import (
    CannotFit,
    CompactionClient,
    InvalidMessage,
    InvalidPolicy,
    InvalidSetting,
    OffturnError,
    Refused,
    Session,
    fit,
)
from offturn_engine.formats import names
from offturn_engine.messages import ORIGINS
from tests.integration.host import human, says, stored

WINDOW = 16_000

Call: TypeAlias = Callable[[Any], Awaitable[object]]


@pytest.mark.parametrize("name", [42, None, b"chat", ("a", "b")])
async def test_a_session_id_is_text(client: CompactionClient, name: Any) -> None:
    with pytest.raises(InvalidSetting, match=r"session id is of type .*use a string such as f'telegram:\{chat_id\}'"):
        client.session(name, format="openai-chat")
    with pytest.raises(InvalidSetting, match="session id"):
        await client.stored_config(name)


@pytest.mark.parametrize("size", ["128k", 128_000.0, 1e5, True, [128_000], float("nan")])
@pytest.mark.parametrize("name", ["window", "max_output"])
async def test_sizes_are_whole_numbers(client: CompactionClient, name: str, size: Any) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    wrong = {name: size}

    with pytest.raises(InvalidSetting, match=f"{name} .*use a whole number of tokens"):
        client.session("chat", format="openai-chat", **wrong)
    for call in (session.view, lambda **sizes: session.mirror([human("a")], **sizes)):
        with pytest.raises(InvalidSetting, match=f"{name} "):
            await call(**wrong)
    with pytest.raises(InvalidSetting, match=f"{name} "):
        fit([human("a")], format="openai-chat", **{"window": WINDOW, **wrong})


async def test_sizes_are_not_negative(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    for wrong in ({"window": -1}, {"window": 0}, {"max_output": -1}):
        [name] = wrong
        with pytest.raises(InvalidPolicy, match=f"{name} {wrong[name]}"):
            client.session("chat", format="openai-chat", **wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidPolicy, match=f"{name} {wrong[name]}"):
            await session.view(**wrong)  # type: ignore[arg-type]


def test_a_timeout_is_a_number() -> None:
    with pytest.raises(InvalidSetting, match="timeout '2'"):
        CompactionClient.from_url("redis://localhost", timeout="2")  # type: ignore[arg-type]


NO_LISTS = ["abc", b"abc", human("a"), None, 5, object(), {"a"}]


@pytest.mark.parametrize("history", NO_LISTS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("known", [False, True])
async def test_a_mirrored_list_is_a_list(client: CompactionClient, redis: Redis, history: Any, known: bool) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    if known:
        await session.record([human("a"), says("b")])
    before = await stored(redis, "chat")

    with pytest.raises(InvalidSetting, match="a list of messages is needed, not a "):
        await session.mirror(history)
    with pytest.raises(InvalidSetting, match="a list of messages is needed, not a "):
        fit(history, format="openai-chat", window=WINDOW)
    assert await stored(redis, "chat") == before


NONSENSE: list[Any] = [None, 5, 1.5, "abc", b"abc", object(), {}, {"a"}, [], [[]], [None], ["abc"], {1: 2}, iter([])]


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("fmt", names())
async def test_nonsense_is_refused_by_type(client: CompactionClient, redis: Redis, fmt: str, value: Any) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    calls: list[Call] = [
        session.record,
        lambda one: session.mirror([one]),
        lambda one: session.mirror([human("a"), one]),
    ]
    for call in calls:
        if call == session.record and value == []:
            continue
        with pytest.raises(InvalidMessage):
            await call(value)
    assert await stored(redis, "chat") == []


@pytest.mark.parametrize("ids", ["a", 5, {"a": 1}, iter(["a"])], ids=lambda value: type(value).__name__)
async def test_ids_are_a_list(client: CompactionClient, redis: Redis, ids: Any) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    with pytest.raises(InvalidSetting, match=r"ids is a .*: give a list"):
        await session.record(human("a"), ids=ids)
    with pytest.raises(InvalidSetting, match=r"ids is a .*: give a list"):
        await session.mirror([human("a")], ids=ids)
    assert await stored(redis, "chat") == []


async def test_handles_and_notes_are_text(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(human("a"))
    with pytest.raises(Refused, match="write it like m12"):
        await session.recall(0)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="focus is a int"):
        await session.request(focus=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="note is a dict"):
        await session.phase_done({"a": 1})  # type: ignore[arg-type]


def test_help_tells_what_values_there_are() -> None:
    told = inspect.getdoc(Session) or ""
    for value in (*names(), *ORIGINS):
        assert f"`{value}`" in told
    for word in ("Ids are", "recall"):
        assert word in told


def test_every_error_is_exported() -> None:
    kinds = [value for value in vars(offturn.errors).values() if isinstance(value, type)]
    errors = {kind.__name__ for kind in kinds if issubclass(kind, OffturnError)}
    assert errors == set(offturn.errors.__all__)
    assert errors <= set(offturn.__all__)


async def test_what_is_no_text_number_or_list_is_named(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record([human("a")])
    wrong: Any = 5
    for call, said in (
        (lambda: session.fork(wrong), "session id"),
        (lambda: session.record([], usage=offturn.Usage(50), view=wrong), "view is a int"),
        (lambda: session.redact(None, reason="r"), "refs is a NoneType"),  # type: ignore[arg-type]
        (lambda: session.redact(5.0, reason="r"), "refs is a float"),  # type: ignore[arg-type]
        (lambda: session.redact(author=wrong, reason="r"), "author is a int"),
        (lambda: session.configure(model=wrong), "model is a int"),
        (lambda: session.configure(overrides=wrong), "overrides are a int"),
        (lambda: session.configure(overrides={5: 5}), "overrides: 5"),  # type: ignore[dict-item]
        (lambda: session.rollback(generation=None, force=True), "generation None"),  # type: ignore[arg-type]
        (lambda: session.view(generation="1"), "generation '1'"),  # type: ignore[arg-type]
        (lambda: session.events(limit=0), "limit 0"),
        (lambda: session.events(limit="x"), "limit 'x'"),  # type: ignore[arg-type]
        (lambda: session.events("-"), "after '-'"),
    ):
        with pytest.raises((InvalidSetting, InvalidPolicy), match=said):
            await call()
    with pytest.raises(InvalidSetting, match="model is a int"):
        client.session("other", format="openai-chat", model=wrong)
    with pytest.raises(InvalidSetting, match="store: a int is no URL"):
        CompactionClient.from_url(wrong)
    with pytest.raises(InvalidSetting, match="tenant 5"):
        CompactionClient.from_url("redis://localhost", tenant=wrong)
    assert (await session.status()).messages == 1


async def test_a_window_is_one_the_store_can_count(client: CompactionClient) -> None:
    """Ten to the 30 became a trigger below zero: the session was due for ever."""
    with pytest.raises(InvalidSetting, match="window 1000000001: use at most 1000000000"):
        client.session("chat", format="openai-chat", window=offturn.ANY_WINDOW + 1)
    session = client.session("chat", format="openai-chat", window=offturn.ANY_WINDOW)
    await session.record([human("a")])
    assert (await session.status()).requirement == "none"
    for call in (session.view, session.configure):
        with pytest.raises(InvalidSetting, match="window "):
            await call(window=10**30)


@pytest.mark.parametrize("overrides", [[1], "trigger.soft", 5])
def test_overrides_are_a_mapping(client: CompactionClient, overrides: Any) -> None:
    with pytest.raises(InvalidPolicy, match=r"overrides are a (list|str|int): give a mapping"):
        client.session("chat", format="openai-chat", overrides=overrides)


async def test_what_is_no_message_is_told_without_a_field(client: CompactionClient) -> None:
    with pytest.raises(InvalidMessage, match=r"^message 1: a message is an object, got a number$"):
        await client.session("chat", format="openai-chat").record([human("a"), 1])


async def test_what_cannot_fit_blames_a_system_prompt_only_where_there_is_one(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(human("word " * 40_000))

    with pytest.raises(CannotFit, match=r"^the last human message needs about"):
        await session.view()
    with pytest.raises(CannotFit, match=r"^the last human message and the system prompt need about"):
        await session.view(system="Be brief.")


@pytest.mark.parametrize(
    ("name", "value"),
    [("expect", value) for value in (float("nan"), -1, "3", 1.0, True)] + [("view", 5), ("view", {})],
)
async def test_a_record_is_refused_before_it_could_wait(
    redis: Redis, client: CompactionClient, name: str, value: Any
) -> None:
    """What is only refused when it is sent would be kept as undelivered, and every later call would try it first."""
    session = client.session("chat", format="openai-chat", window=WINDOW)
    wrong = {name: value}
    with pytest.raises(InvalidSetting, match=f"{name} .*: (use|give) the"):
        await session.record(human("a"), usage=offturn.Usage(5), **wrong)

    assert session.undelivered() == []
    assert (await session.record(human("b"))).durable
    assert await stored(redis, "chat") == [human("b")]


@pytest.mark.parametrize("value", ["5", float("nan"), -1, b""])
async def test_limits_and_waits_are_numbers(redis: Redis, client: CompactionClient, value: Any) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(human("a"))
    ticket = await session.request()
    for call, name in ((client.sessions, "limit"), (client.parked, "limit"), (ticket.wait, "timeout")):
        with pytest.raises(InvalidSetting, match=f"{name} .*: use a"):
            await call(value)
