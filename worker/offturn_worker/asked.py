"""Summarizers that tell an observer of each request: the entries of a route one by one, so that each answers for itself."""

from __future__ import annotations

from offturn.observing import Observer
from offturn.remote import Remote
from offturn.summarizer import AnySummarizer, Extractive, Summarizer
from offturn_engine.compaction import Spent
from offturn_engine.remote import RemoteReply, RemoteRequest
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_models.breaker import Entry
from offturn_models.route import Route
from offturn_worker.slots import asking


class _Around:
    """What is asked as another summarizer is."""

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer

    @property
    def model(self) -> str:
        return self._summarizer.model

    @property
    def window(self) -> int:
        return self._summarizer.window


class AskedSummarizer(_Around):
    """A summarizer whose requests are told."""

    def __init__(self, summarizer: Summarizer, observer: Observer) -> None:
        super().__init__(summarizer)
        self._observer = observer

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """As the summarizer does."""
        with self._observer.call(self._summarizer.model) as call:
            reply = await self._summarizer.summarize(request)
            call.finish = reply.finish
            call.spent = Spent(
                calls=1,
                input_tokens=reply.input_tokens,
                cached_tokens=reply.cached_tokens,
                output_tokens=reply.output_tokens,
                milliseconds=reply.milliseconds,
            )
        return reply


class InSlot(_Around):
    """A summarizer that is asked in a slot. Of a route this goes around its gate: what that lets through is asked at once."""

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """As the summarizer does."""
        async with asking():
            return await self._summarizer.summarize(request)


class AskedEntry(AskedSummarizer):
    """An entry of a route."""

    def __init__(self, entry: Entry, observer: Observer) -> None:
        super().__init__(entry, observer)
        self._entry = entry

    def __repr__(self) -> str:
        return repr(self._entry)

    @property
    def id(self) -> str:
        return self._entry.id

    @property
    def account(self) -> str:
        return self._entry.account

    @property
    def timeout(self) -> float:
        return self._entry.timeout


class AskedRemote:
    """Providers' endpoints, and sessions' own models."""

    def __init__(self, remote: Remote, observer: Observer) -> None:
        self._remote = remote
        self._observer = observer

    async def compact(self, request: RemoteRequest) -> RemoteReply:
        """As the endpoints do."""
        async with asking():
            with self._observer.call(f"{request.mode.partition('-')[0]}:{request.model}") as call:
                reply = await self._remote.compact(request)
                call.finish, call.spent = "stop", reply.spent
        return reply

    def summarizer(self, model: str) -> Summarizer:
        """As the endpoints do."""
        return InSlot(AskedSummarizer(self._remote.summarizer(model), self._observer))


def asked(summarizer: AnySummarizer, observer: Observer) -> AnySummarizer:
    """The same; code alone asks nobody."""
    if isinstance(summarizer, Route):
        return Route([AskedEntry(entry, observer) for entry in summarizer.entries])
    return summarizer if isinstance(summarizer, Extractive) else AskedSummarizer(summarizer, observer)


def in_slot(summarizer: AnySummarizer) -> AnySummarizer:
    """The same, each request in a slot of its job; code alone asks nobody."""
    return summarizer if isinstance(summarizer, Extractive) else InSlot(summarizer)


def models_of(summarizer: AnySummarizer) -> tuple[str, ...]:
    """Whom it asks, as `provider:name`."""
    if isinstance(summarizer, Extractive):
        return ()
    return tuple(entry.model for entry in summarizer.entries) if isinstance(summarizer, Route) else (summarizer.model,)
