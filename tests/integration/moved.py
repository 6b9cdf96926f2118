"""Sessions whose path moves, and what holds of their views all the same."""

from __future__ import annotations

from offturn import (
    Compacted,
    CompactionClient,
    Session,
    View,
)
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_engine.formats import get
from offturn_engine.invariants import Shown, violations
from offturn_engine.ranges import seqs_of
from offturn_engine.render import render
from tests.integration.host import assert_sendable, turns

WINDOW = 16_000


def open_session(
    client: CompactionClient, fmt: str = "openai-chat", name: str = "chat", window: int = WINDOW
) -> Session:
    return client.session(name, format=fmt, window=window)


async def compacted(client: CompactionClient, fmt: str = "openai-chat", *, ids: bool = False) -> Session:
    """22 turns of four messages, and a generation in force."""
    session = open_session(client, fmt)
    sent = turns(fmt, 22)
    await session.record(sent, ids=[f"row {i}" for i in range(len(sent))] if ids else None)
    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    assert isinstance(outcome, Compacted)
    assert (await session.view()).generation == 1
    return session


async def covered_end(session: Session) -> int:
    """The seq after the last one that the generation in force covers."""
    [one] = [one for one in await session.generations() if one.in_force]
    return one.covered[-1][1]


async def assert_sound(session: Session, view: View) -> None:
    """It can be sent, and the generation keeps every promise over the path as it is."""
    assert_sendable(view)
    store: SessionStore = (await session._connector.links()).store
    meta = await store.meta(session.key)
    assert meta is not None
    fmt = get(view.format)
    log = await store.log(session.key, start=0, stop=meta.log_len)
    path = [
        fmt.parse(log[seq].raw, index=seq, origin=log[seq].origin).placed(seq, log[seq].at)
        for seq in seqs_of(meta.path)
    ]
    assert meta.path_tokens == sum(message.tokens for message in path)
    assert meta.adopted == view.generation
    if view.generation:
        record = await store.generation(session.key, view.generation)
        assert record is not None
        rendering = render(path, record, fmt)
        assert violations(Shown(path, record, rendering, fmt)) == {}
        if not rendering.closed:  # what closes a call is estimated when a record is made, not as the path grows
            assert meta.tokens_of(view.generation) == rendering.tokens
