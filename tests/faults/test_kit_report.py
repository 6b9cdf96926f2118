"""What a run of the fault kit says of itself."""

from __future__ import annotations

import pytest

from tests.faults.kit.driver import LONGEST, MEDIAN, Report
from tests.faults.kit.plans import MINUTE


@pytest.mark.parametrize(
    ("takeovers", "late"),
    [
        ([], False),
        ([MEDIAN, MEDIAN, LONGEST], False),
        ([MEDIAN, MEDIAN + 0.1, LONGEST], True),
        ([1.0, 1.0, LONGEST + 0.1], True),
    ],
)
def test_take_overs_that_last_too_long_are_told(takeovers: list[float], late: bool) -> None:
    assert bool(Report(plan=MINUTE, seed=1, takeovers=takeovers).late) is late
