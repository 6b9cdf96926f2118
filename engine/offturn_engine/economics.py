"""What a compaction costs and what it saves, in US dollars. Pure arithmetic: prices come in as functions.

    cost         what the summarizer's calls cost
    lost prefix  the first request after it: what follows the unchanged start of the view is not in the provider's cache
    saving       of each later request: the smaller view, read from the cache, instead of the larger one
    break even   requests after which savings have paid for cost and lost prefix

It takes for granted that the host's requests hit the cache. Without a cache, savings are larger and nothing is lost.
System prompt and tools are in both views and fall out. Source: docs/economics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol, TypeAlias

from offturn_engine.compaction import Compaction, Economics
from offturn_engine.plain import Item

HORIZON = 20  # requests after which the return is reported
DIGITS = 8


class Price(Protocol):
    """One model's price of a request, in US dollars. `input_tokens` include `cached` (read) and `written` ones."""

    def __call__(self, *, input_tokens: int, cached: int = 0, written: int = 0, output_tokens: int = 0) -> float: ...


PriceOf: TypeAlias = Callable[[str], Price | None]
"""The price of a model named `provider:name`; None where nobody knows it."""


def unpriced(_: str) -> Price | None:
    """Knows no price."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerMillion:
    """Flat prices in US dollars for a million tokens; None: as plain input."""

    input: float
    output: float
    cached: float | None = None
    written: float | None = None

    def __call__(self, *, input_tokens: int, cached: int = 0, written: int = 0, output_tokens: int = 0) -> float:
        read = self.input if self.cached is None else self.cached
        write = self.input if self.written is None else self.written
        plain = input_tokens - cached - written
        return (plain * self.input + cached * read + written * write + output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Real tokens of the messages before and after; `prefix`: leading ones that are the same in both."""

    before: int
    after: int
    prefix: int


def economics(cost: float | None, sizes: Sizes, session: Price | None) -> Economics:
    """The account of one compaction. `cost` of its summary, None where unknown; `session`: the price of the model the host calls."""
    if session is None:
        return Economics(cost=_rounded(cost))
    warm = session(input_tokens=sizes.after, cached=sizes.after)
    cold = session(input_tokens=sizes.after, cached=sizes.prefix, written=sizes.after - sizes.prefix)
    saving = session(input_tokens=sizes.before, cached=sizes.before) - warm
    lost = cold - warm
    if cost is None:
        return Economics(lost_prefix=_rounded(lost), saving=_rounded(saving))
    return Economics(
        cost=_rounded(cost),
        lost_prefix=_rounded(lost),
        saving=_rounded(saving),
        break_even=ceil(round((cost + lost) / saving, DIGITS)) if saving > 0 else None,
        after_20=_rounded(HORIZON * saving - cost - lost),
    )


def account(
    record: Compaction,
    before: Sequence[Item],
    after: Sequence[Item],
    *,
    factor: float,
    model: str | None,
    prices: PriceOf,
) -> Economics:
    """Of a record, its base's view and its own. `factor`: real tokens of an estimated one; `model`: the one the host calls."""
    sizes = Sizes(
        before=int(sum(item.tokens for item in before) * factor),
        after=int(sum(item.tokens for item in after) * factor),
        prefix=int(_same(before, after) * factor),
    )
    session = prices(model) if model else None
    spent = record.spent
    if not spent.calls:
        return economics(0.0, sizes, session)
    of_two_models = spent.prefix_tokens and record.model != model  # whose shares of it are not known
    asked = None if of_two_models else prices(record.model)
    if asked is None:
        return economics(None, sizes, session)
    tokens, cached = spent.input_tokens, spent.cached_tokens
    return economics(asked(input_tokens=tokens, cached=cached, output_tokens=spent.output_tokens), sizes, session)


def _same(before: Sequence[Item], after: Sequence[Item]) -> int:
    """Estimate of the leading messages both views have."""
    tokens = 0
    for old, new in zip(before, after, strict=False):
        if old.raw != new.raw:
            break
        tokens += new.tokens
    return tokens


def _rounded(dollars: float | None) -> float | None:
    return None if dollars is None else round(dollars, DIGITS)
