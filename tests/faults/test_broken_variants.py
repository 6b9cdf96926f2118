"""The judge can fail: short runs of builds that are broken on purpose, each found out; the same faults, unbroken, pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.kit.short import ACTS, run_short
from tests.faults.kit.variants import VARIANTS

SHOWN_BY = {
    "no-claim-check": ("frozen_holder", {"double commit"}),
    "no-operation-id": ("replies_lost", {"double"}),
    "epoch-not-replaced": ("configured_meanwhile", {"double commit"}),
    "lost-dirty-flag": ("requested_meanwhile", {"due"}),
    "unchecked-purge": ("purged_twice", {"lost"}),
    "committed-twice": ("looked_at", {"double commit"}),
    "view-altered": ("looked_at", {"altered"}),
    "message-dropped": ("looked_at", {"lost"}),
}


def test_every_variant_has_its_fault() -> None:
    assert set(SHOWN_BY) == set(VARIANTS)


@pytest.mark.parametrize("variant", SHOWN_BY)
async def test_a_broken_build_is_found_out(variant: str, tmp_path: Path) -> None:
    act, rules = SHOWN_BY[variant]

    verdict = await run_short(tmp_path, [act], variant)

    assert rules <= set(verdict["rules"]), verdict


async def test_the_same_faults_pass_where_nothing_is_broken(tmp_path: Path) -> None:
    verdict = await run_short(tmp_path, list(ACTS))

    assert verdict["trouble"] == []
    assert verdict["rules"] == {}, verdict["findings"]
    assert verdict["counts"]["generations"] >= 4
