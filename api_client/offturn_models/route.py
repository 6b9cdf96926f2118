"""A route: summarizers tried in order, and the text that names one.

`anthropic:claude-haiku-5-5`, `openai:gpt-6-luna`, `openai:model@http://127.0.0.1:8080/v1` (a compatible server's base
URL after the `@`); several, comma-separated, fail over from left to right. A provider's name alone is its cheap model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pydantic import SecretStr

from offturn_config.errors import InvalidSetting
from offturn_engine.provider_errors import Kind
from offturn_engine.summary import SummaryReply, SummaryRequest

from .anthropic import Anthropic
from .breaker import Closed, Entry, Gate, nobody, verdict
from .errors import ModelError
from .model import DEFAULT_TIMEOUT, DEFAULT_WINDOW, Model
from .openai import OpenAI

PROVIDERS: Mapping[str, type[Model]] = MappingProxyType({kind.provider: kind for kind in (Anthropic, OpenAI)})
USAGE = (
    "use anthropic:MODEL, openai:MODEL or openai:MODEL@http://HOST:PORT/v1, several separated by commas; anthropic or "
    "openai alone is its cheap model"
)

CHEAP: Mapping[str, str] = MappingProxyType({"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna"})
"""The model a provider's name alone stands for: its cheapest of November 2026 by the table of genai-prices."""

_ADDRESS = re.compile(r"@(https?://.*)\Z", re.IGNORECASE)


class Route:
    """A summarizer made of others. `model` and `window` are the first entry's; the reply names the one that answered.

    The next entry is asked where one failed or refused. A request too long for one goes on to a larger window only:
    otherwise the caller must cut it. An entry that the gate closes is passed over.
    """

    def __init__(self, entries: Sequence[Entry], gate: Gate | None = None) -> None:
        if not entries:
            raise InvalidSetting("a route needs at least one summarizer")
        self.entries = tuple(entries)
        self._gate = gate
        self.model = self.entries[0].model
        self.window = self.entries[0].window

    def behind(self, gate: Gate) -> Route:
        """The same route, each call let through by the gate."""
        return Route(self.entries, gate)

    def __repr__(self) -> str:
        return f"Route({', '.join(map(repr, self.entries))})"

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The first answer. Raises the ModelError of the last entry that was asked; its `tried` lists what each one said.

        Raises SummarizerError `provider_unavailable` or `limited`, with the time to wait, where the gate lets nobody be
        asked.
        """
        tried: list[tuple[str, Kind]] = []
        closed: list[Closed] = []
        left = self.entries
        outcome: SummaryReply | ModelError | None = None
        while left:
            entry, *rest = left
            answered = await self._ask(entry, request)
            if isinstance(answered, Closed):
                closed.append(answered)
                left = tuple(rest)
                continue
            outcome = answered
            if isinstance(outcome, SummaryReply) and outcome.finish != "refused":
                return outcome
            kind: Kind = "refused" if isinstance(outcome, SummaryReply) else outcome.kind
            tried.append((entry.model, kind))
            left = tuple(e for e in rest if kind != "too_long" or e.window > entry.window)
        if outcome is None:
            raise nobody(closed)
        if isinstance(outcome, SummaryReply):
            return outcome
        outcome.tried = tuple(tried)
        raise outcome

    async def _ask(self, entry: Entry, request: SummaryRequest) -> SummaryReply | ModelError | Closed:
        if self._gate is None:
            return await _ask(entry, request)
        shown = await self._gate.enter(entry, request)
        if isinstance(shown, Closed):
            return shown
        outcome = await _ask(entry, request)
        await self._gate.leave(entry, shown, verdict(outcome.problem) if isinstance(outcome, ModelError) else None)
        return outcome


async def _ask(entry: Entry, request: SummaryRequest) -> SummaryReply | ModelError:
    try:
        return await entry.summarize(request)
    except ModelError as error:
        return error


def parse_route(
    spec: str,
    *,
    keys: Mapping[str, str | SecretStr | None],
    base_urls: Mapping[str, str | None] = MappingProxyType({}),
    timeout: float = DEFAULT_TIMEOUT,
    window: int | None = None,
) -> Route:
    """The route a text names. `keys` and `base_urls` by provider; a base URL in the text goes before one of these.

    timeout: seconds of one call; window: tokens each of the models can read (None: 128,000).
    A provider's key is sent to whatever base URL its entry names. Raises InvalidSetting naming the text and the remedy.
    """
    names = names_of(spec)
    if not names:
        raise InvalidSetting(f"summarizer {spec!r} names no model: {USAGE}")
    return Route([parse_entry(name, keys=keys, base_urls=base_urls, timeout=timeout, window=window) for name in names])


def names_of(spec: str) -> list[str]:
    """The entries of a route, as they are written; one may hold a URL that is not to be shown."""
    return [name.strip() for name in spec.split(",") if name.strip()]


def parse_entry(
    name: str,
    *,
    keys: Mapping[str, str | SecretStr | None],
    base_urls: Mapping[str, str | None] = MappingProxyType({}),
    timeout: float = DEFAULT_TIMEOUT,
    window: int | None = None,
) -> Model:
    """One entry of a route, as `parse_route`. Raises KeyMissing and other InvalidSetting."""
    # A server of your own has models of its own.
    cheap = CHEAP.get(name) if not base_urls.get(name) else None
    provider, model, url = _parts(f"{name}:{cheap}" if cheap else name)
    base = url or base_urls.get(provider) or None
    return PROVIDERS[provider](
        model, api_key=keys.get(provider), base_url=base, timeout=timeout, window=window or DEFAULT_WINDOW
    )


def _parts(name: str) -> tuple[str, str, str]:
    """Provider, model and base URL ("" where none is named). A model's own name may hold `:` and `@`."""
    provider, _, rest = name.partition(":")
    found = _ADDRESS.search(rest)
    model, url = (rest[: found.start()], found.group(1)) if found else (rest, "")
    # What follows an @ may hold credentials, so it is not repeated.
    shown = name[: name.index("@")] + "@..." if "@" in name else name
    if provider not in PROVIDERS:
        raise InvalidSetting(f"summarizer {shown!r}: no provider {provider!r}; {USAGE}")
    if not model or any(c.isspace() for c in model):
        raise InvalidSetting(f"summarizer {shown!r} names no model; {USAGE}")
    return provider, model, url
