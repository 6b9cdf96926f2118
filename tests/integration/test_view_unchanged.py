"""A view that finds nothing new is the one before: it is not made again, and whatever changes it makes it anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn import CannotFit, CompactionClient, Session, Usage
from offturn.rendered import Walked, Where
from offturn.store.sessions import SessionStore
from offturn_engine.formats import get
from offturn_engine.frame import framed
from offturn_engine.groups import pair
from offturn_engine.messages import Message
from offturn_engine.pins import marked
from offturn_engine.ranges import Ranges, in_order, seqs_of
from tests.integration.host import human, says, turns
from tests.skew.keyspace import dump, restore

WINDOW = 16_000


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the generations that were rendered."""
    rendered = list[int]()

    def counted(path: Any, shown: Any, *rest: Any) -> Any:
        rendered.append(shown.number)
        return framed(path, shown, *rest)

    monkeypatch.setattr("offturn.showing.framed", counted)
    return rendered


async def fresh(client: CompactionClient) -> Any:
    return (await client.session("s", format="openai-chat", window=WINDOW).view()).messages


async def opened(client: CompactionClient) -> Session:
    session = client.session("s", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 12))
    await session.request()
    await client.run_due()
    await session.record(human("And now?"))
    return session


async def test_an_unchanged_view_is_rendered_once(client: CompactionClient, made: list[int]) -> None:
    session = await opened(client)
    first = await session.view()
    again = [await session.view(), await session.view(window=WINDOW * 2), await session.view(tools=[])]
    assert made == [1]
    assert all(view.messages == first.messages for view in again)
    assert first.messages is not again[0].messages


async def test_a_note_on_the_prompt_is_where_each_call_has_it(client: CompactionClient) -> None:
    session = await opened(client)
    inside, apart, back = await session.view(), await session.view(system="You help."), await session.view()
    assert inside.messages == back.messages
    assert apart.system != inside.system


async def test_whatever_changes_a_view_makes_it_anew(client: CompactionClient) -> None:
    session, elsewhere = await opened(client), client.session("s", format="openai-chat", window=WINDOW)
    seen = [list((await session.view()).messages)]

    async def changed() -> None:
        seen.append(list((await session.view()).messages))
        assert seen[-1] != seen[-2]
        assert seen[-1] == await fresh(client)

    await session.record(says("Done."))
    await changed()
    await elsewhere.record(human("Said by another process."))
    await changed()
    await elsewhere.rollback(generation=0)
    await changed()
    await session.rewind(turns=1)
    await changed()
    await session.amend(0, {"role": "user", "content": "Put otherwise."})
    await changed()
    await session.redact([2], reason="asked")
    await changed()
    await session.redact([3], reason="asked")
    await changed()


async def test_what_is_pinned_shows_at_the_next_view(client: CompactionClient) -> None:
    session = await opened(client)
    before = await session.view()
    await session.pin(4)
    assert (await session.view()).warnings != before.warnings


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which looks at the store were made."""
    made = list[str]()

    def counted(name: str) -> None:
        plain = getattr(SessionStore, name)

        async def look(self: SessionStore, *args: Any, **options: Any) -> Any:
            made.append(name)
            return await plain(self, *args, **options)

        monkeypatch.setattr(SessionStore, name, look)

    counted("sync")
    counted("stamp")
    return made


async def test_an_unchanged_view_asks_for_a_stamp_only(client: CompactionClient, looks: list[str]) -> None:
    session = await opened(client)
    await session.view()  # which puts the generation in force
    first = await session.view()
    looks.clear()
    again = await session.view()
    assert looks == ["stamp"]
    assert again == replace(first, prefix=len(first.messages))
    assert (await session.view(), looks) == (again, ["stamp", "stamp"])
    assert await session.view(window=WINDOW * 2) != again
    assert looks[2:] == ["sync"]


async def test_what_a_host_changes_in_what_it_gave_counts(client: CompactionClient) -> None:
    session = await opened(client)
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    system = [{"type": "text", "text": "Be brief."}]
    before = await session.view(tools=tools, system=system)
    tools[0]["function"]["description"] = "Looks for what is asked for."  # type: ignore[index]
    after = await session.view(tools=tools, system=system)
    assert after.tokens > before.tokens
    system[0]["text"] = "Be brief, and say so in each of your answers."
    assert (await session.view(tools=tools, system=system)).system == system


@pytest.mark.parametrize("several", [list, tuple])
async def test_what_a_host_changes_in_an_object_of_its_sdk_counts(client: CompactionClient, several: Any) -> None:
    session, tool = await opened(client), SimpleNamespace(name="look")
    await session.view()  # which puts the generation in force
    before = await session.view(tools=several([tool]))
    tool.description = "Looks for what is asked for."
    assert (await session.view(tools=several([tool]))).tokens > before.tokens


async def test_what_a_host_changes_in_what_it_was_given_does_not(client: CompactionClient) -> None:
    session = await opened(client)
    await session.view()  # which puts the generation in force
    system = [{"type": "text", "text": "Be brief."}]
    for _ in range(3):
        view = await session.view(system=[{"type": "text", "text": "Be brief."}])
        assert view.system == system
        assert view.messages == await fresh(client)
        view.messages.append(says("Done."))  # type: ignore[attr-defined]
        view.system[0]["cache_control"] = {"type": "ephemeral"}


async def test_each_change_is_seen_at_the_next_view(client: CompactionClient, looks: list[str]) -> None:
    session, elsewhere = await opened(client), client.session("s", format="openai-chat", window=WINDOW)
    changes: list[Callable[[], Any]] = [
        lambda: elsewhere.pin(4),
        lambda: elsewhere.record([], usage=Usage(9_000), view=before),
        lambda: elsewhere.record(says("Done.")),
        lambda: elsewhere.configure(window=WINDOW + 1_000),
        lambda: elsewhere.rollback(generation=0, force=True),
        lambda: elsewhere.request(),
        client.run_due,
        elsewhere.purge,
    ]
    for change in changes:
        await session.view()
        before = await session.view()
        looks.clear()
        await change()
        looks.clear()
        view = await session.view()
        assert looks[:2] == ["stamp", "sync"]
        fresh = await client.session("s", format="openai-chat", window=WINDOW).view()
        assert (view.messages, view.tokens, view.limit, view.id, view.generation) == (
            fresh.messages,
            fresh.tokens,
            fresh.limit,
            fresh.id,
            fresh.generation,
        )


async def test_what_is_told_once_is_not_told_again(client: CompactionClient) -> None:
    session = await opened(client)
    await session.view()
    await client.session("s", format="openai-chat").purge()
    await client.session("s", format="openai-chat", window=WINDOW).record(human("Again."))
    lost, after = await session.view(), await session.view()
    assert any("no longer holds" in warning for warning in lost.warnings)
    assert not any("no longer holds" in warning for warning in after.warnings)


async def test_a_view_keeps_a_session_alive_that_would_end(
    client: CompactionClient, redis: Any, looks: list[str]
) -> None:
    session = client.session("s", format="openai-chat", window=WINDOW, overrides={"session.ttl": 60})
    await session.record(turns("openai-chat", 2))
    await session.view()
    meta = session.key.key("meta")
    for name in await redis.keys("offturn:{s00}:default:s:*"):
        await redis.pexpire(name, 20_000)
    assert session._before
    session._before = replace(session._before, at=session._before.at - 10)
    looks.clear()
    await session.view()
    assert looks == ["sync"]
    assert await redis.pttl(meta) > 50_000


async def test_a_provider_that_takes_less_is_remembered(client: CompactionClient) -> None:
    session = await opened(client)
    sent = await session.view()
    smaller = await session.overflow(ValueError("prompt is too long: 9000 tokens > 8000 maximum"), sent=sent)
    again = await session.view()
    assert again.limit <= smaller.limit or again.messages == smaller.messages


async def test_a_store_that_lost_what_this_handle_wrote_is_not_unchanged(client: CompactionClient, redis: Any) -> None:
    """A failover brings the state back, stamp and all, that an earlier view was of."""
    session = await opened(client)
    await session.view()
    before, dumped = await session.view(), await dump(redis)
    await session.record(says("Done."))
    await restore(redis, dumped)
    after = await session.view()
    assert [*after.messages] == [*before.messages, says("Done.")]
    assert any("recorded again" in warning for warning in after.warnings)


async def test_an_adoption_that_was_lost_is_made_again(client: CompactionClient, redis: Any) -> None:
    session = await opened(client)
    dumped = await dump(redis)
    assert (await session.view()).generation == 1
    await restore(redis, dumped)
    assert (await session.view()).generation == 1
    assert (await session.status()).generation == 1


@given(
    st.lists(
        st.tuples(st.sampled_from(["said", "rewound", "moved", "pinned", "redacted", "replaced"]), st.integers(0, 9)),
        max_size=12,
    )
)
def test_a_path_that_grew_is_the_path_that_is_read_anew(steps: list[tuple[str, int]]) -> None:
    walked, fmt = Walked(), get("openai-chat")
    log: list[Message] = []
    hashes: list[str] = []
    ranges: Ranges = ()
    pins: tuple[int, ...] = ()
    lives = 0

    def say(count: int, chain: str) -> None:
        nonlocal ranges
        for _ in range(count):
            seq = len(log)
            log.append(fmt.parse({"role": "user", "content": f"{chain} {seq}"}, index=seq).placed(seq))
            hashes.append(f"{chain} {seq}")
            ranges = in_order([*seqs_of(ranges), seq])

    say(2, "first")
    for number, (what, count) in enumerate(steps):
        if what == "said":
            say(count, f"later {number}")
        elif what == "rewound":
            ranges = in_order([*seqs_of(ranges)][:-count] if count else [*seqs_of(ranges)])
        elif what == "moved":
            ranges = in_order(sorted({seq for low, high in ranges for seq in range(low, high)} - {count}))
        elif what == "pinned":
            pins = (count,)
        elif what == "redacted":
            lives += 1
        else:  # the server lost the end of the log, and other messages came in its place
            del log[1:], hashes[1:]
            ranges = ((0, 1),)
            say(count, f"anew {number}")
        where = Where(lives, len(log), hashes[-1], ranges, pins)
        plain = marked([log[seq] for seq in seqs_of(ranges)], frozenset(pins))
        found = walked.get(where, log, hashes, frozenset(pins))
        assert found == tuple(plain)
        assert pair(found) == pair(plain)
        assert [found.place(m.seq) for m in plain] == [*range(len(plain))]


async def test_a_limit_learnt_where_no_view_was_made_counts_too(client: CompactionClient) -> None:
    session = await opened(client)
    sent = await session.view()
    for most in (15_000, 14_000, 13_000):
        await session.overflow(ValueError(f"prompt is too long: 16000 tokens > {most} maximum"), sent=sent)
    await session.view()
    await session.view()
    with pytest.raises(CannotFit):
        await session.overflow(ValueError("prompt is too long: 16000 tokens > 9000 maximum"), sent=sent)
    assert (await session.view()).limit < 9_000
