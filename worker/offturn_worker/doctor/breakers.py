"""Entries of routes that the workers leave alone at the moment. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from offturn.store.limits import RouteTrouble
from offturn_worker.doctor.attendance import span
from offturn_worker.doctor.findings import Finding, finding
from offturn_worker.doctor.target import Target


def breakers(found: Sequence[RouteTrouble], now_ms: int, target: Target) -> Iterator[Finding]:
    """One finding per open breaker. What a key is kept under is not shown."""
    shut = [one for one in found if one.open]
    if not shut:
        yield finding("breakers", "every provider is asked")
    for one in shut:
        name, wait = one.entry.partition("#")[0], max(0, one.until - now_ms) / 1000
        facts = f"{name} is left alone for {span(wait)} more, since {span((now_ms - one.since) / 1000)}: {one.reason}"
        if one.permanent:
            yield finding("breakers-repair", f"{facts}; only a repair helps")
        else:
            yield finding("breakers-open", facts, store=target.option)
