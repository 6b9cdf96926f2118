"""A file's conversation as a session in a store: usage calibrates, compactions become generations, nothing half done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from offturn import ANY_WINDOW, CompactionClient, InvalidSetting, Session, StoreUnavailable, View
from offturn.links import Connector
from offturn_engine import files
from offturn_engine.files import Conversation, Earlier
from offturn_worker.cli import importing
from offturn_worker.importing import Imported, Interrupted, import_conversation, new_session

PI = Path(__file__).resolve().parents[3] / "shared" / "transcripts" / "pi_before-compaction.jsonl"


def talk() -> Conversation:
    messages: list[Any] = []
    for i in range(6):
        messages += [
            {"role": "user", "content": f"request {i} " + "word " * 200},
            {"role": "assistant", "content": "ok"},
        ]
    return Conversation(
        title="",
        format="openai-chat",
        messages=tuple(messages),
        system=None,
        source_format="pi",
        origins={4: "host"},
        reported={i: 1_000 + 300 * i for i in range(1, 12, 2)},
        earlier=(
            Earlier(at=4, covered=4, summary="The first two are done."),
            Earlier(at=6, covered=0, summary="", opaque={"x": 1}),
            Earlier(at=8, covered=7, summary="The first three are done."),
        ),
    )


@asynccontextmanager
async def brought(
    url: str, session: str, conversation: Conversation
) -> AsyncIterator[tuple[CompactionClient, Session, Imported]]:
    connector = Connector(url, None, 20, on_outage="raise")
    async with CompactionClient(connector, "default") as client:
        handle = await new_session(client, conversation, session, policy="balanced", window=200_000)
        done = await import_conversation(handle, await connector.links(), conversation, "balanced")
        yield client, client.session(session, format=conversation.format, window=200_000), done


async def test_compactions_become_generations_and_every_one_can_be_put_in_force(valkey_url: str, redis: object) -> None:
    async with brought(valkey_url, "talk", talk()) as (_, session, done):
        assert done.generations == 2
        assert done.notes == ("1 earlier compactions not taken over: only the provider can read the summary",)
        found = await session.generations()
        assert [(g.number, g.replaces, g.method, g.covered, g.in_force) for g in found] == [
            (1, 0, "imported", ((0, 4),), False),
            (2, 1, "imported", ((0, 7),), True),
        ]
        raw = await session.view(generation=0)
        assert list(raw.messages) == list(talk().messages)
        for number in (0, 1, 2):
            await session.rollback(generation=number, force=True)
            assert (await session.view()).generation == number
        told = json.dumps((await session.view()).messages)
        assert "The first three are done." in told
        assert "request 0" in told


async def test_origins_usage_and_triggers_are_those_of_a_live_session(valkey_url: str, redis: object) -> None:
    async with brought(valkey_url, "talk", talk()) as (client, session, done):
        origins = [line["origin"] async for line in session.export() if line["kind"] == "message"]
        assert origins == [m if i != 4 else "host" for i, m in enumerate(["human", "assistant"] * 6)]
        usage = [e.fields["input"] for e in await session.events() if e.kind == "usage"]
        assert usage == [talk().reported[i] for i in sorted(talk().reported)]
        config = await client.stored_config("talk")
        assert config is not None
        assert config.policy.trigger.enabled
        assert (await session.status()).requirement == done.requirement == "none"


async def test_an_existing_session_is_refused(valkey_url: str, redis: object) -> None:
    async with brought(valkey_url, "talk", talk()) as (client, *_):
        with pytest.raises(InvalidSetting, match="it exists already"):
            await new_session(client, talk(), "talk", policy="balanced", window=200_000)


async def test_a_failure_in_the_middle_says_what_is_there_and_how_to_remove_it(
    valkey_url: str, redis: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, calls = Session.record, 0

    async def failing(self: Session, *args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise StoreUnavailable("the store went away")
        return await record(self, *args, **options)

    monkeypatch.setattr(Session, "record", failing)
    with pytest.raises(Interrupted, match=r"went away; 4 of 12 messages are recorded: `offturn session purge talk`"):
        async with brought(valkey_url, "talk", talk()):
            pass


@pytest.mark.skipif(not PI.exists(), reason="the folder shared/transcripts is not beside this checkout")
async def test_a_compaction_made_while_a_call_was_open_is_in_force_at_the_end(valkey_url: str, redis: object) -> None:
    (conversation,) = files.read((PI.parent / "codex_stage0_compacted.jsonl").read_bytes())
    async with brought(valkey_url, "codex", conversation) as (_, session, done):
        assert done.generations == 3
        assert [g.number for g in await session.generations() if g.in_force] == [3]


@pytest.mark.skipif(not PI.exists(), reason="the folder shared/transcripts is not beside this checkout")
async def test_the_usage_of_pi_calibrates_to_within_10_percent_and_its_compactions_are_generations(
    valkey_url: str, redis: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request is predicted by the view that stands for it, from what the requests before have taught."""
    view, record = Session.view, Session.record
    errors: list[float] = []

    async def measured(
        self: Session, messages: Any, *, usage: Any = None, view: View | None = None, **rest: Any
    ) -> Any:
        if usage is not None and view is not None:
            errors.append(abs(view.tokens - usage.input_tokens) / usage.input_tokens)
        return await record(self, messages, usage=usage, view=view, **rest)

    monkeypatch.setattr(Session, "record", measured)
    (conversation,) = files.read(PI.read_bytes())
    async with brought(valkey_url, "pi", conversation) as (_, session, done):
        assert done.generations == 2
        assert [g.method for g in await session.generations()] == ["imported", "imported"]
        assert len(errors) == 469
        assert sum(errors) / len(errors) < 0.10
        for number in (0, 1, 2):
            await session.rollback(generation=number, force=True)
            assert (await view(session, window=ANY_WINDOW)).generation == number


def test_one_that_is_stopped_says_what_is_left(
    valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def stopped(*_: object) -> Imported:
        raise asyncio.CancelledError

    monkeypatch.setattr(importing, "import_conversation", stopped)
    (tmp_path / "talk.json").write_text(json.dumps([{"role": "user", "content": "hello"}]))
    with pytest.raises(asyncio.CancelledError):
        importing.import_file(tmp_path / "talk.json", session="stopped", store=valkey_url)
    assert "session stopped: not all of it is recorded" in capsys.readouterr().err
