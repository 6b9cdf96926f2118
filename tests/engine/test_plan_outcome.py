"""The outcome table: what the store's finish script is told."""

from __future__ import annotations

import pytest

from offturn_engine.outcome import Compacted, Failed, Outcome, Pruned, Skipped, Superseded, finish, name, reason

COMPACTED = Compacted(generation=1, tokens_before=9, tokens_after=3, method="model")


@pytest.mark.parametrize(
    ("outcome", "told", "called", "why"),
    [
        (COMPACTED, "compacted", "compacted", ""),
        (Pruned(generation=1, tokens_before=9, tokens_after=3), "pruned", "pruned", ""),
        (Skipped(reason="not_wanted"), "skipped", "skipped", "not_wanted"),
        (Skipped(reason="below_phase_minimum"), "skipped", "skipped", "below_phase_minimum"),
        (Skipped(reason="no_gain"), "no-gain", "skipped", "no_gain"),
        (Skipped(reason="nothing_to_cover"), "no-gain", "skipped", "nothing_to_cover"),
        (Skipped(reason="too_dense"), "no-gain", "skipped", "too_dense"),
        (Skipped(reason="resting"), "resting", "skipped", "resting"),
        (Superseded(reason="epoch"), "superseded", "superseded", "epoch"),
        (Failed(kind="bug"), "failed", "failed", "bug"),
        (Failed(kind="overloaded", retry_after=3.0, cause="provider"), "unavailable", "failed", "overloaded"),
        (Failed(kind="limited", retry_after=3.0, cause="limit"), "deferred", "failed", "limited"),
    ],
)
def test_outcomes(outcome: Outcome, told: str, called: str, why: str) -> None:
    """A view that cannot shrink holds automatic triggers: as `skipped` it would be due again at once, for ever."""
    assert (finish(outcome), name(outcome), reason(outcome)) == (told, called, why)
