"""However a log is kept, the session answers the same: any life of one with packs, beside the same life without."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict, InvalidMessage, Refused, Session, packing
from offturn.packing import pack_covered, unpack
from offturn.testing import FakeSummarizer
from tests.integration.host import human, says, turns

FMT = "openai-chat"
WINDOW = 16_000
OF_ONE_LIFE = {"at", "nonce", "epoch", "session", "incarnation", "stored_bytes", "seconds", "timings"}
"""What tells two sessions apart that have lived the same life."""

Act = Callable[[Session, int], Awaitable[object]]


async def record(session: Session, n: int) -> object:
    return (await session.record(turns(FMT, 1 + n % 4, start=n * 10, size=900))).last_seq


async def tell(session: Session, n: int) -> object:
    messages = [human(f"The lamp {n} is on."), says(f"Lamp {n}: noted.")]
    return (await session.record(messages, ids=[f"h{n}", f"a{n}"])).last_seq


async def amend(session: Session, n: int) -> object:
    path = [seq for low, high in (await session.view()).path for seq in range(low, high)]
    return await session.amend(path[n % len(path)], human(f"Amended {n}."))


async def rewind(session: Session, n: int) -> object:
    await session.rewind(turns=1 + n % 3)
    return (await session.status()).messages


async def rollback(session: Session, n: int) -> object:
    kept = [0, *(one.number for one in await session.generations())]
    await session.rollback(generation=kept[n % len(kept)], force=True)
    return (await session.status()).generation


async def redact(session: Session, n: int) -> object:
    return await session.redact(n % 40, reason="asked")


async def pin(session: Session, n: int) -> object:
    await session.pin(n % 20)
    return (await session.status()).pinned


async def request(session: Session, n: int) -> object:
    return bool(await session.request())


async def fork(session: Session, n: int) -> object:
    path = [seq for low, high in (await session.view()).path for seq in range(low, high)]
    copy = await session.fork(f"{session.key.session}-{n}", at=path[n % len(path)])
    return [line.get("message") async for line in copy.export()]


async def mirror(session: Session, n: int) -> object:
    history = list((await session.view()).messages)
    return (await session.mirror([*history, human(f"And {n}?")])).messages


ACTS: dict[str, Act] = {
    act.__name__: act for act in (record, tell, amend, rewind, rollback, redact, pin, request, fork, mirror)
}
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*ACTS, "work", "record", "work", "pack", "pack", "unpack", "reopen"]), st.integers(0, 99)
    ),
    min_size=6,
    max_size=24,
)


async def said(act: Act, session: Session, n: int) -> object:
    """What comes of it, a refusal too."""
    try:
        return told(await act(session, n))
    except (Refused, Conflict, InvalidMessage) as error:
        return type(error).__name__, str(error).replace(repr(session.key.session), "NAME")


def told(value: object) -> object:
    """As JSON, without what no two sessions share."""

    def kept(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: kept(one) for key, one in found.items() if key not in OF_ONE_LIFE}
        return [kept(one) for one in found] if isinstance(found, list | tuple) else found

    return json.loads(json.dumps(kept(value), default=lambda one: kept(plain(one))))


def plain(value: object) -> Any:
    fields = getattr(value, "__dataclass_fields__", None)
    return {name: getattr(value, name) for name in fields} if fields else str(type(value))


async def everything(session: Session) -> dict[str, object]:
    """All that a host can ask."""
    raw = await session.view(generation=0, window=1_000_000)
    shown = await session.view()
    answers = {
        "raw": raw.messages,
        "shown": shown.messages,
        "view": (shown.generation, shown.path, shown.tokens, shown.warnings, shown.tail_from),
        "status": await session.status(),
        "generations": await session.generations(),
        "export": [line async for line in session.export()],
        "found": await session.search("lamp module"),
        "recalled": await session.recall("m3"),
        "fates": await session.explain(2),
    }
    return {what: told(answer) for what, answer in answers.items()}


async def assert_same(packed: Session, kept: Session, step: str) -> None:
    one, other = await everything(packed), await everything(kept)
    for what in one:
        assert one[what] == other[what], (step, what)


@pytest.mark.timeout(900)  # twenty seconds of work: minutes, where a core is shared by twenty
@settings(
    max_examples=20,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
async def test_a_packed_session_answers_as_the_same_one_unpacked(
    redis: Redis, client: CompactionClient, steps: list[tuple[str, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "LEAST_BYTES", 1)
        patch.setattr(packing, "RAW_BYTES", 6_000)
        await redis.flushall()
        await _lives(client, steps)


async def _lives(client: CompactionClient, steps: list[tuple[str, int]]) -> None:
    store = (await client._connector.links()).store

    def opened(name: str) -> Session:
        return client.session(name, format=FMT, window=WINDOW)

    packed, kept = opened("a"), opened("b")
    for session in (packed, kept):
        await session.record(turns(FMT, 24, size=2_000), ids=[f"row {n}" for n in range(96)])
    await client.run_due(summarizer=FakeSummarizer())
    assert (await pack_covered(store, packed.key, before_ms=2**50)).bytes

    for step, n in steps:
        meta = await store.meta(packed.key)
        assert meta
        if step == "work":
            await client.run_due(summarizer=FakeSummarizer())
        elif step == "pack":
            await pack_covered(store, packed.key, before_ms=2**50)
        elif step == "unpack":
            await unpack(store, packed.key, meta, down_to=n % (meta.base + 1))
        elif step == "reopen":
            packed, kept = opened("a"), opened("b")
        else:
            assert await said(ACTS[step], packed, n) == await said(ACTS[step], kept, n), step
        await assert_same(packed, kept, step)
    await assert_same(opened("a"), opened("b"), "end")
