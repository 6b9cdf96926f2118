"""Prices of models, from the table that comes with genai-prices: no request is made. Unknown model, no price.

A summarizer behind a base URL of your own is priced by its name only where the table has that name at the provider
whose API it speaks.
"""

from __future__ import annotations

from functools import lru_cache

from offturn_engine.economics import Price

from .route import CHEAP

PROBE = 1_000  # tokens for a comparison of two prices


@lru_cache(maxsize=256)
def price_of(model: str) -> Price | None:
    """The price of `provider:name`, tiers included; None where the table has no such model or provider."""
    from genai_prices import Usage, calc_price

    provider, _, name = model.partition(":")

    def price(*, input_tokens: int, cached: int = 0, written: int = 0, output_tokens: int = 0) -> float:
        usage = Usage(
            input_tokens=input_tokens, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=output_tokens
        )
        return float(calc_price(usage, name, provider_id=provider).total_price)

    try:
        price(input_tokens=PROBE, output_tokens=PROBE)
    except LookupError:
        return None
    return price if provider and name else None


def same_model_warning(summarizer: str, session: str | None) -> str | None:
    """A sentence where summaries are written by the session's own model, with the price of its provider's cheap one."""
    if session is None or summarizer != session:
        return None
    provider = session.partition(":")[0]
    cheap = f"{provider}:{CHEAP[provider]}" if provider in CHEAP else session
    told = f"{session} writes its own summaries"
    if cheap == session:
        return None if provider in CHEAP else told
    ratio = ratio_of(session, cheap)
    return f"{told}; {cheap} costs 1/{ratio:.0f} of it" if ratio is not None else f"{told}; no price of it is known"


def ratio_of(model: str, other: str) -> float | None:
    """How many times what `other` costs, for ten input tokens to one of output; None where a price is unknown."""
    first, second = price_of(model), price_of(other)
    if first is None or second is None:
        return None
    least = second(input_tokens=10 * PROBE, output_tokens=PROBE)
    return first(input_tokens=10 * PROBE, output_tokens=PROBE) / least if least else None
