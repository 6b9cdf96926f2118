"""What a provider's failure means: (status, code, type, text) -> kind.

Providers say "too long" in at least six dialects, some with status 200, and a rate limit may be a spent budget. The rules
are data, tried in order; the first that matches decides. Sources: the error classes of the anthropic and openai
packages, llama.cpp's server, and the wording of compatible servers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "rate_limited",
    "overloaded",
    "unavailable",
    "timeout",
    "too_long",
    "refused",
    "quota",
    "auth",
    "not_found",
    "bad_request",
    "dropped",
    "cut",
    "empty",
    "garbled",
    "unknown",
]

RETRYABLE: frozenset[Kind] = frozenset(
    {"rate_limited", "overloaded", "unavailable", "timeout", "dropped", "empty", "garbled", "unknown"}
)
PERMANENT: frozenset[Kind] = frozenset({"quota", "auth", "not_found", "bad_request"})

READ = 4_000  # characters of a provider's text that are looked at: it may echo a whole prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderProblem:
    """A classified failure. `retry_after` in seconds; `tokens` and `limit` as the provider counted them.

    `retryable`: the same call may succeed later. `permanent_for_route`: no call through this provider and model will
    until somebody changes something there.
    """

    kind: Kind
    retryable: bool
    permanent_for_route: bool
    retry_after: float | None = None
    tokens: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Matches a code or type in `signs`, a status in `statuses`, or `text` found in the message.

    `within` limits the rule to those statuses; None in it stands for "no status, or the 200 of a stream".
    """

    kind: Kind
    signs: frozenset[str] = frozenset()
    statuses: range = range(0)
    text: re.Pattern[str] | None = None
    within: frozenset[int | None] | None = None

    def matches(self, status: int | None, signs: frozenset[str], text: str) -> bool:
        if self.within is not None and status not in self.within:
            return False
        if self.signs & signs or (status is not None and status in self.statuses):
            return True
        return self.text is not None and self.text.search(text) is not None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _like(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# A 429 that says "too many tokens" is a rate limit, so wording alone decides only where the status leaves it open.
_OPEN: frozenset[int | None] = frozenset({None, 400, 413, 422, 500})
_STREAM: frozenset[int | None] = frozenset({None})

RULES: tuple[Rule, ...] = (
    Rule(
        kind="too_long",
        signs=_words(
            "context_length_exceeded exceed_context_size_error model_context_window_exceeded request_too_large"
            " request_body_too_large_after_decoding"
        ),
    ),
    # One request above a whole minute's allowance: waiting never helps, a smaller request does.
    Rule(kind="too_long", text=_like(r"request too large .*limit \d+, requested \d+")),
    Rule(
        kind="too_long",
        text=_like(
            r"prompt is too long",
            r"input is too long",
            r"maximum context length",
            r"exceeds? (?:the )?(?:available |model'?s? )?(?:maximum )?context (?:size|window|length|limit)",
            r"input token count .*exceeds the maximum",
            r"reduce the length of the (?:messages|prompt|input)",
            r"too many (?:input )?tokens",
        ),
        within=_OPEN,
    ),
    Rule(
        kind="quota",
        signs=_words(
            "insufficient_quota billing_error billing_hard_limit_reached contract_spend_limit_reached"
            " enforced_spend_limit_reached linked_organization_spend_limit_reached"
            " linked_organization_billing_unavailable user_profile_not_billable"
        ),
    ),
    Rule(kind="quota", text=_like(r"credit balance is too low"), within=_OPEN),
    Rule(kind="refused", signs=_words("content_filter content_policy_violation refusal")),
    Rule(kind="cut", signs=_words("length max_tokens")),
    Rule(kind="rate_limited", signs=_words("rate_limit_error rate_limit_exceeded ramp_limit_exceeded")),
    Rule(kind="overloaded", signs=_words("overloaded_error slow_down")),
    Rule(
        kind="auth",
        signs=_words("authentication_error invalid_api_key permission_error organization_on_hold account_deactivated"),
    ),
    Rule(kind="not_found", signs=_words("model_not_found not_found_error")),
    Rule(kind="not_found", statuses=range(300, 400)),  # redirects are not followed
    Rule(kind="auth", statuses=range(401, 402)),
    Rule(kind="quota", statuses=range(402, 403)),
    Rule(kind="auth", statuses=range(403, 404)),
    Rule(kind="not_found", statuses=range(404, 405)),
    Rule(kind="timeout", statuses=range(408, 409)),
    Rule(kind="unavailable", statuses=range(409, 410)),
    Rule(kind="too_long", statuses=range(413, 414)),
    Rule(kind="rate_limited", statuses=range(429, 430)),
    Rule(kind="bad_request", statuses=range(400, 500)),
    Rule(kind="timeout", statuses=range(504, 505)),
    Rule(kind="overloaded", statuses=range(529, 530)),
    Rule(kind="unavailable", statuses=range(500, 600)),
    # Types so general that a status says more; inside a stream there is none.
    Rule(kind="timeout", signs=_words("timeout_error"), text=_like(r"timed out"), within=_STREAM),
    Rule(kind="unavailable", signs=_words("api_error server_error unavailable_error"), within=_STREAM),
    Rule(kind="bad_request", signs=_words("invalid_request_error"), within=_STREAM),
)

_N = r"([\d,]+)"
_TOKENS = _like(
    rf"n_prompt_tokens\W+{_N}",
    rf"prompt is too long: {_N} tokens",
    rf"request \({_N} tokens\)",
    rf"requested [\d,]+ tokens \({_N} in ",  # the rest of them are the answer's
    rf"(?:resulted in|requested) {_N}",
    rf"context limit: {_N} \+",
    rf"input token count \({_N}\)",
)
_LIMIT = _like(
    rf"n_ctx\W+{_N}",
    rf"tokens > {_N} maximum",
    rf"context (?:size|length|window) (?:is |of )?\(?{_N} tokens",
    rf"limit {_N}, requested",
    rf"tokens allowed \({_N}\)",
    rf"context limit: [\d,]+ \+ [\d,]+ > {_N}",
)


def problem(
    kind: Kind, *, retry_after: float | None = None, tokens: int | None = None, limit: int | None = None
) -> ProviderProblem:
    """A problem of a known kind, with the flags that kind has."""
    return ProviderProblem(
        kind=kind,
        retryable=kind in RETRYABLE,
        permanent_for_route=kind in PERMANENT,
        retry_after=retry_after,
        tokens=tokens,
        limit=limit,
    )


def classify(
    *, status: int | None, code: str | None, wire_type: str | None, text: str, retry_after: float | None = None
) -> ProviderProblem:
    """The problem behind a provider's error or stop reason (given as `code`).

    A status below 300 counts as none: errors inside a stream carry the stream's 200. Never raises; what no rule knows
    is `unknown`.
    """
    seen, status = text[:READ], status if status is not None and status >= 300 else None
    signs = frozenset(sign for sign in (code, wire_type) if sign)
    kind: Kind = next((rule.kind for rule in RULES if rule.matches(status, signs, seen)), "unknown")
    if kind != "too_long":
        return problem(kind, retry_after=retry_after)
    return problem(kind, tokens=_number(_TOKENS, seen), limit=_number(_LIMIT, seen))


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    digits = next((g.replace(",", "") for g in found.groups() if g), "") if found else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
