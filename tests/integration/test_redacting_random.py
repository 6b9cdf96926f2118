"""Random lives with redacts and packs in them: every generation that is kept makes a sound view, and none quotes what is gone."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn_engine.formats import get
from offturn_engine.invariants import Shown, violations
from offturn_engine.render import render
from tests.integration.host import FORMATS, Raw, says, stored
from tests.integration.keyspace import everything
from tests.integration.moved import WINDOW, assert_sound
from tests.integration.packed import pack
from tests.integration.packed import small as small
from tests.integration.test_moving_random import Life

SEEDS, STEPS = 8, 24


class RedactedLife(Life):
    """Each message may hold a word of its own; `gone` are those that were redacted."""

    gone: list[str]
    words: dict[int, str]

    async def tell(self, client: CompactionClient) -> None:
        self.number += 1
        said = says((f"The lamp number{self.number}x is on. " * self.rng.choice((1, 40))).strip())
        recorded = await self.session.record([said])
        self.words[recorded.first_seq] = f"number{self.number}x"
        self.mine.append(said)

    async def redact(self, client: CompactionClient) -> None:
        log = [line["message"] async for line in self.session.export() if line["kind"] == "message"]
        told = [self.rng.choice(list(self.words))] if self.words else []
        seqs = {*self.rng.sample(range(len(log)), min(2, len(log))), *told}
        await self.session.redact(sorted(seqs), reason="asked")
        fmt, path = get(self.fmt), await self.path()
        for seq in seqs:
            self.gone += [self.words.pop(seq)] if seq in self.words else []
            if seq in path:
                self.mine[path.index(seq)] = dict(fmt.redacted(self.mine[path.index(seq)]))

    async def pack(self, client: CompactionClient) -> None:
        await pack(client, self.session)

    async def assert_all_kept_sound(self) -> None:
        store = (await self.session._connector.links()).store
        meta = await store.meta(self.session.key)
        assert meta is not None
        fmt = get(self.fmt)
        log = await store.log(self.session.key, start=0, stop=meta.log_len)
        path = [
            fmt.parse(log[seq].raw, index=seq, origin=log[seq].origin).placed(seq, log[seq].at)
            for low, high in meta.path
            for seq in range(low, high)
        ]
        shown = {m.seq for m in path}
        for number, info in meta.generations.items():
            record = await store.generation(self.session.key, number)
            assert record is not None
            if {seq for low, high in info.covered for seq in range(low, high)} <= shown:
                broken = violations(Shown(path, record, render(path, record, fmt), fmt))
                assert not set(broken) - {"never-last"}, broken  # a tail that was taken back may bare a summary


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_random_lives_with_redacts(
    client: CompactionClient, redis: Redis, small: None, fmt: str, seed: int
) -> None:
    life = RedactedLife(client.session("chat", format=fmt, window=WINDOW), fmt, seed)
    life.gone, life.words = [], {}
    await life.record(client)
    steps = (
        life.record,
        life.record,
        life.tell,
        life.tell,
        life.redact,
        life.pack,
        life.work,
        life.request,
        life.rewind,
        life.mirror,
    )

    for _ in range(STEPS):
        step = life.rng.choice(steps)
        await step(client)
        await assert_sound(life.session, await life.session.view())
        await life.assert_all_kept_sound()
        kept: list[Raw] = await stored(redis, "chat")
        assert [kept[seq] for seq in await life.path()] == life.mine, step.__name__
        held = await everything(redis)
        assert not [word for word in life.gone if word.encode() in held], step.__name__
