"""Summaries from the Anthropic messages API."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from offturn_engine.summary import SummaryRequest

from .answer import Draft, count
from .endpoint import CONNECT_SECONDS, trusted
from .model import Model

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

LISTED = 1_000  # models of the one page of the list that is read


class Anthropic(Model):
    """A model behind the messages API; `base_url` without `/v1`."""

    provider = "anthropic"
    default_url = "https://api.anthropic.com"
    finishes = MappingProxyType(
        {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "refusal": "refused"}
    )

    async def _stream(self, request: SummaryRequest, draft: Draft) -> None:
        # No temperature: the API has none. System only where there is one: an empty block is refused.
        prefix: tuple[Any, ...] = ()
        around: dict[str, Any] = {"system": request.system} if request.system else {}
        if request.prefix:  # as the host sends it; the API reads its cache only where a request asks for caching
            prefix = request.prefix.messages
            around = {"system": request.prefix.system, "tools": request.prefix.tools}
            around = {name: value for name, value in around.items() if value is not None}
            around["cache_control"] = {"type": "ephemeral"}
        async with (
            self._client() as client,
            await client.messages.create(
                model=self.name,
                max_tokens=request.max_output_tokens,
                messages=[*prefix, {"role": "user", "content": request.content}],
                stream=True,
                **around,
            ) as events,
        ):
            async for event in events:
                draft.events += 1
                _read(event, draft)

    def load(self) -> None:
        _ = self._client().messages  # modules of their own, which the SDK imports at their first use

    async def retrieve_facts(self) -> Any:
        async with self._client() as client:
            return await client.models.retrieve(self.name)

    async def list_facts(self) -> Sequence[Any]:
        async with self._client() as client:
            return (await client.models.list(limit=LISTED)).data

    def _client(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient, Timeout

        _quiet()
        timeout = Timeout(self.timeout, connect=min(CONNECT_SECONDS, self.timeout))
        return AsyncAnthropic(
            api_key=self._endpoint.key.get_secret_value(),
            base_url=self._endpoint.base_url,
            timeout=timeout,
            max_retries=0,
            # A transcript goes to the address that was configured, and nowhere else.
            http_client=DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False, verify=trusted()),
            open_telemetry={},  # given, even empty, it keeps the environment from putting content into spans
        )


def _read(event: Any, draft: Draft) -> None:
    match event.type:
        case "message_start":
            _usage(event.message.usage, draft)
        case "content_block_delta" if event.delta.type == "text_delta":
            draft.add(event.delta.text)
        case "message_delta":
            draft.ended = event.delta.stop_reason or draft.ended
            _usage(event.usage, draft)


def _usage(usage: Any, draft: Draft) -> None:
    """Counts are cumulative. `input_tokens` leaves out what was read from or written to the cache; ours includes it."""
    cached = count(getattr(usage, "cache_read_input_tokens", None))
    written = count(getattr(usage, "cache_creation_input_tokens", None))
    draft.input_tokens = max(draft.input_tokens, count(getattr(usage, "input_tokens", None)) + cached + written)
    draft.cached_tokens = max(draft.cached_tokens, cached)
    draft.output_tokens = max(draft.output_tokens, count(getattr(usage, "output_tokens", None)))


def _quiet() -> None:
    """At DEBUG the SDK logs whole requests, and session content is never logged."""
    logger = logging.getLogger("anthropic")
    if logger.getEffectiveLevel() < logging.INFO:
        logger.setLevel(logging.INFO)
