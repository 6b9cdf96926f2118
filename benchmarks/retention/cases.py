"""The cases that equal tokens are reported on; rules and budgets were tuned on other seeds."""

from __future__ import annotations

from benchmarks.retention.presets import Case, generated, recorded

TUNED, REPORTED = range(501, 504), range(601, 607)
RECORDED = (("cc_episodic_long.jsonl", 701), ("cc_share_general-tool-calls.jsonl", 702))
SHARES = (0.06, 0.10)
ROUNDS = 3


def reported(*, quick: bool) -> list[Case]:
    """Generated ones, and recorded ones where they are beside this checkout."""
    made = [generated(seed) for seed in (REPORTED[:2] if quick else REPORTED)]
    return made + [case for file, seed in RECORDED if (case := recorded(file, seed)) is not None]
