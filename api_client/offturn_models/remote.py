"""Compaction endpoints of the providers: OpenAI's `responses.compact`, Anthropic's on-demand `compaction`.

The item is taken out of the body as it came, fields the SDK does not know included. Nothing is masked: the provider is
the one that has seen these messages already.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import SecretStr

from offturn_config.errors import InvalidSetting, OffturnError
from offturn_engine.compaction import Opaque, Spent
from offturn_engine.messages import Json
from offturn_engine.provider_errors import problem
from offturn_engine.remote import ON_DEMAND_BETA, RemoteReply, RemoteRequest

from .answer import count
from .anthropic import Anthropic
from .errors import failed
from .failure import failure
from .model import DEFAULT_TIMEOUT, Model
from .openai import OpenAI
from .route import PROVIDERS

M = TypeVar("M", bound=Model)

MOST_OUTPUT = 16_000  # tokens of a summary; above 21,333 the SDK wants a stream


class Endpoints:
    """`offturn.remote.Remote` over both SDKs. `keys` and `base_urls` by provider; `timeout` of one call in seconds."""

    def __init__(
        self,
        *,
        keys: Mapping[str, str | SecretStr | None],
        base_urls: Mapping[str, str | None] = MappingProxyType({}),
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        self._keys = keys
        self._base_urls = base_urls
        self._timeout = timeout

    async def compact(self, request: RemoteRequest) -> RemoteReply:
        """One call, not streamed: the endpoints do not. Raises ModelError; InvalidSetting where there is no key."""
        provider = "openai" if request.mode == "openai-compact" else "anthropic"
        model = f"{provider}:{request.model}"
        call = self._openai if provider == "openai" else self._anthropic
        started = time.monotonic()
        raised: Exception | None = None
        try:
            async with asyncio.timeout(self._timeout):
                body = await call(request)
        except OffturnError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises may quote the request, so nothing of it passes
            raised = error
        if raised is not None:
            broken, raised = failure(raised, model=model), None
            raise broken
        usage = body.get("usage") or {}
        spent = _spent(usage, provider, round((time.monotonic() - started) * 1000))
        found = [item for item in body.get("output" if provider == "openai" else "content") or () if _is_item(item)]
        if len(found) != 1:
            raise failed(problem("empty" if not found else "garbled"), model=model)
        data = json.dumps(found[0], ensure_ascii=False)
        return RemoteReply(opaque=Opaque(provider=provider, model=model, data=data), spent=spent)

    def summarizer(self, model: str) -> Model:
        """The model named `provider:name`. Raises InvalidSetting where there is no such provider or no key for it."""
        provider, _, name = model.partition(":")
        if provider not in PROVIDERS or not name:
            raise InvalidSetting(f"model {model!r}: use anthropic:MODEL or openai:MODEL")
        return self._model(PROVIDERS[provider], name)

    async def _openai(self, request: RemoteRequest) -> dict[str, Any]:
        previous = [json.loads(request.previous.data)] if request.previous else []
        given: Any = [*request.before, *previous, *request.messages]
        async with self._model(OpenAI, request.model)._client() as client:  # noqa: SLF001 -- of this package
            raw = await client.responses.with_raw_response.compact(model=request.model, input=given)
            return _body(raw.http_response.content)

    async def _anthropic(self, request: RemoteRequest) -> dict[str, Any]:
        previous = [{"role": "assistant", "content": [json.loads(request.previous.data)]}] if request.previous else []
        given: Any = [*previous, *request.messages]
        async with self._model(Anthropic, request.model)._client() as client:  # noqa: SLF001 -- of this package
            raw = await client.beta.messages.with_raw_response.create(
                model=request.model,
                max_tokens=MOST_OUTPUT,
                messages=given,
                betas=[ON_DEMAND_BETA],
                compaction={"type": "summarize"},
            )
            return _body(raw.http_response.content)

    def _model(self, kind: type[M], name: str) -> M:
        provider = kind.provider
        return kind(
            name,
            api_key=self._keys.get(provider),
            base_url=self._base_urls.get(provider) or None,
            timeout=self._timeout,
        )


def _body(content: bytes) -> dict[str, Any]:
    value: Json = json.loads(content)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _is_item(item: Json) -> bool:
    """A compaction item that holds something: Anthropic says with null content that it failed."""
    if not isinstance(item, dict) or item.get("type") != "compaction":
        return False
    return bool(item.get("encrypted_content") or item.get("content"))


def _spent(usage: Mapping[str, Any], provider: str, milliseconds: int) -> Spent:
    """Input includes cached. Anthropic counts a compaction in `iterations`, not at the top."""
    if provider == "openai":
        details = usage.get("input_tokens_details") or {}
        asked, cached = count(usage.get("input_tokens")), count(details.get("cached_tokens"))
        return Spent(
            calls=1,
            input_tokens=asked,
            cached_tokens=cached,
            output_tokens=count(usage.get("output_tokens")),
            milliseconds=milliseconds,
        )
    parts = usage.get("iterations") or [usage]
    cached = sum(count(part.get("cache_read_input_tokens")) for part in parts)
    written = sum(count(part.get("cache_creation_input_tokens")) for part in parts)
    return Spent(
        calls=1,
        input_tokens=sum(count(part.get("input_tokens")) for part in parts) + cached + written,
        cached_tokens=cached,
        output_tokens=sum(count(part.get("output_tokens")) for part in parts),
        milliseconds=milliseconds,
    )
