"""Summaries from the OpenAI chat completions API and from every server that speaks it."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import SecretStr

from offturn_engine.summary import SummaryRequest

from .answer import Draft, count
from .endpoint import CONNECT_SECONDS, trusted
from .model import DEFAULT_TIMEOUT, DEFAULT_WINDOW, Model

if TYPE_CHECKING:
    from openai import AsyncOpenAI

TokenParameter = Literal["max_completion_tokens", "max_tokens"]


class OpenAI(Model):
    """A model behind the chat completions API; `base_url` with `/v1`.

    `token_parameter` carries the output cap: by default `max_completion_tokens` at OpenAI and `max_tokens` at any other
    base URL, because a compatible server may ignore a name it does not know, and then nothing caps the answer.
    """

    provider = "openai"
    default_url = "https://api.openai.com/v1"
    finishes = MappingProxyType({"stop": "stop", "length": "length", "content_filter": "refused"})

    def __init__(
        self,
        name: str,
        *,
        api_key: str | SecretStr | None = None,
        base_url: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        window: int = DEFAULT_WINDOW,
        token_parameter: TokenParameter | None = None,
    ) -> None:
        super().__init__(name, api_key=api_key, base_url=base_url, timeout=timeout, window=window)
        self.token_parameter = token_parameter or ("max_completion_tokens" if self._endpoint.own else "max_tokens")

    async def _stream(self, request: SummaryRequest, draft: Draft) -> None:
        cap: Any = {self.token_parameter: request.max_output_tokens}
        if request.prefix and request.prefix.tools is not None:
            cap["tools"] = request.prefix.tools
        async with (
            self._client() as client,
            await client.chat.completions.create(
                model=self.name, messages=_messages(request), stream=True, stream_options={"include_usage": True}, **cap
            ) as chunks,
        ):
            async for chunk in chunks:
                draft.events += 1
                _read(chunk, draft)

    def load(self) -> None:
        _ = self._client().chat.completions  # modules of their own, which the SDK imports at their first use

    async def retrieve_facts(self) -> Any:
        async with self._client() as client:
            return await client.models.retrieve(self.name)

    async def list_facts(self) -> Sequence[Any]:
        async with self._client() as client:
            return (await client.models.list()).data or ()

    def _client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

        timeout = Timeout(self.timeout, connect=min(CONNECT_SECONDS, self.timeout))
        return AsyncOpenAI(
            api_key=self._endpoint.key.get_secret_value(),
            base_url=self._endpoint.base_url,
            timeout=timeout,
            max_retries=0,
            # A transcript goes to the address that was configured, and nowhere else.
            http_client=DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False, verify=trusted()),
        )


def _messages(request: SummaryRequest) -> Any:
    before: list[Any] = [{"role": "system", "content": request.system}] if request.system else []
    if request.prefix:
        before = [*request.prefix.messages]
    return [*before, {"role": "user", "content": request.content}]


def _read(chunk: Any, draft: Draft) -> None:
    for choice in chunk.choices or ():
        draft.ended = choice.finish_reason or draft.ended
        draft.refused = draft.refused or bool(choice.delta and choice.delta.refusal)
        if choice.delta and choice.delta.content:
            draft.add(choice.delta.content)
    _usage(chunk.usage, draft)


def _usage(usage: Any, draft: Draft) -> None:
    """In the last chunk only, and absent at some servers. `prompt_tokens` includes what came from the cache."""
    draft.input_tokens = max(draft.input_tokens, count(getattr(usage, "prompt_tokens", None)))
    details = getattr(usage, "prompt_tokens_details", None)
    draft.cached_tokens = max(draft.cached_tokens, count(getattr(details, "cached_tokens", None)))
    draft.output_tokens = max(draft.output_tokens, count(getattr(usage, "completion_tokens", None)))
