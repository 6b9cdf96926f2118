"""Random hosts that change their lists as they like: the session is the list, and the log keeps all it ever was."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict, InvalidMessage, Session, View
from offturn.testing import FakeSummarizer
from offturn_engine.render import NO_RESULT
from offturn_engine.restore import RESTORED
from tests.integration.host import FORMATS, human, says, stored, turn
from tests.integration.moved import WINDOW, assert_sound

SEEDS, STEPS = 5, 30
REFUSED = "keep calls and results together|starts in the middle of the session"


class Bot:
    """`mine` is its list; `replaces`: it takes our views for it; `ids`: it names its messages."""

    def __init__(self, fmt: str, rng: Random, *, replaces: bool, ids: bool) -> None:
        self.fmt, self.rng, self.replaces, self.with_ids = fmt, rng, replaces, ids
        self.mine: list[Any] = []
        self.ids: list[str | None] = []
        self.number = 0

    def names(self, count: int) -> list[str | None]:
        self.number += 1
        return [f"row {self.number}.{n}" for n in range(count)]

    def put(self, low: int, high: int, fresh: list[Any]) -> None:
        self.mine[low:high] = fresh
        self.ids[low:high] = self.names(len(fresh))

    def say(self) -> None:
        for _ in range(self.rng.randint(1, 5)):
            self.number += 1
            size = self.rng.choice((200, 2_000, 5_000))
            self.put(len(self.mine), len(self.mine), turn(self.fmt, self.number, size=size))

    def undo(self) -> None:
        stop = self.rng.randint(max(0, len(self.mine) - 9), len(self.mine))
        self.put(stop, len(self.mine), [human(f"Rather {self.number}.")])

    def edit(self) -> None:
        place = self.rng.randrange(len(self.mine))
        role = self.mine[place]["role"]
        if role in ("user", "assistant"):
            self.mine[place] = (human if role == "user" else says)(f"Edited {self.number}.")
            self.number += 1

    def cut(self) -> None:
        low = self.rng.randrange(len(self.mine))
        self.put(low, min(len(self.mine), low + self.rng.choice((1, 4, 8))), [])
        self.put(len(self.mine), len(self.mine), [human(f"Less {self.number}.")])

    def insert(self) -> None:
        place = self.rng.randint(0, len(self.mine))
        while self.replaces and re.search("tool_(call|use)_id", json.dumps(self.mine[place : place + 1])):
            place += 1  # a view puts it behind the result, and then the list is not the view
        self.put(place, place, [human(f"Between {self.number}."), says("Noted.")])

    def forget(self) -> None:
        self.put(0, len(self.mine), [human(f"A new start {self.number}.")])

    def took(self, view: View) -> None:
        if self.replaces:
            self.mine = json.loads(json.dumps(view.kwargs()["messages"]))
            self.ids = [None] * len(self.mine)


def real(messages: Sequence[Any]) -> list[Any]:
    """Without the results that stand in for those that were never recorded, and what a generation shows again: it does so
    whatever a list makes of it.
    """
    return [message for message in messages if not any(text in json.dumps(message) for text in (NO_RESULT, RESTORED))]


async def mirrored(session: Session, bot: Bot) -> View | None:
    """None: calls and results were torn apart, or the list looks trimmed."""
    try:
        return await session.mirror(bot.mine, ids=bot.ids if bot.with_ids and not bot.replaces else None)
    except (InvalidMessage, Conflict) as error:
        if re.search(REFUSED, str(error)):
            return None
        raise


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("with_ids", [False, True])
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_random_lists(
    client: CompactionClient, redis: Redis, fmt: str, replaces: bool, with_ids: bool, seed: int
) -> None:
    rng = Random(seed)
    bot = Bot(fmt, rng, replaces=replaces, ids=with_ids)
    session = client.session("chat", format=fmt, window=WINDOW)
    bot.say()
    log: list[Any] = []
    changes = same = generation = 0
    for number in range(STEPS):
        before = list(bot.mine), list(bot.ids)
        if number:
            rng.choices((bot.say, bot.undo, bot.edit, bot.cut, bot.insert, bot.forget), (8, 3, 3, 2, 2, 1))[0]()
        view = await mirrored(session, bot)
        if view is None:
            bot.mine, bot.ids = before
            assert await stored(redis, "chat") == log
            continue
        await assert_sound(session, view)
        now = await stored(redis, "chat")
        assert now[: len(log)] == log
        log = now
        changes += any(text.startswith("mirror: ") for text in view.warnings)
        if not replaces and not view.behind:
            seqs = [seq for low, high in view.path for seq in range(low, high)]
            path = [log[seq] for seq in seqs]
            assert path[len(path) - len(bot.mine) :] == bot.mine
            assert with_ids or len(path) == len(bot.mine)
        if replaces and not view.behind and view.generation == generation:
            assert real(view.messages) == real(bot.mine)
            same += 1
        generation = view.generation
        bot.took(view)
        if rng.random() < 0.4:
            if rng.random() < 0.5:
                await session.request()
            await client.run_due(summarizer=FakeSummarizer())
    assert changes > 2
    assert same > 2 or not replaces
