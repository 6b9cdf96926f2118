"""The recording that the demo plays: large enough, valid, honest about its constraints, and clean."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from offturn_engine import formats
from offturn_engine.tokens import estimate_message
from offturn_engine.turns import is_answer

FOLDER = Path(__file__).parents[2] / "worker" / "offturn_worker" / "demo" / "recording"
MESSAGES: list[dict[str, Any]] = [
    json.loads(line) for line in (FOLDER / "messages.jsonl").read_text(encoding="utf-8").splitlines()
]
META: dict[str, Any] = json.loads((FOLDER / "meta.json").read_text(encoding="utf-8"))
CONSTRAINTS = (FOLDER / "constraints.txt").read_text(encoding="utf-8").splitlines()
HUMAN = [str(m["content"]) for m in MESSAGES if m["role"] == "user"]
FORMAT = formats.get("openai-chat")


def calls() -> list[tuple[str, str, str]]:
    """(tool, arguments as sent, result) of every call, in order."""
    results = {m["tool_call_id"]: str(m["content"]) for m in MESSAGES if m["role"] == "tool"}
    return [
        (call["function"]["name"], call["function"]["arguments"], results[call["id"]])
        for message in MESSAGES
        for call in message.get("tool_calls", ())
    ]


def test_it_is_large_enough() -> None:
    tokens = sum(estimate_message(m) for m in MESSAGES)
    size = sum(len(json.dumps(m, ensure_ascii=False).encode()) for m in MESSAGES)
    assert len(MESSAGES) >= 150
    assert 62_000 <= tokens <= 110_000
    assert 75_000 <= size / 3.6 <= 110_000


def test_it_starts_with_a_human_and_ends_with_an_answer() -> None:
    assert MESSAGES[0]["role"] == "user"
    assert {m["role"] for m in MESSAGES} == {"user", "assistant", "tool"}
    assert is_answer(FORMAT.parse(MESSAGES[-1]))


def test_it_is_valid_for_its_format() -> None:
    assert [FORMAT.parse(m, index=i).raw for i, m in enumerate(MESSAGES)] == MESSAGES
    assert FORMAT.problems(MESSAGES) == []


def test_every_call_is_answered_once() -> None:
    asked = [call["id"] for m in MESSAGES for call in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in MESSAGES if m["role"] == "tool"]
    assert len(set(asked)) == len(asked)
    assert asked == answered


def test_calls_use_the_declared_tools() -> None:
    tools = {t["function"]["name"]: t["function"]["parameters"] for t in META["tools"]}
    for name, source, _ in calls():
        arguments = json.loads(source)
        assert set(tools[name]["required"]) <= set(arguments) <= set(tools[name]["properties"])


def test_calls_are_parallel_at_times() -> None:
    assert sum(len(m.get("tool_calls", ())) > 1 for m in MESSAGES) >= 10


def test_constraints_are_the_humans_own_words() -> None:
    assert len(CONSTRAINTS) >= 6
    missing = [c for c in CONSTRAINTS if not any(c in text for text in HUMAN)]
    assert missing == []


def test_humans_speak_in_both_phases_and_in_three_languages() -> None:
    first = META["phases"][0]["after"]
    humans = [i for i, m in enumerate(MESSAGES) if m["role"] == "user"]
    assert len(humans) >= 9
    assert min(sum(i <= first for i in humans), sum(i > first for i in humans)) >= 4
    assert any(re.search("[\u4e00-\u9fff]", c) for c in CONSTRAINTS)
    assert any("Por favor" in c for c in CONSTRAINTS)


def test_a_human_interrupts_work() -> None:
    pairs = pairwise(MESSAGES)
    assert sum(before["role"] == "tool" and after["role"] == "user" for before, after in pairs) >= 2


def test_phases_end_with_an_answer() -> None:
    ends = [phase["after"] for phase in META["phases"]]
    assert len(ends) == 2
    assert ends[-1] == len(MESSAGES) - 1
    assert all(is_answer(FORMAT.parse(MESSAGES[i])) for i in ends)
    assert all(phase["note"] for phase in META["phases"])


def test_each_answer_ends_with_the_number_of_tests_that_passed() -> None:
    order = next(i for i, m in enumerate(MESSAGES) if "End every reply with the number" in str(m["content"]))
    passed = ""
    for message in MESSAGES:
        if message["role"] == "tool" and (counts := re.findall(r"(\d+) passed", message["content"])):
            passed = counts[-1]
        if MESSAGES.index(message) > order and is_answer(FORMAT.parse(message)):
            assert message["content"].endswith(f"Tests passed: {passed}")


@pytest.mark.parametrize(
    "tests", ["tests/engine/test_covering.py tests/engine/test_ranges.py", "tests/engine/test_coverage.py"]
)
def test_a_failing_test_run_passes_later(tests: str) -> None:
    runs = [result for _, source, result in calls() if f'pytest -q {tests}"' in source]
    assert re.search(r"[1-9]\d* failed, \d+ passed .*\n\[exit code 1\]$", runs[0])
    assert re.search(r"^[1-9]\d* passed .*\n\[exit code 0\]$", runs[-1], re.MULTILINE)


def test_results_are_bounded_and_some_repeat() -> None:
    results = [result for *_, result in calls()]
    assert all(0 < len(result) <= 20_000 for result in results)
    large = [result for result in results if len(result) > 1_000]
    assert len(large) - len(set(large)) >= 5


def test_nothing_of_the_machine_it_was_made_on_is_in_it() -> None:
    for file in FOLDER.iterdir():
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"(?<![\w.~])/(?:home|root|tmp|usr|var|work|opt|mnt|Users)\b[\w./-]*", text) == []
        assert re.findall(r"\b(?:https?|ssh|git|rediss?)://[^\s\"'`\\]+", text) == []
        assert set(re.findall(r"@([\w-]+\.[a-z]{2,})\b", text)) - {"pytest.mark", "example.org"} == set()
        assert "\x1b" not in text
