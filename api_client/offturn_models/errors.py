"""Errors of the model clients.

    OffturnError
    └── SummarizerError (offturn_engine.errors)      kind, retryable, retry_after
        └── ModelError           model, status, request_id, tokens, limit, raised, tried
            ├── RateLimited          too many requests or tokens a minute
            ├── Overloaded           the provider is overloaded, down or out of reach
            ├── TimedOut             no complete answer within the call's deadline
            ├── InputTooLong         the request exceeds the model's window: tokens, limit
            ├── Refused              the provider's filter declined the request itself
            ├── QuotaExceeded        the budget is spent
            ├── AuthFailed           the key is wrong or lacks a permission
            ├── ModelNotFound        the provider has no such model
            ├── RequestRejected      the provider does not take such a request
            ├── ConnectionDropped    the answer broke off
            └── BadAnswer            an answer without text, or one that is no answer of this API

Messages hold model, kind, status and request id: never session content, never a key. None has a cause or a context:
an SDK's own error may quote the request.
"""

from __future__ import annotations

from offturn_engine.errors import SummarizerError
from offturn_engine.provider_errors import Kind, ProviderProblem

MAX_ID = 100  # characters of a request id that are kept: it comes from outside


class ModelError(SummarizerError):
    """A model call that brought no answer.

    `retry_after` in seconds; `raised` is the class name of a transport's own error; `tried` holds (model, kind) of each
    entry of a route that failed, this one last.
    """

    remedy = ""

    def __init__(
        self,
        problem: ProviderProblem,
        *,
        model: str,
        status: int | None = None,
        request_id: str | None = None,
        raised: str | None = None,
    ) -> None:
        super().__init__(
            problem.kind, f"{model}: {problem.kind}", retryable=problem.retryable, retry_after=problem.retry_after
        )
        self.kind: Kind = problem.kind
        self.problem = problem
        self.tokens = problem.tokens
        self.limit = problem.limit
        self.model = model
        self.status = status
        self.request_id = request_id[:MAX_ID] if request_id else None
        self.raised = raised
        self.tried: tuple[tuple[str, Kind], ...] = ((model, problem.kind),)

    def __str__(self) -> str:
        facts = [f"status {self.status}"] if self.status is not None else []
        facts += [f"request {self.request_id}"] if self.request_id else []
        facts += [self.raised] if self.raised else []
        facts += [f"retry after {self.retry_after:g} s"] if self.retry_after is not None else []
        facts += [f"{self.tokens} of {self.limit} tokens"] if self.tokens and self.limit else []
        said = f"{self.model}: {self.kind}" + (f" ({', '.join(facts)})" if facts else "")
        earlier = ", ".join(f"{model}: {kind}" for model, kind in self.tried[:-1])
        return said + (f"; before it {earlier}" if earlier else "") + (f"; {self.remedy}" if self.remedy else "")


class RateLimited(ModelError):
    """Too many requests or tokens a minute; `retry_after` where the provider says."""


class Overloaded(ModelError):
    """The provider is overloaded, down or out of reach."""


class TimedOut(ModelError):
    """No complete answer within the call's deadline, or the provider gave up."""


class InputTooLong(ModelError):
    """The request exceeds the model's window; `tokens` and `limit` as the provider counted them, where it said."""


class Refused(ModelError):
    """The provider's filter declined the request itself. A model that declines answers with finish `refused`."""


class QuotaExceeded(ModelError):
    """The budget is spent."""

    remedy = "raise the spending limit at the provider, or name another summarizer"


class AuthFailed(ModelError):
    """The key is wrong, or lacks a permission."""

    remedy = "check the key"


class ModelNotFound(ModelError):
    """The provider has no such model."""

    remedy = "check the model's name and the base URL"


class RequestRejected(ModelError):
    """The provider does not take such a request: a parameter it does not know, or a wrong base URL."""

    remedy = "a compatible server may want another token parameter or base URL"


class ConnectionDropped(ModelError):
    """The answer broke off before its end."""


class BadAnswer(ModelError):
    """An answer without text, one that is no answer of this API, or a failure no rule knows."""


_CLASSES: dict[Kind, type[ModelError]] = {
    "rate_limited": RateLimited,
    "overloaded": Overloaded,
    "unavailable": Overloaded,
    "timeout": TimedOut,
    "too_long": InputTooLong,
    "refused": Refused,
    "quota": QuotaExceeded,
    "auth": AuthFailed,
    "not_found": ModelNotFound,
    "bad_request": RequestRejected,
    "dropped": ConnectionDropped,
    "cut": BadAnswer,
    "empty": BadAnswer,
    "garbled": BadAnswer,
    "unknown": BadAnswer,
}


def failed(
    problem: ProviderProblem,
    *,
    model: str,
    status: int | None = None,
    request_id: str | None = None,
    raised: str | None = None,
) -> ModelError:
    """The error of a classified problem."""
    return _CLASSES[problem.kind](problem, model=model, status=status, request_id=request_id, raised=raised)
