"""Errors of the engine.

OffturnError
├── InvalidMessage     a message no provider would take: index, field, remedy; nothing was stored
├── UnknownFormat      no format has that name
├── CannotFit          the last human message and pinned constraints alone exceed the window
└── BrokenInvariant    offturn's own result would break a promise; never published, always a bug
"""

from offturn_config.errors import ConfigError, OffturnError


class InvalidMessage(OffturnError):
    """A message no provider would accept. `index` counts from 0 in the list given, `field` is a path inside it, "" for all of it."""

    def __init__(self, index: int, field: str, problem: str) -> None:
        place = f", field {field!r}" if field else ""
        super().__init__(f"message {index}{place}: {problem}")
        self.index = index
        self.field = field
        self.problem = problem


class UnknownFormat(ConfigError):
    """No format has that name; the message lists those that exist."""


class CannotFit(OffturnError):
    """What may never be cut is larger than the window allows. `tokens` and `limit` are estimates of one request.

    `subject`: what it is that needs those tokens.
    """

    def __init__(
        self, tokens: int, limit: int, subject: str = "the last human message and the system prompt need"
    ) -> None:
        super().__init__(
            f"{subject} about {tokens} tokens, the request may have {limit}: "
            "send a shorter message, a smaller system prompt or tool list, or use a larger window"
        )
        self.tokens = tokens
        self.limit = limit


class BrokenInvariant(OffturnError):
    """A candidate view breaks an invariant; `names` are the invariants' names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"the candidate view breaks: {', '.join(names)}")
        self.names = names


class SummarizerError(OffturnError):
    """A summarizer call failed. `kind` as in `provider_errors`; `retry_after` in seconds where the provider said so."""

    def __init__(self, kind: str, message: str, *, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
