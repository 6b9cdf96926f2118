"""What `offturn compact` says of its work to people, and what it refuses before the work."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command import offturn, on_a_terminal
from tests.acceptance.test_compact import conversation

CUT = "what does this part do? " * 5_000


def talk() -> list[dict[str, Any]]:
    """Prose that pruning cannot shrink, with humans in it: it has to be summarised."""
    said = [(f"Question {i}, please answer.", f"Answer {i}. " + "It is a long one. " * 200) for i in range(60)]
    pairs = [({"role": "user", "content": q}, {"role": "assistant", "content": a}) for q, a in said]
    return [{"role": "user", "content": CUT}, {"role": "assistant", "content": "Much."}, *chain.from_iterable(pairs)]


def rows(screen: str) -> dict[str, str]:
    return dict(line.split(maxsplit=1) for line in screen.splitlines() if line.strip())


def test_a_terminal_is_told_what_was_cleared(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps({"system_prompt": "be kind", "messages": conversation()}))

    told = rows(on_a_terminal("compact", "talk.json", cwd=tmp_path))
    facts = json.loads(offturn("compact", str(tmp_path / "talk.json"), "--json").stdout)

    assert told["outcome"] == "pruned"
    assert told["messages"] == "62 -> 62"
    assert told["summarised"] == "nothing"
    assert told["edited"] == f"{facts['edits']['stub']} results cleared to one line"
    assert told["note"] == "1 system prompt beside the messages, not part of the transcript"
    assert facts["messages_before"] == 62


def test_a_terminal_is_told_what_was_summarised(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))

    told = rows(on_a_terminal("compact", "talk.json", "--summarizer", "extractive", cwd=tmp_path))
    facts = json.loads(offturn("compact", str(tmp_path / "talk.json")).stdout)
    audit = facts["audit"]

    assert told["outcome"] == "compacted (extractive)"
    assert told["messages"] == f"122 -> {facts['messages']}"
    assert told["tokens"] == f"{facts['tokens_before']:,} -> {facts['tokens_after']:,} (estimates)"
    assert told["summarised"] == f"messages 0-{facts['ranges'][0][1] - 1}"
    assert told["human"].startswith(f"of the summarised: {audit['human_verbatim']} word for word, 1 cut")
    assert told["facts"] == f"{audit['kept']} kept, {audit['recoverable']} left out"


def test_each_of_several_conversations_has_its_account(tmp_path: Path) -> None:
    (tmp_path / "talks.json").write_text(json.dumps([conversation(), conversation()]))

    screen = on_a_terminal("compact", "talks.json", cwd=tmp_path)

    assert [line for line in screen.splitlines() if line.startswith("conversation")] == [
        "conversation 0",
        "conversation 1",
    ]
    assert screen.count("outcome") == 2


@pytest.mark.parametrize("output", [".", "/proc/o.json", "nowhere/out.json"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(output: str) -> None:
    done = offturn("compact", "-", "--output", output, stdin=json.dumps(conversation()).encode())

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1  # no line about work that began
    assert done.stderr.startswith(f"offturn: --output '{output}': ".encode())


def test_an_output_is_not_touched_where_the_work_fails(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text("kept")
    for output in (old, new):
        unreachable = ("--summarizer", "openai:x@http://127.0.0.1:9/v1", "--output", str(output))
        done = offturn("compact", "-", *unreachable, stdin=json.dumps(talk()).encode())
        assert done.returncode == 2
    assert old.read_text() == "kept"
    assert not new.exists()


def test_a_demo_does_not_mix_with_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")

    done = offturn("demo", "--out", str(tmp_path))

    assert done.returncode == 2
    assert b"that are no demo's" in done.stderr
    assert done.stdout == b""
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
