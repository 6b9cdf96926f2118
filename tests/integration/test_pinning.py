"""`pin`: what a session keeps word for word, whatever is done to it."""

from __future__ import annotations

from typing import Any

import pytest

from offturn import Compacted, CompactionClient, InvalidSetting, Pruned, Refused, Session, View
from offturn.testing import FakeSummarizer
from tests.integration.host import FORMATS, assert_sendable, human, turns
from tests.integration.moved import WINDOW, assert_sound, compacted, open_session

WORDS = {"role": "assistant", "content": "The port is 5433, whatever the README says."}


async def recorded(client: CompactionClient, fmt: str = "openai-chat") -> tuple[Session, int]:
    """A session below its trigger, and the seq of a message worth keeping."""
    session = open_session(client, fmt)
    await session.record([human("Which port?"), WORDS, *turns(fmt, 2)])
    return session, 1


async def more(client: CompactionClient, session: Session, count: int = 22, start: int = 2) -> View:
    await session.record(turns(session.format, count, start=start))
    [*_, outcome] = await client.run_due(summarizer=FakeSummarizer())
    assert isinstance(outcome, Compacted | Pruned)
    view = await session.view()
    assert_sendable(view)
    return view


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_pinned_message_is_in_every_later_view(client: CompactionClient, fmt: str) -> None:
    session, seq = await recorded(client, fmt)
    pinned = await session.pin(seq)
    assert (pinned.seqs, pinned.warnings) == ((seq,), ())
    assert 0 < pinned.tokens < pinned.room
    for round_ in range(3):
        view = await more(client, session, start=2 + 22 * round_)
        assert view.generation == round_ + 1
        assert view.messages.count(WORDS) == 1
        assert view.warnings == ()
        await assert_sound(session, view)
    assert (await session.status()).pinned == (seq,)
    assert (await session.unpin(seq)).seqs == ()
    view = await more(client, session, start=90)
    assert WORDS not in view.messages


async def test_by_the_hosts_own_id_and_twice(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record([human("Which port?"), WORDS], ids=["q", "a"])
    assert (await session.pin("a")).seqs == (await session.pin(1)).seqs == (1,)
    assert (await session.pin("q")).seqs == (0, 1)
    assert (await session.unpin("a")).seqs == (0,)
    assert [e.kind for e in await session.events()].count("configured") == 3  # pinned again is no write


async def test_what_was_summarised_already_comes_back_when_asked(client: CompactionClient) -> None:
    session = await compacted(client)
    text = "I have looked into module 1:"
    pinned = await session.pin(7)
    assert len(pinned.warnings) == 1
    assert "m7" in pinned.warnings[0]
    view = await session.view()
    assert any("pinned m7" in warning for warning in view.warnings)
    ticket = await session.request()
    assert isinstance((await client.run_due(summarizer=FakeSummarizer()))[-1], Pruned)
    assert await ticket.status() == "done"
    view = await session.view()
    assert view.warnings == ()
    [shown] = [m["content"] for m in view.messages if str(m["content"]).startswith("[m7, pinned, assistant]")]
    assert shown.split("\n", 1)[1].startswith(text)
    await assert_sound(session, view)
    mirrored = await session.mirror([*view.messages, human("More.")])
    assert mirrored.messages == [*view.messages, human("More.")]
    edited = await session.mirror([*view.messages, human("Less.")])
    assert edited.messages == [*view.messages, human("Less.")]
    assert [fate.rule for fate in await session.explain(7)] == ["pinned"]


async def test_a_job_that_was_planned_before_the_pin_is_superseded(client: CompactionClient) -> None:
    session, seq = await recorded(client)
    await session.record(turns("openai-chat", 22, start=2))

    class Pins(FakeSummarizer):
        async def summarize(self, *args: Any, **options: Any) -> Any:
            reply = await super().summarize(*args, **options)
            await open_session(client).pin(seq)
            return reply

    [first] = await client.run_due(summarizer=Pins())
    assert first.__class__.__name__ == "Superseded"
    await client.run_due(summarizer=FakeSummarizer())
    assert WORDS in (await session.view()).messages


async def test_pins_follow_what_is_done_to_the_path(client: CompactionClient) -> None:
    session = open_session(client)
    sent = [human("Which port?"), WORDS, *turns("openai-chat", 2)]
    await session.record(sent, ids=[f"row {i}" for i in range(len(sent))])
    await session.pin(1)
    other = {"role": "assistant", "content": "The port is 6000."}
    new = await session.amend("row 1", other)
    assert (await session.status()).pinned == (new,)

    copy = await session.fork("copy")
    assert (await copy.status()).pinned == (1,)
    assert other in (await more(client, copy)).messages

    changed = [human("Which port?"), {"role": "assistant", "content": "The port is 7000."}, *sent[2:]]
    await session.mirror(changed, ids=[f"row {i}" for i in range(len(changed))])
    assert (await session.status()).pinned == (new + 1,)
    view = await more(client, session)
    assert changed[1] in view.messages
    assert other not in view.messages
    lines = [line async for line in session.export()]
    assert [line["seq"] for line in lines if line.get("pinned")] == [new + 1]
    assert lines[0]["config"]["pins"] == [new + 1]


async def test_rewound_redacted_rolled_back_and_configured(client: CompactionClient) -> None:
    session, seq = await recorded(client)
    await session.pin(seq)
    await session.record([human("Remember this."), {"role": "assistant", "content": "I do."}])
    await session.pin(10)
    await session.rewind(turns=1)
    assert (await session.status()).pinned == (seq,)

    await session.configure(policy="hermes", window=20_000)
    view = await more(client, session)
    assert WORDS in view.messages
    await session.rollback(generation=0, force=True)
    assert WORDS in (await session.view(generation=0)).messages

    await session.redact([seq], reason="asked for")
    assert (await session.status()).pinned == ()
    with pytest.raises(Refused, match="redacted"):
        await session.pin(seq)


async def test_pins_that_take_too_much_are_refused_and_in_a_smaller_window_they_give_way(
    client: CompactionClient,
) -> None:
    session = open_session(client, window=200_000)
    await session.record([human("Keep all."), *turns("openai-chat", 12, size=6_000)])
    for seq in range(4, 25, 4):
        await session.pin(seq)
    await session.configure(window=16_000)
    with pytest.raises(Refused, match="half of the policy's target"):
        await session.pin(28)
    view = await session.view(window=6_000)
    assert_sendable(view)
    assert any("had to give way" in warning and "unpin" in warning for warning in view.warnings)
    assert len((await session.status()).pinned) == 6
    assert (await session.view(window=200_000)).messages.count(turns("openai-chat", 1, size=6_000)[3]) == 1


@pytest.mark.parametrize("ref", [99, "nobody"])
async def test_a_message_that_is_not_there(client: CompactionClient, ref: Any) -> None:
    session, _ = await recorded(client)
    for call in (session.pin, session.unpin):
        with pytest.raises(Refused, match="not on the path"):
            await call(ref)
        with pytest.raises(InvalidSetting):
            await call(None)  # type: ignore[arg-type]
    with pytest.raises(Refused):
        await client.session("none", format="openai-chat", window=WINDOW).pin(0)


async def test_a_handle_given_as_an_id_is_told_apart(client: CompactionClient) -> None:
    session, seq = await recorded(client)
    with pytest.raises(Refused, match=rf"own ids, 'm{seq}' as a seq is {seq}$"):
        await session.pin(f"m{seq}")
