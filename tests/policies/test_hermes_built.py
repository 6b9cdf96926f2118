"""Rule B1: `hermes-0.19` cuts where the published package cuts. The figures were recorded by running the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.peers.histories import history
from benchmarks.peers.ours import TOLERANCE, compacted, rough

from offturn_config.presets import load
from offturn_engine.plan import Summarise
from offturn_engine.templates import TEMPLATES
from offturn_engine.tool_line import DUPLICATE
from tests.engine.raws import human, says
from tests.policies.histories import filler, path_of, planned, reads, used

NAME = "hermes-0.19"
RECORDED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("hermes_cuts.json").read_text(encoding="utf-8"))
"""`python -m benchmarks.peers.hermes --record` writes them: what the package did with our own histories."""


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: f"{row['window']}-{row['n']}-{row['seed']}")
def test_B1_the_cuts_and_the_size_are_those_of_the_package(row: dict[str, Any]) -> None:
    messages = history(row["n"], row["seed"])
    assert rough(messages) == row["before"], "the generator has changed: record again"
    cut, _ = compacted(messages, preset=NAME, window=row["window"], summary=row["summary"])
    assert cut is not None
    assert (cut.head, cut.tail) == (row["head"], row["cut"])
    assert cut.after == pytest.approx(row["after"], rel=TOLERANCE)


def test_B1_levels_template_and_ceiling() -> None:
    policy = load(NAME)
    small, large = policy.limits(200_000), policy.limits(1_000_000)

    assert (small.soft, small.tail) == (150_000, 30_000)  # 75 % below 512K
    assert (large.soft, large.tail) == (500_000, 100_000)
    assert (small.summary, large.summary) == (10_000, 10_000)
    assert len(TEMPLATES[policy.summary.template].titles) == 13


def test_B1_one_line_stubs_without_handles_and_shrunk_arguments() -> None:
    policy = load(NAME)
    raws = [
        human("first"),
        says("one"),
        *used("terminal", {"command": "make"}, '{"output": "' + filler(200) + '", "exit_code": 2}', 0),
        *used("write_file", {"path": "a", "content": "x" * 600}, "ok", 1),
        *used("read_file", {"path": "b"}, filler(500), 2),
        *used("read_file", {"path": "b"}, filler(500), 3),
        *reads(30, 6_000, first=20),
        says("done"),
        human("on"),
    ]
    wanted = planned(path_of(raws, policy), policy, policy.limits(200_000))
    assert isinstance(wanted, Summarise)
    assert wanted.edits[3, 0].text == "[terminal] ran `make` -> exit 2, 1 lines output"
    assert wanted.edits[4, 0].arguments == {"path": "a", "content": "x" * 200 + "...[truncated]"}
    assert wanted.edits[7, 0].text == DUPLICATE
    assert (wanted.edits[9, 0].text or "").startswith("[read_file] read b from line 1 (")


def test_B1_the_head_decays() -> None:
    policy = load(NAME)
    assert policy.boundary.head_messages == 3
    assert policy.boundary.head_decays
