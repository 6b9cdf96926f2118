"""What the summarizers of all model APIs share: where the model is, its limits, and one streamed call per request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pydantic import SecretStr

from offturn_engine.summary import Finish, SummaryReply, SummaryRequest

from .answer import Draft, answer
from .endpoint import endpoint

DEFAULT_WINDOW = 128_000  # tokens
DEFAULT_TIMEOUT = 120.0  # seconds of one call


class Model(ABC):
    """A summarizer: `model` as `<provider>:<name>`, `window` in tokens, `timeout` of one call in seconds,
    `id` what its breaker is kept under, `account` what its rate is.

    Raises InvalidSetting where there is no key. One connection per call: calls are minutes apart, a pooled connection
    would be dead by then, and there is nothing to close.
    """

    provider: ClassVar[str]  # also the name of the SDK's package
    default_url: ClassVar[str]
    finishes: ClassVar[Mapping[str, Finish]]

    def __init__(
        self,
        name: str,
        *,
        api_key: str | SecretStr | None = None,
        base_url: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        window: int = DEFAULT_WINDOW,
    ) -> None:
        self._endpoint = endpoint(self.provider, name, base_url=base_url, default_url=self.default_url, key=api_key)
        self.name = name
        self.model = f"{self.provider}:{name}"
        self.id = f"{self.model}#{self._endpoint.fingerprint}"
        self.account = f"{self.provider}#{self._endpoint.fingerprint}"
        self.timeout = timeout
        self.window = window

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, window={self.window})"

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """One streamed call. Raises ModelError; cancelling it closes the connection."""

        async def stream(draft: Draft) -> None:
            await self._stream(request, draft)

        return await answer(
            stream,
            sdk=self.provider,
            model=self.model,
            deadline=self.timeout,
            most_tokens=request.max_output_tokens,
            finishes=self.finishes,
        )

    @abstractmethod
    def load(self) -> None:
        """Load what the first call would: a second of the processor's time, for a thread. Raises what an import does."""

    @property
    def at_provider(self) -> bool:
        """At the provider's public address, not at a compatible server's."""
        return self._endpoint.own

    @property
    def address(self) -> str:
        """The base URL to show: without a query, which may hold a key."""
        parts = urlsplit(self._endpoint.base_url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    @abstractmethod
    async def retrieve_facts(self) -> Any:
        """What the server's list of models says of this one; free. Raises what the SDK raises: `probe` classifies it."""

    @abstractmethod
    async def list_facts(self) -> Sequence[Any]:
        """One page of that list, in the same way."""

    @abstractmethod
    async def _stream(self, request: SummaryRequest, draft: Draft) -> None:
        """Send the request and read its events into the draft; whatever it raises is classified by the caller."""
