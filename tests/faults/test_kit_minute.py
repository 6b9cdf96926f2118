"""The fault kit for a minute, with a seed of its own: the same code as `make faults`, smaller counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.kit.driver import run
from tests.faults.kit.plans import MINUTE

SEED = 7


@pytest.mark.timeout(900)
async def test_a_minute_of_faults_leaves_nothing_broken(tmp_path: Path) -> None:
    report = await run(MINUTE, SEED, tmp_path, print)

    print(f"seed {SEED}\n{report.table()}")
    assert report.missed == []
