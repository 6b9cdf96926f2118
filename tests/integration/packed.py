"""Sessions with packs, small ones, so that a test has several."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from offturn import CompactionClient, Session, packing
from offturn.packing import Packing, pack_covered
from offturn.store.replies import Meta
from offturn.testing import FakeSummarizer
from tests.integration.host import turns

EVER = 2**50
WINDOW = 16_000


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Some messages are worth a pack, and fill it."""
    monkeypatch.setattr(packing, "LEAST_BYTES", 1)
    monkeypatch.setattr(packing, "RAW_BYTES", 12_000)
    return iter([None])


def opened(client: CompactionClient, name: str = "chat") -> Session:
    return client.session(name, format="openai-chat", window=WINDOW)


async def covered(client: CompactionClient, name: str = "chat", count: int = 24) -> Session:
    """So many turns, and a generation in force."""
    session = opened(client, name)
    await session.record(turns("openai-chat", count))
    await client.run_due(summarizer=FakeSummarizer())
    assert (await session.view()).generation == 1
    return session


async def pack(client: CompactionClient, session: Session, *, before_ms: int = EVER) -> Packing:
    store = (await client._connector.links()).store
    return await pack_covered(store, session.key, before_ms=before_ms)


async def state(client: CompactionClient, session: Session) -> Meta:
    meta = await (await client._connector.links()).store.meta(session.key)
    assert meta
    return meta
