"""A host's way through its client on a real server: record, due, compact, adopt, roll back, recall."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from offturn import (
    Compacted,
    CompactionClient,
    Conflict,
    InvalidSetting,
    Moved,
    Refused,
    Session,
    Skipped,
    Superseded,
    Usage,
)
from offturn.testing import FakeSummarizer
from offturn_engine.summary import SummaryRequest
from tests.conftest import TIMEOUT
from tests.integration.host import FORMATS, assert_sendable, calls, human, long_text, result, says, stored, texts, turns

WINDOW = 16_000


async def compacted(client: CompactionClient, fmt: str, session_id: str = "chat", count: int = 22) -> Session:
    """A session with one generation, committed and not yet adopted."""
    session = client.session(session_id, format=fmt, window=WINDOW)
    await session.record(turns(fmt, count))
    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    assert isinstance(outcome, Compacted)
    return session


@pytest.mark.parametrize("fmt", FORMATS)
async def test_what_is_recorded_is_what_the_view_shows(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent = turns(fmt, 3)

    recorded = await session.record(sent)
    view = await session.view()

    assert (recorded.first_seq, recorded.last_seq, recorded.path) == (0, 11, ((0, 12),))
    assert (recorded.requirement, recorded.ticket, recorded.durable) == ("none", None, True)
    assert list(view.messages) == sent
    assert (view.kind, view.generation, view.path, view.behind, view.stale) == ("raw", 0, ((0, 12),), False, False)
    assert_sendable(view)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_crossing_makes_it_due_and_the_next_view_adopts(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    before = await session.record(turns(fmt, 5))
    crossing = await session.record(turns(fmt, 25, start=5))
    after = await session.record([human("One more thing: keep the tests green.")])
    summarizer = FakeSummarizer()
    assert (before.ticket, after.ticket) == (None, None)
    assert crossing.ticket is not None
    assert crossing.requirement != "none"
    assert await crossing.ticket.status() == "waiting"

    [outcome] = await client.run_due(summarizer=summarizer)
    view = await session.view()

    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert await crossing.ticket.wait(TIMEOUT) == outcome
    assert await crossing.ticket.status() == "done"
    assert len(summarizer.asked) == 1
    assert (view.kind, view.generation) == ("compacted", outcome.generation)
    assert view.tokens < WINDOW // 2
    assert view.messages[-1] == human("One more thing: keep the tests green.")
    assert_sendable(view)
    assert await client.run_due() == []


async def test_the_due_sessions_of_others_do_not_crowd_out_ones_own(
    client: CompactionClient, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offturn.client.BATCH", 1)
    async with CompactionClient.from_url(valkey_url, tenant="other", timeout=TIMEOUT) as other:
        for one in (other, client):
            await one.session("chat", format="openai-chat", window=WINDOW).record(turns("openai-chat", 30))
    assert [type(outcome) for outcome in await client.run_due()] == [Compacted]


async def test_what_arrives_while_a_summary_is_written_is_in_the_next_view(client: CompactionClient) -> None:
    other = client.session("chat", format="openai-chat", window=WINDOW)

    async def meanwhile(_: SummaryRequest) -> None:
        await other.record([human("Stop, do not touch the parser."), says("Understood.")])

    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 30))
    [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=meanwhile))
    view = await session.view()

    assert isinstance(outcome, Compacted)
    assert view.generation == outcome.generation
    assert list(view.messages[-2:]) == [human("Stop, do not touch the parser."), says("Understood.")]
    assert view.tail_from == len(view.messages) - 2


async def test_within_a_generation_a_view_only_grows(client: CompactionClient) -> None:
    session = await compacted(client, "openai-chat")
    first = await session.view()
    await session.record(turns("openai-chat", 1, start=90))
    second = await session.view()

    assert first.generation == second.generation
    assert list(second.messages[: len(first.messages)]) == list(first.messages)
    assert second.prefix == len(first.messages)
    assert len(second.messages) == len(first.messages) + 4


@pytest.mark.parametrize("fmt", FORMATS)
async def test_no_generation_is_adopted_inside_a_tool_group(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt)
    await session.record([human("Run both."), calls(fmt, "a", "b"), result(fmt, "a", "fine")])
    inside = await session.view()
    await session.record(result(fmt, "b", "fine too"))
    outside = await session.view()

    assert (inside.generation, outside.generation) == (0, 1)
    assert inside.warnings[0].startswith("1 tool calls are waiting")
    assert_sendable(outside)


async def test_adopt_turn_waits_for_the_next_human_message(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW, adopt="turn")
    await session.record(turns("openai-chat", 22))
    await client.run_due()
    answered = await session.view()
    await session.record([human("Next question."), {"role": "system", "content": "It is Monday."}])
    asked = await session.view()

    assert (answered.generation, asked.generation) == (0, 1)


async def test_adopt_never_is_shadow_mode(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW, adopt="never")
    await session.record(turns("openai-chat", 22))
    await client.run_due()
    await session.record(human("Next question."))
    view = await session.view()
    status = await session.status()
    [made] = await session.generations()

    assert (view.generation, view.kind, status.generation, status.current) == (0, "raw", 0, 1)
    assert (made.in_force, made.current) == (False, True)
    assert (await session.view(generation=1)).kind == "compacted"
    assert (await session.view()).generation == 0


async def test_rollback_and_forward_again_holds_automatic_triggers(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    sent = turns("openai-chat", 22)
    await session.record(sent)
    await client.run_due()
    short = await session.view()

    await session.rollback(generation=0, force=True)
    raw = await session.view()
    held = await session.record(human("A little more."))

    assert list(raw.messages) == sent
    assert (raw.kind, held.requirement, held.ticket) == ("raw", "none", None)
    assert await client.run_due() == []
    assert (await session.status()).current == 0

    grown = await session.record(turns("openai-chat", 2, start=50))
    assert grown.ticket is not None

    await session.rollback(generation=1)
    forth = await session.view()
    assert list(forth.messages[: len(short.messages)]) == list(short.messages)
    assert forth.messages[-1] == turns("openai-chat", 2, start=50)[-1]
    assert await grown.ticket.wait(TIMEOUT) == Superseded(reason="withdrawn")
    with pytest.raises(Refused, match=r"generation 7 .*choose one of 0, 1"):
        await session.rollback(generation=7)


async def test_a_view_of_another_generation_changes_nothing(client: CompactionClient) -> None:
    session = await compacted(client, "openai-chat")

    raw = await session.view(generation=0)
    short = await session.view(generation=1)
    status = await session.status()

    assert (raw.kind, short.kind, status.generation) == ("raw", "compacted", 0)
    with pytest.raises(Refused, match="generation 2 is not kept: choose one of 0, 1"):
        await session.view(generation=2)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_phase_end_compacts_below_the_threshold(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    quiet = await session.record(turns(fmt, 12))
    seen: list[str] = []

    async def look(request: SummaryRequest) -> None:
        seen.append(request.content)

    ticket = await session.phase_done("The login bug is fixed.", focus="the parser")
    [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=look))

    assert quiet.requirement == "none"
    assert ticket.warnings == ()
    assert isinstance(outcome, Compacted)
    assert await ticket.wait(TIMEOUT) == outcome
    assert "The login bug is fixed." in seen[0]
    assert "the parser" in seen[0]
    assert (await session.generations())[0].reason == "phase"


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_phase_end_inside_a_tool_group_covers_what_is_closed(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    await session.record([*turns(fmt, 12), human("Now run it."), calls(fmt, "open")])

    ticket = await session.phase_done("Half of it is done.")
    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    await session.record(result(fmt, "open", "all green"))
    view = await session.view()

    assert ticket.warnings == ("a tool group is open: covered up to the last closed one",)
    assert isinstance(outcome, Compacted)
    assert view.generation == outcome.generation
    assert list(view.messages[-2:]) == [calls(fmt, "open"), result(fmt, "open", "all green")]
    assert_sendable(view)


async def test_a_request_below_every_threshold_is_answered(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    with pytest.raises(Refused, match="record first"):
        await session.request()
    await session.record(human("Hello."))

    ticket = await session.request()
    waiting = await ticket.status()
    with pytest.raises(
        TimeoutError, match=rf"request {ticket.request_no} of session 'chat' has no outcome after 0.01 s"
    ):
        await ticket.wait(0.01)
    outcomes = await client.run_due()

    assert waiting == "waiting"
    assert outcomes == [Skipped(reason="nothing_to_cover")]
    assert (await ticket.status(), await ticket.wait(TIMEOUT)) == ("done", outcomes[0])
    with pytest.raises(InvalidSetting, match="reason 'nightly': use one of manual"):
        await session.request("nightly")
    with pytest.raises(InvalidSetting, match="focus of 5000 characters"):
        await session.request(focus="x" * 5_000)


async def test_a_ticket_waits_no_longer_than_told(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(human("Hello."))
    ticket = await session.request()
    with pytest.raises(TimeoutError):
        await ticket.wait(0.05)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_recall_gives_back_what_a_view_left_out(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    both = [human("Run both."), calls(fmt, "a", "b"), result(fmt, "a", "first output"), result(fmt, "b", "second")]
    await session.record([*both, says("Done."), *turns(fmt, 30)])
    await client.run_due(summarizer=FakeSummarizer())
    view = await session.view()

    assert "first output" not in texts(view.messages[1:])
    assert await session.recall("m0") == "Run both."
    assert await session.recall("[m2]") == "first output"
    assert await session.recall("m1.1") == 'bash {"command": "make test"}'
    assert (await session.recall("m1")).count("make test") == 2
    with pytest.raises(Refused, match="handle 'm99999'"):
        await session.recall("m99999")
    with pytest.raises(Refused, match=r"message m0 has 1 parts"):
        await session.recall("m0.5")
    with pytest.raises(Refused, match="write it like m12"):
        await session.recall("181")


async def test_status_generations_and_events_tell_the_story(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    assert await session.generations() == []
    with pytest.raises(Refused, match="record first"):
        await session.status()

    await session.record(turns("openai-chat", 30))
    due = await session.status()
    await client.run_due()
    view = await session.view()
    await session.record(says("Yes."), usage=Usage(view.tokens, 5, 3))
    done = await session.status()
    [made] = await session.generations()
    events = await session.events()

    assert (due.messages, due.due, due.running, due.requirement != "none") == (120, True, False, True)
    assert (done.messages, done.due, done.generation, done.current) == (121, False, 1, 1)
    assert done.tokens < due.tokens
    assert (made.number, made.reason, made.in_force, made.current) == (1, "threshold", True, True)
    assert [e.kind for e in events] == ["due", "claimed", "committed", "finished", "adopted", "usage"]
    assert await session.events(after=events[-2].id) == events[-1:]
    assert events[-1].fields == {"input": view.tokens, "cached": 3, "output": 5, "generation": 1, "seq": 120}
    assert "module" not in texts([dict(e.fields) for e in events])


async def test_expect_names_the_next_seq(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(human("a"), expect=0)
    with pytest.raises(Moved, match="the next message gets seq 1"):
        await session.record(human("b"), expect=0)
    assert (await session.record(human("b"), expect=1)).last_seq == 1


async def test_ids_make_a_record_repeatable(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record([human("a"), says("b")], ids=["1", "2"])
    again = await session.record([human("a"), says("b"), human("c")], ids=["1", "2", "3"])

    assert (again.first_seq, again.last_seq) == (2, 2)
    with pytest.raises(Conflict, match="message 1: id '2' is recorded with other content"):
        await session.record([human("d"), says("other")], ids=["4", "2"])
    with pytest.raises(InvalidSetting, match="1 for 2 messages"):
        await session.record([human("d"), says("e")], ids=["4"])
    with pytest.raises(InvalidSetting, match=r"number 0 is a int: give str\(id\)"):
        await session.record([human("d")], ids=[4])  # type: ignore[list-item]
    assert await stored(redis, "chat") == [human("a"), says("b"), human("c")]
    assert list((await session.view()).messages) == [human("a"), says("b"), human("c")]


async def test_who_wrote_a_message_can_be_declared(client: CompactionClient) -> None:
    session = client.session(
        "chat", format="openai-chat", window=WINDOW, origin=lambda raw: "host" if "[cron]" in raw["content"] else None
    )
    await session.record(
        [human("Fix the tests, please."), says("Yes."), human("[cron] tick " + long_text(900)), says("Ok.")]
    )
    await session.record(turns("openai-chat", 30))
    await client.run_due()
    view = await session.view()

    assert "Fix the tests, please." in texts(view.messages)
    assert "[cron] tick" not in texts(view.messages)
    with pytest.raises(InvalidSetting, match="origin 'bot'"):
        await session.record(human("x"), origin="bot")  # type: ignore[arg-type]


async def test_what_a_host_changes_afterwards_changes_nothing_here(client: CompactionClient) -> None:
    session = client.session("chat", format="anthropic", window=WINDOW)
    mine = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
    await session.record(mine)
    mine["content"][0]["cache_control"] = {"type": "ephemeral"}  # type: ignore[index]
    sent = (await session.view()).kwargs()
    sent["messages"][0]["content"][0]["cache_control"] = {"type": "ephemeral"}

    assert list((await session.view()).messages) == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]


async def test_a_call_is_one_round_trip(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    sent = turns("openai-chat", 3)
    await session.record(sent)
    await session.view()

    async def trips() -> int:
        stats = await redis.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("evalsha", "eval", "get", "lrange"))

    start = await trips()
    await session.record(turns("openai-chat", 1, start=9))
    recorded = await trips()
    await session.view()
    viewed = await trips()
    await session.mirror([*sent, *turns("openai-chat", 1, start=9), human("More.")])
    mirrored = await trips()

    assert (recorded - start, viewed - recorded, mirrored - viewed) == (1, 1, 2)


async def test_usage_beyond_the_window_teaches_nothing(client: CompactionClient) -> None:
    """The sum over a conversation, passed as one call's usage, left no room for any view: CannotFit for ever."""
    session = client.session("chat", format="openai-chat", window=14_000)
    await session.record([human("Hello.")])
    view = await session.view()

    recorded = await session.record([says("Hi.")], usage=Usage(30_000), view=view)

    assert "usage of 30000 input tokens was not used for estimates, the window has 14000" in recorded.warnings[0]
    assert recorded.requirement == "none"
    assert (await session.view()).limit == view.limit
    larger = await session.view(window=40_000)
    assert (await session.record([says("Yes?")], usage=Usage(30_000), view=larger)).warnings == ()
