"""`offturn policies` and `offturn compact` by policy, as processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from offturn.summarizer import EXTRACTIVE
from offturn.testing import FakeSummarizer
from offturn_config.presets import load, names
from offturn_engine.files import read
from offturn_engine.formats import get
from offturn_worker.comparing import common_window, compare
from offturn_worker.offline import compact_conversation
from tests.acceptance.command import offturn
from tests.acceptance.test_compact import conversation
from tests.integration.test_transcripts import SHARED
from tests.integration.test_transcripts import names as recorded

LARGEST = 300_000  # bytes of a file read by every policy here; the others are read by one


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (path := tmp_path / "talk.json").write_text(json.dumps(conversation(80)))
    return path


def test_list_and_show_name_every_parameter() -> None:
    listed = offturn("policies", "list").stdout.decode().splitlines()
    assert [line.split("\t")[0] for line in listed[1:]] == names()
    assert offturn("policies").stdout.decode().splitlines() == listed

    shown = offturn("policies", "show", "hermes", "--window", "200000").stdout.decode()
    rows = {cells[0]: cells[1:] for line in shown.splitlines() if len(cells := line.split("\t")) == 4}
    assert rows["boundary.tail"][:2] == ["0.2", "tail 20,000"]
    assert rows["trigger.hard"][:2] == ["0.85", "hard 170,000"]
    assert all(len(meaning) > 8 for _, _, meaning in rows.values() if meaning != "meaning")


def test_show_follows_the_percentage_of_the_environment() -> None:
    forced = offturn("policies", "show", "claude-code", variables={"OFFTURN_AUTOCOMPACT_PCT": "40"}).stdout.decode()
    rows = {cells[0]: cells[1:] for line in forced.splitlines() if len(cells := line.split("\t")) == 4}
    assert rows["trigger.pct_override"][:2] == ["40", "soft 80,000"]

    refused = offturn("policies", "show", "claude-code", variables={"OFFTURN_AUTOCOMPACT_PCT": "0"})
    assert refused.returncode == 2
    assert "OFFTURN_AUTOCOMPACT_PCT = '0'" in refused.stderr.decode()


def test_a_policy_that_a_window_cannot_take_is_refused_with_the_numbers() -> None:
    done = offturn("policies", "show", "codex", "--window", "64000")
    assert done.returncode == 2
    assert done.stderr.decode().startswith(
        "offturn: policy 'codex' with window 64000 and max_output 8000: soft 56000 + summary 1280"
    )


def test_a_window_that_a_session_may_have_is_one_for_a_file(file: Path) -> None:
    """With the default room for an answer, as in a session: without it the level of `hermes-0.19` would reach the hard one."""
    assert offturn("policies", "show", "hermes-0.19", "--window", "70000", "--max-output", "0").returncode == 2
    done = offturn("compact", str(file), "--policy", "hermes-0.19", "--window", "70000", "--json")
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "compacted")


@pytest.mark.parametrize(
    ("answers", "policy"),
    [
        ((), "balanced"),
        (("--fills", "phases"), "five-step"),
        (("--like", "codex", "--source", "released", "--provider", "openai"), "codex-remote"),
        (("--like", "hermes", "--source", "released", "--fills", "talk"), "hermes-lean"),
    ],
)
def test_recommend_names_one_with_the_reason(answers: Sequence[str], policy: str) -> None:
    said = offturn("policies", "recommend", *answers).stdout.decode()
    assert said.startswith(f"{policy}: ")
    assert len(said.split()) > 5


def test_an_answer_that_is_none_is_told() -> None:
    done = offturn("policies", "recommend", "--like", "me")
    assert done.returncode == 2
    assert "--like 'me': use one of none, hermes, codex, claude-code, opencode" in done.stderr.decode()


def test_compare_puts_all_policies_side_by_side(file: Path) -> None:
    done = offturn("compact", str(file), "--compare", "--json")
    [found] = json.loads(done.stdout)

    assert [row["policy"] for row in found["policies"]] == names()
    by_name = {row["policy"]: row for row in found["policies"]}
    assert by_name["codex"]["model_calls"] == 1
    assert by_name["balanced"]["model_calls"] == 0
    assert (by_name["balanced"]["cost"], by_name["codex"]["cost"]) == (0.0, None)  # nobody was asked
    assert by_name["balanced"]["results_cleared"] > 0
    assert all(row["human_verbatim"] == row["human_messages"] == 1 for row in found["policies"])
    assert all(row["tokens_after"] <= row["tokens_before"] for row in found["policies"])


async def test_a_comparison_with_a_model_says_what_it_cost() -> None:
    [one] = read(json.dumps(conversation(80)).encode(), format=None)
    policies = [load("codex"), load("balanced")]
    for model, known in (("openai:gpt-4o-mini", True), ("openai:of-my-own", False)):
        summarizer = FakeSummarizer(model=model)
        codex, balanced = await compare(one, policies, common_window(one, policies), summarizer)
        assert (codex.model_calls, balanced.model_calls) == (1, 0)
        assert balanced.cost == 0.0
        assert (codex.cost is not None and codex.cost > 0) is known


def test_a_comparison_writes_no_messages_and_a_picture_needs_a_comparison(file: Path, tmp_path: Path) -> None:
    written = offturn("compact", str(file), "--compare", "--output", str(tmp_path / "x.json"))
    alone = offturn("compact", str(file), "--plot", str(tmp_path / "x.svg"))
    other = offturn("compact", str(file), "--compare", "--plot", str(tmp_path / "x.gif"))

    assert (written.returncode, alone.returncode, other.returncode) == (2, 2, 2)
    assert "--output: a comparison writes no messages" in written.stderr.decode()
    assert "--plot: draws a comparison" in alone.stderr.decode()
    assert ".svg or .png" in other.stderr.decode()
    assert list(tmp_path.glob("x.*")) == []


@pytest.mark.parametrize(("name", "start"), [("c.svg", b"<svg"), ("c.png", b"\x89PNG")])
def test_a_comparison_can_be_drawn(file: Path, tmp_path: Path, name: str, start: bytes) -> None:
    pytest.importorskip("vl_convert", reason="drawing needs offturn[plot]")
    done = offturn("compact", str(file), "--compare", "--json", "--plot", str(tmp_path / name))

    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).read_bytes().startswith(start)
    if name.endswith("svg"):
        assert all(policy in (tmp_path / name).read_text() for policy in names())


@pytest.mark.skipif(not recorded(), reason="the folder shared/transcripts is not beside this checkout")
@pytest.mark.parametrize("name", recorded() or ["none"])
async def test_every_policy_takes_every_file_that_can_be_read(name: str) -> None:
    data = (SHARED / name).read_bytes()
    policies = [load(policy) for policy in (names() if len(data) < LARGEST else ["hermes-lean"])]
    for one in read(data, format=None)[:2]:
        window = common_window(one, policies)
        for row in await compare(one, policies, window, EXTRACTIVE):
            assert row.outcome in ("pruned", "compacted") or row.reason in ("nothing_to_cover", "no_gain", "too_dense")
        for policy in policies:
            result = await compact_conversation(one, policy, None, EXTRACTIVE)
            found = get(one.format).problems(result.messages)
            assert [problem for problem in found if problem.rule != "pending"] == []
