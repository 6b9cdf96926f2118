"""The steps of a stage that archive, bring back, and find a session away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from offturn.store.errors import Archived
from offturn.store.sessions import SessionStore
from offturn.store.stubs import Listed, Stub
from offturn_config import keys
from offturn_config.keys import SessionKey
from offturn_worker.archive.keeping import Keeper, Kept
from tests.integration.archived import keeper_at
from tests.protocol import model_archive
from tests.protocol.facts import State


class ArchiveSteps:
    """Part of `Stage`. Objects are in the memory of the process."""

    redis: Any
    key: SessionKey
    state: State
    store: SessionStore
    lines: list[str]
    own_keys: Callable[[], list[str]]
    became: Callable[[State, str], Awaitable[str]]
    save: Callable[[], Awaitable[Any]]
    do: Callable[[str], Awaitable[str]]
    before: Any
    stubs: list[Stub]

    async def on_archive(self, *between: str) -> str:
        """`between`: a step that is played when all is written and nothing evicted, words joined by `+`."""
        keeper, changed = self.keeper(), False
        if between:
            size = keeper.objects.size

            async def meanwhile(name: str) -> int:
                nonlocal changed
                old = self.state
                await self.do(between[0].replace("+", " "))
                changed = self.state != old
                return await size(name)

            keeper.objects.size = meanwhile  # type: ignore[method-assign]
        saved = await self.save()
        kept = await keeper.archive(self.key)
        new, expected = model_archive.archive(self.state, changed=changed)
        answer = "kept" if isinstance(kept, Kept) else kept
        assert answer == expected, f"archive: the store answers {answer}, the model {expected}"
        if answer == "kept":
            stub = await keeper.store.stub(self.key)
            assert stub is not None
            listed = await keeper.store.archived()
            assert [one.object for one in listed if one.key == self.key] == [stub.object]
            for one in self.stubs:
                deleted = await self.redis.zscore(keys.trash(), one.object) is not None
                assert deleted, "the object of an earlier life would stay for ever"
            self.stubs = [*self.stubs, stub]
            self.before = saved
        return await self.became(new, answer)

    async def on_restore(self, which: str = "") -> str:
        """`old`: for the stub before the newest, as a worker would that was slow."""
        keeper = self.keeper()
        saved = await self.save()
        if which:
            assert not await keeper._restored(self.stubs[-2])
            return await self.became(self.state, "false")
        done = await keeper.restore(self.key)
        new, expected = model_archive.restore(self.state)
        assert done is expected
        if done:
            self.before = saved
        return await self.became(new, str(done).lower())

    async def on_want(self) -> str:
        archived, _ = await self.store.want(self.key)
        new, expected = model_archive.want(self.state)
        assert archived is expected
        return await self.became(new, str(archived).lower())

    async def on_forget(self) -> str:
        """Does the list still tell the truth? It is looked through for the object of every stub there was."""
        keeper = self.keeper()
        for one in await keeper.store.archived():
            if one.key == self.key:
                here = self.state.archived and one.object == self.stubs[-1].object
                assert await keeper.store.forget(one) is not here
        left = await keeper.store.archived()
        for stub in self.stubs[:-1]:  # found in a list that was read a while ago
            one = Listed(key=self.key, object=stub.object, at=stub.at, bytes=stub.bytes, messages=stub.messages)
            if one.object not in [now.object for now in left]:
                await keeper.store.forget(one)
        assert await keeper.store.archived() == left, "an entry of a later life is forgotten"
        return await self.became(self.state, "looked")

    async def away(self, new: State) -> None:
        """Nothing of it is here but the stub, which says when it is wanted."""
        stub = await self.keeper().store.stub(self.key)
        assert stub is not None
        assert stub.incarnation == new.incarnation
        names = [name for name in self.own_keys() if not name.endswith((":meta", ":life"))]
        assert not await self.redis.exists(*names), "an archived session leaves more than its stub"
        assert (await self.redis.zscore(keys.due(), self.key.member) is not None) is new.due

    async def refused(self, call: Callable[[], Awaitable[Any]]) -> None:
        """Every script of a session that is away writes nothing. Raises Archived."""
        try:
            reply = await call()
        except Archived:
            await self.became(self.state, "")
            raise
        raise AssertionError(f"the store answers {reply}, the session is archived")

    def keeper(self) -> Keeper:
        made = keeper_at(self.redis, f"memory://protocol/{self.key.session.replace(' ', '-')}")
        made.store._scripts = self.store._scripts
        return made
