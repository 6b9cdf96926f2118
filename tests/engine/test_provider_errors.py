"""The table of provider failures: every dialect known, and laws over all of them."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.provider_errors import PERMANENT, RETRYABLE, Kind, classify, problem


class Case(NamedTuple):
    kind: Kind
    status: int | None = None
    code: str | None = None
    type: str | None = None
    text: str = ""
    tokens: int | None = None
    limit: int | None = None


LLAMA = (
    "Error code: 400 - {'error': {'code': 400, 'message': 'request (9000 tokens) exceeds the available context size "
    "(8192 tokens), try increasing it', 'type': 'exceed_context_size_error', 'n_prompt_tokens': 9000, 'n_ctx': 8192}}"
)
OPENAI = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. "
    "Please reduce the length of the messages."
)
SPLIT = (
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the messages, 4000 "
    "in the completion). Please reduce the length of the messages or completion."
)

CASES = [
    # too long
    Case("too_long", 400, "400", "exceed_context_size_error", LLAMA, 9000, 8192),
    Case("too_long", 400, None, None, "request (9000 tokens) exceeds the available context size (8192 tokens)", 9000, 8192),
    Case("too_long", 400, None, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", 210000, 200000),
    Case("too_long", 400, None, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 190000, 200000),
    Case("too_long", 400, "context_length_exceeded", "invalid_request_error", OPENAI, 9000, 8192),
    Case("too_long", 400, None, "BadRequestError", OPENAI.replace("your messages resulted in", "you requested"), 9000, 8192),
    Case("too_long", 400, "context_length_exceeded", None, SPLIT, 5000, 8192),
    Case("too_long", 400, "context_length_exceeded", None, SPLIT.replace("the messages", "your prompt"), 5000, 8192),
    Case("too_long", 400, None, None, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048576),
    Case("too_long", 400, None, None, "Your input exceeds the context window of this model."),
    Case("too_long", 413, None, "request_too_large", "Request exceeds the maximum size"),
    Case("too_long", 413),
    Case("too_long", 200, "model_context_window_exceeded"),
    Case("too_long", None, "model_context_window_exceeded"),
    Case("too_long", 429, "rate_limit_exceeded", "tokens", "Request too large for m on tokens per min (TPM): Limit 30000, Requested 59353.", 59353, 30000),
    # rate limits and budgets
    Case("rate_limited", 429, None, "rate_limit_error", "This request would exceed your rate limit"),
    Case("rate_limited", 429, "rate_limit_exceeded", "tokens", "Rate limit reached: Limit 30000, Used 29000, Requested 5000"),
    Case("rate_limited", 429, "ramp_limit_exceeded", "rate_limit_error"),
    Case("rate_limited", 429, None, None, "Too many tokens, please wait before trying again."),
    Case("rate_limited", None, None, "rate_limit_error"),
    Case("quota", 429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota"),
    Case("quota", 429, "contract_spend_limit_reached", "rate_limit_error"),
    Case("quota", 429, "enforced_spend_limit_reached", "rate_limit_error"),
    Case("quota", 402, None, "billing_error"),
    Case("quota", 402),
    Case("quota", 400, None, "invalid_request_error", "Your credit balance is too low to access the API."),
    # trouble at the provider
    Case("overloaded", 529, None, "overloaded_error"),
    Case("overloaded", 529),
    Case("overloaded", 200, None, "overloaded_error"),
    Case("overloaded", 503, "slow_down", "server_error"),
    Case("unavailable", 500, None, "api_error"),
    Case("unavailable", 503, None, "unavailable_error", "Loading model"),
    Case("unavailable", 502, None, None, "<html>Bad gateway</html>"),
    Case("unavailable", 200, None, "api_error"),
    Case("unavailable", None, "server_error", "server_error"),
    Case("unavailable", 409),
    Case("timeout", 504, None, "timeout_error"),
    Case("timeout", 408),
    Case("timeout", None, None, "timeout_error"),
    # permanent
    Case("auth", 401, "invalid_api_key", "invalid_request_error"),
    Case("auth", 401, None, "authentication_error"),
    Case("auth", 403, None, "permission_error"),
    Case("not_found", 404, "model_not_found", "invalid_request_error"),
    Case("not_found", 404, None, "not_found_error"),
    Case("not_found", 404, None, "api_error", "model 'x' not found, try pulling it first"),
    Case("bad_request", 400, "unsupported_parameter", "invalid_request_error", "Use 'max_completion_tokens' instead."),
    Case("bad_request", 400, None, "invalid_request_error", "max_tokens: must be greater than 0"),
    Case("bad_request", 422),
    Case("bad_request", 418),
    # answers that are none
    Case("refused", 400, "content_policy_violation"),
    Case("refused", None, "content_filter"),
    Case("refused", 200, "refusal"),
    Case("cut", 200, "length"),
    Case("cut", 200, "max_tokens"),
    Case("unknown", None, None, None, "boom"),
    Case("not_found", 302),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.kind}-{c.status}-{c.code or c.type or c.text[:24]}")
def test_every_known_dialect(case: Case) -> None:
    found = classify(status=case.status, code=case.code, wire_type=case.type, text=case.text)
    assert (found.kind, found.tokens, found.limit) == (case.kind, case.tokens, case.limit)


def test_retry_after_is_kept_where_waiting_helps() -> None:
    assert classify(status=429, code=None, wire_type=None, text="", retry_after=7.5).retry_after == 7.5


def test_a_prompt_echoed_by_the_provider_is_not_read() -> None:
    """Beyond the first characters the text may be the prompt, and a transcript may talk about error messages."""
    found = classify(status=400, code=None, wire_type=None, text="invalid value" + " " * 5_000 + "prompt is too long")
    assert found.kind == "bad_request"


def test_a_kind_is_never_both_retryable_and_permanent() -> None:
    assert not RETRYABLE & PERMANENT
    assert not problem("too_long").retryable
    assert not problem("too_long").permanent_for_route


@given(
    status=st.none() | st.integers(100, 599),
    code=st.none() | st.text(max_size=20),
    wire_type=st.none() | st.text(max_size=20),
    text=st.text(max_size=400),
)
def test_classifies_anything(status: int | None, code: str | None, wire_type: str | None, text: str) -> None:
    found = classify(status=status, code=code, wire_type=wire_type, text=text)
    assert (found.retryable, found.permanent_for_route) == (found.kind in RETRYABLE, found.kind in PERMANENT)


@given(tokens=st.integers(1, 10**9 - 1), limit=st.integers(1, 10**9 - 1))
def test_numbers_of_a_too_long_prompt_are_read_back(tokens: int, limit: int) -> None:
    found = classify(
        status=400, code=None, wire_type=None, text=f"prompt is too long: {tokens:,} tokens > {limit} maximum"
    )
    assert (found.tokens, found.limit) == (tokens, limit)
