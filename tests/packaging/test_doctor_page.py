"""docs/doctor.md and the doctor agree, in both directions."""

from __future__ import annotations

import re
from collections import defaultdict

from offturn_worker.doctor.findings import KINDS
from tests.packaging.sources import ROOT

PAGE = (ROOT / "docs/doctor.md").read_text()
ROW = re.compile(r"^\| `([a-z-]+)` \| (ok|warn|fail) \| (.+?) \| (?:`(.+)` )?\|$", re.MULTILINE)
WORDS = defaultdict(
    str,
    cli="redis-cli -u URL",
    session="ID",
    path="PATH",
    variable="NAME",
    variables="NAME",
    primary="HOST:PORT",
    db="0",
    bytes="BYTES",
    version="VERSION",
    queue="URL",
    provider="PROVIDER",
    PROVIDER="PROVIDER",
    address="URL",
    name="PROVIDER:MODEL",
    window="TOKENS",
)
"""How the page writes what a remedy fills in; what is not here it leaves out."""


def test_every_finding_is_explained_with_its_level_and_remedy_in_the_order_told() -> None:
    listed = [(name, level, remedy) for name, level, _, remedy in ROW.findall(PAGE)]
    assert listed == [(name, kind.level, kind.remedy.format_map(WORDS)) for name, kind in KINDS.items()]


def test_whatever_is_not_well_has_a_command() -> None:
    assert [name for name, kind in KINDS.items() if (kind.level == "ok") != (kind.remedy == "")] == []


def test_the_readme_leads_to_it() -> None:
    section = (ROOT / "README.md").read_text().split("## When something is wrong")[1].split("\n## ")[0]
    assert "`offturn doctor`" in section
    assert "(docs/doctor.md)" in section
