"""The client for hosts: sessions by id, and the recipe in-process for tests and single-process bots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_hex
from types import TracebackType
from typing import Any, Self, get_args

from offturn.attachments import Attachments, checked_attachments
from offturn.config import DEFAULT_WINDOW, Adopt, SessionConfig, checked_adopt, checked_model, reserved_output
from offturn.deadline import one_call
from offturn.entries import OriginRule
from offturn.errors import StoreFault, StoreUnavailable, UnknownVersion
from offturn.health import Health, health
from offturn.inspecting import checked_limit
from offturn.links import Connector, OnOutage
from offturn.outbox import Undelivered
from offturn.recipe import run
from offturn.session import Session
from offturn.store.dead import DeadLetter
from offturn.store.sinks import Sinks
from offturn.summarizer import EXTRACTIVE, AnySummarizer
from offturn.ticket import Ticket
from offturn.wording import several
from offturn.writing_back import Sink, WriteBack
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_config.presets import DEFAULT, load
from offturn_config.settings import load_trigger_settings
from offturn_config.urls import parse_url
from offturn_engine.formats import get
from offturn_engine.outcome import Outcome

BATCH = 10_000  # due sessions of one run
EVERY = 10_000_000
ONE_SHOT_SECONDS = 3600  # that the session of a `compact` outlasts its last use


class CompactionClient:
    """Use as an async context manager, or call `close()`. No I/O before the first await."""

    def __init__(self, connector: Connector, tenant: str, autocompact_pct: int | None = None) -> None:
        self._connector = connector
        self._tenant = tenant
        self._sinks: list[WriteBack] = []
        self._forced = {} if autocompact_pct is None else {"trigger.pct_override": autocompact_pct}

    @classmethod
    def from_url(
        cls,
        store: str,
        *,
        queue: str | None = None,
        tenant: str = "default",
        timeout: float = 2.0,
        on_outage: OnOutage = "degrade",
    ) -> Self:
        """`store`: redis://, rediss://, unix://, sentinel://HOST1,HOST2/SERVICE/DB, or embedded://PATH (starts the
        embedded Valkey, or joins it).

        queue: another server for the doorbell. timeout: seconds one call may wait for the store, its turn and retries
        included; what it computes, and the start of an embedded server, come on top.
        on_outage: what sessions do while the store is away or full. `degrade`: `record` keeps the messages in this
        process (256 or 4 MB a session, then StoreUnavailable), `view`, `mirror` and `overflow` show what it knows, and
        what was kept is delivered once the store is back. `raise`: they raise StoreUnavailable or StoreFull.
        OFFTURN_AUTOCOMPACT_PCT, the one variable read here, is the policy parameter `trigger.pct_override` of every
        session that is created. Raises InvalidSetting.
        """
        for url, name in ((store, "store"), (queue, "queue")):
            if url is not None:
                parse_url(url, name)
        _check_seconds(timeout)
        if on_outage not in get_args(OnOutage):
            raise InvalidSetting(f"on_outage {on_outage!r:.40}: use 'degrade' or 'raise'")
        connector = Connector(store, queue, timeout, on_outage)
        return cls(connector, SessionKey(tenant, "x").tenant, load_trigger_settings().autocompact_pct)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except StoreUnavailable as left:
            if error is None:
                raise
            error.add_note(str(left))  # what the host raised goes first

    async def close(self) -> None:
        """Close the connections, for good: sessions and tickets of this client raise Closed from then on.

        Messages kept while the store was away are tried once more, within the timeout. Raises StoreUnavailable, with
        the connections closed, where some are left: `undelivered` has them.
        """
        if self._connector.closed:
            return
        for sink in self._sinks:
            await sink.close()
        await self._connector.close()
        if left := self._connector.courier.untold:
            raise StoreUnavailable(
                f"the client was closed with {several(sum(left.values()), 'message')} of {several(len(left), 'session')} that "
                "only this process has: undelivered() of the client still has them"
            )

    def undelivered(self) -> list[Undelivered]:
        """Messages of all sessions of this client that only this process has; also after `close`."""
        return self._connector.courier.undelivered()

    def session(
        self,
        id: str,  # noqa: A002 -- the public contract
        *,
        format: str,  # noqa: A002 -- the public contract
        policy: str = DEFAULT,
        overrides: Mapping[str, Any] | None = None,
        model: str | None = None,
        window: int | None = None,
        max_output: int | None = None,
        adopt: Adopt = "group",
        origin: OriginRule = None,
        attachments: Attachments | None = None,
    ) -> Session:
        """A handle. The first `record` stores policy, format and sizes by value; later handles do not change them.

        id: text of 1 to 256 bytes, such as f"telegram:{chat_id}". format: of your messages: `openai-chat` (the dicts
        of chat.completions), `openai-responses` (items of responses.create), `anthropic` (the dicts of messages.create),
        `gemini` (contents of generate_content) or `text-observation` (chats whose tools are called by text).
        overrides: parameters of the policy, as in {"trigger.soft": 0.5}. model: the one the host calls; window: its
        tokens; max_output: of them, kept free for the answer (default: an eighth, at most 8,192).
        adopt: when a new generation goes in force: at the next view with no tool group open (`group`), at a human's
        next message (`turn`), or not at all (`never`). origin: who wrote user-role messages, as in `record`, or a
        function of the raw message that says so (None from it: the format's own rule).
        attachments: where you keep media yourself, a function of a reference (awaited where it is async) or a dict. Your
        messages then hold `attachment://KEY` in place of the data or the address of an image, document or sound;
        `View.kwargs` has the value in its place, `View.messages` and the store never do. One that is not to be had
        within `timeout` becomes a line of text, and a warning says so. See `offturn.attachments.Attachments`.
        Raises UnknownPolicy, InvalidPolicy (with the numbers), UnknownFormat, InvalidSetting.
        """
        checked_attachments(attachments)
        size = DEFAULT_WINDOW if window is None else window
        config = SessionConfig(
            format=get(format).name,
            policy=load(policy, self._forced).override(overrides or {}),
            model=checked_model(model),
            window=size,
            max_output=reserved_output(size, max_output),
            adopt=checked_adopt(adopt),
        )
        config.limits  # noqa: B018 -- refuses a policy that cannot work with this window, before anything is written
        return Session(self._key(id), config, self._connector, origin, window is not None, attachments)

    async def compact(
        self,
        messages: Sequence[Any],
        *,
        format: str,  # noqa: A002 -- the public contract
        policy: str = DEFAULT,
        window: int | None = None,
        note: str | None = None,
    ) -> Ticket:
        """Compact a list once, for hosts that want no session. `Ticket.apply` gives it back with what came since.

        note: what the list is about and what mattered, for the summarizer. The list is kept in a session of its own,
        which ends an hour after its last use. Raises what `session` and `Session.phase_done` raise.
        """
        key, bounds = f"compact:{token_hex(8)}", {"session.ttl": ONE_SHOT_SECONDS}
        once = self.session(key, format=format, policy=policy, overrides=bounds, window=window)
        return await once.phase_done(note or "", history=messages)

    async def on_generation(self, sink: Sink, *, name: str = "default") -> WriteBack:
        """Write-back: `await sink(session, view)` for each session of this tenant that has another generation.

        It is called in this process, until the client is closed, one session at a time, with no tool group open and with
        the generation in force (`adopt="turn"`: while a human's message waits; `adopt="never"`: not at all); also after
        `rollback`, and for what was made while no such process ran. Where several generations came meanwhile, for the
        newest. No other call waits for it.
        It is called again, with the same session and `view.generation`, where it raised (`WriteBack.failing`), took
        longer than a minute, or its process ended: write the generation down with what you write. To take what your list
        has beyond the view with you: `view = await session.mirror(my_list)`. The session it gets knows no `origin` and no
        `attachments` of yours: where you use those, mirror with a session of your own.
        name: of this use, 1 to 64 of a-z, 0-9, _ and -. Processes that give the same share the calls. From its first use
        on, the store notes the name of every session it has to be told of, until `WriteBack.forget`.
        Raises InvalidSetting, StoreUnavailable, StoreFull, StoreFault, Closed.
        """
        links = await self._connector.links()
        sinks = Sinks(links.redis, self._tenant, name)
        if not await sinks.enter():  # of all there is: no deadline over the whole of it
            await sinks.note([key for key in await self.sessions(EVERY) if await self._is_compacted(key)])
            await sinks.ready()
        write_back = WriteBack(sinks, self._reopened, sink)
        write_back.start()
        self._sinks.append(write_back)
        return write_back

    @property
    def tenant(self) -> str:
        """Whose sessions."""
        return self._tenant

    async def sessions(self, limit: int = 1_000) -> list[SessionKey]:
        """Living sessions of this tenant (not purged ones, nor those in the archive), sorted by id; of more than `limit` no matter which.

        Raises InvalidSetting.
        """
        checked_limit(limit)
        links = await self._connector.links()
        return await links.store.sessions(self._tenant, limit)

    async def parked(self, limit: int = 1_000) -> list[DeadLetter]:
        """Sessions of this tenant that are worked on no more, because job after job ended badly; longest first.

        `Session.unblock` or `Session.request` starts the next job of one. Raises InvalidSetting.
        """
        checked_limit(limit)
        links = await self._connector.links()
        return await links.store.dead_letters(self._tenant, limit)

    async def stored_config(self, id: str) -> SessionConfig | None:  # noqa: A002 -- as in session()
        """What a session was created with; None where it does not exist."""
        links = await self._connector.links()
        meta = await links.store.meta(self._key(id))
        return None if meta is None else SessionConfig.from_json(meta.config)

    async def health(self) -> Health:
        """How the store and the workers are, of all tenants; a store that does not answer is a value too. Raises StoreFault."""
        links = await self._connector.links()
        with one_call(self._connector.timeout):
            return await health(links.redis)

    async def run_due(self, *, summarizer: AnySummarizer = EXTRACTIVE) -> list[Outcome]:
        """Compact every session of this tenant that is due now, one after the other, in this process.

        A pause (`offturn pause`) holds workers, not this: whoever calls it wants it.
        """
        links = await self._connector.links()
        await links.beat()
        due = await links.store.due(BATCH, tenant=self._tenant)
        return [await run(key, store=links.store, doorbell=links.doorbell, summarizer=summarizer) for key, _ in due]

    async def _reopened(self, key: SessionKey) -> Session | None:
        config = await self.stored_config(key.session)
        return None if config is None else Session(key, config, self._connector, None, True, reports=False)

    async def _is_compacted(self, key: SessionKey) -> bool:
        try:
            meta = await (await self._connector.links()).store.meta(key)
        except (StoreFault, UnknownVersion):  # one that cannot be read keeps no other from its sink
            return False
        return meta is not None and meta.current > 0

    def _key(self, session: str) -> SessionKey:
        return SessionKey(self._tenant, session)


def _check_seconds(timeout: object) -> None:
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise InvalidSetting(f"timeout {timeout!r:.40}: use a number of seconds above 0")
