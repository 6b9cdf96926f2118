"""What a peer's view is judged by, and the process that our own compaction is measured in."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.histories import history
from benchmarks.speed.peers import broken, kept
from benchmarks.speed.stage import child

CALL = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
GIVEN: list[dict[str, Any]] = [
    {"role": "user", "content": "never touch the ledger"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "two files"},
    {"role": "assistant", "content": "two files"},
    {"role": "user", "content": "and now?"},
]


def test_human_words_count_where_they_stand_word_for_word() -> None:
    assert kept(GIVEN, GIVEN) == 2
    assert kept(GIVEN, [{"role": "user", "content": "Summary. He said: never touch the ledger."}, GIVEN[4]]) == 2
    assert kept(GIVEN, [{"role": "user", "content": "Summary: the ledger stays."}, GIVEN[4]]) == 1


def test_a_result_without_its_call_and_a_lost_last_message_are_promises_broken() -> None:
    assert broken(GIVEN, GIVEN) == 0
    assert broken(GIVEN, [GIVEN[0], *GIVEN[2:]]) == 1
    assert broken(GIVEN, GIVEN[:4]) == 1


def test_each_answer_is_of_a_process_that_has_not_seen_the_history(tmp_path: Path) -> None:
    given = tmp_path / "history.json"
    given.write_text(json.dumps(history(200, 3)), encoding="utf-8")
    with child([sys.executable, "-m", "benchmarks.speed.engine_apart"]) as apart:
        first, second = (apart.ask({"history": str(given), "window": 32_000, "way": "shown"}) for _ in range(2))
    assert first["messages"] == second["messages"]
    assert kept(json.loads(given.read_text(encoding="utf-8")), first["messages"]) > 0
