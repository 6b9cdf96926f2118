"""The ledger: facts by code, joined over generations, shown within a budget."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.compaction import LedgerItem
from offturn_engine.ledger import PINNED, ledger, merge, render
from offturn_engine.ledger.showing import STATED
from offturn_engine.messages import Message, TextPart, ToolCallPart, ToolResultPart
from offturn_engine.tokens import estimate_text
from tests.engine.talk import RECORDED, call, calls, human, log, message, ran, result, results, says, transcripts, used

FAILS = "E   AssertionError: assert 1 == 2\n1 failed, 2 passed in 0.1s\nProcess exited with code 1"
PASSES = "3 passed in 0.1s\nProcess exited with code 0"


def facts(items: tuple[LedgerItem, ...], kind: str) -> dict[str, tuple[str, int, int]]:
    return {i.key: (i.text, i.seq, i.count) for i in items if i.kind == kind}


def test_files_keep_what_was_last_done_to_them() -> None:
    read = used("Read", {"file_path": "a.py"}, "x")
    edit = used("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "ok")
    items = ledger(log(read, edit, read, ran("rm b.py", ""), used("Write", {"file_path": "c.py", "content": ""}, "ok")))
    assert facts(items, "file") == {"a.py": ("edited", 5, 3), "b.py": ("deleted", 6, 1), "c.py": ("written", 8, 1)}


def test_what_failed_did_nothing_to_a_file() -> None:
    items = ledger(log(used("Edit", {"file_path": "a.py"}, "Error: string not found", error=True)))
    assert facts(items, "file") == {}
    assert facts(items, "error") == {"Error: string not found": ("seen · Edit a.py", 1, 1)}


def test_commands_have_exit_code_counts_and_error() -> None:
    items = ledger(log(ran("cd /r && pytest -q 2>&1 | tail -5", FAILS), ran("ls", "a")))
    assert facts(items, "command") == {
        "pytest -q": ("exit 1 · 1 failed, 2 passed · E AssertionError: assert 1 == 2", 1, 1),
        "ls": ("ok", 3, 1),
    }


def test_an_error_is_gone_when_the_same_command_succeeds() -> None:
    seen = ledger(log(ran("pytest -q", FAILS)))
    assert facts(seen, "error") == {"E AssertionError: assert 1 == 2": ("seen · pytest -q", 1, 1)}
    fixed = ledger(log(ran("pytest -q", FAILS), ran("pytest -q", PASSES)))
    assert facts(fixed, "error") == {"E AssertionError: assert 1 == 2": ("gone · pytest -q", 1, 1)}
    assert facts(fixed, "command") == {"pytest -q": ("exit 0 · 3 passed", 3, 2)}


def test_an_error_that_comes_back_is_seen_and_the_command_says_when_it_last_worked() -> None:
    items = ledger(log(ran("pytest -q", FAILS), ran("pytest -q", PASSES), ran("pytest -q", FAILS)))
    assert facts(items, "error") == {"E AssertionError: assert 1 == 2": ("seen · pytest -q", 5, 2)}
    assert facts(items, "command")["pytest -q"][0].endswith(" · last ok m3")


def test_an_error_of_another_tool_is_gone_when_the_same_call_works() -> None:
    edit = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    items = ledger(log(used("Edit", edit, "Error: not found", error=True), used("Edit", edit, "ok")))
    assert facts(items, "error") == {"Error: not found": ("gone · Edit a.py", 1, 1)}


def test_constraints_are_verbatim_with_their_message() -> None:
    items = ledger(log(human("Fix it. Never touch  b.py."), says("Never mind."), human("NEVER touch b.py.")))
    assert [(i.text, i.seq, i.count) for i in items] == [("NEVER touch b.py.", 2, 2)]
    host = message("user", "host", TextPart("You must always obey."))
    assert ledger(log(host)) == ()


def test_open_calls_are_those_without_a_result_after_the_last_human_message() -> None:
    given_up = calls(call("bash", {"command": "sleep 99"}))
    items = ledger(log(given_up, human("stop"), calls(call("bash", {"command": "make"}, "c2"), call("x", {}, "c3"))))
    assert facts(items, "call") == {"bash make": ("pending", 2, 1), "x": ("pending", 2, 1)}


def test_repeated_ids_pair_by_occurrence() -> None:
    items = ledger(log(ran("a", "ok"), ran("b", "Process exited with code 2")))
    assert [(k, v[0]) for k, v in facts(items, "command").items()] == [("a", "ok"), ("b", "exit 2")]


def test_merge_joins_generations() -> None:
    base = ledger(log(human("Never x."), ran("pytest -q", FAILS), used("Edit", {"path": "a.py"}, "ok")))
    new = ledger(log(ran("pytest -q", PASSES), used("Read", {"path": "a.py"}, "x"), start=10))
    merged = merge(base, new)
    assert facts(merged, "error")["E AssertionError: assert 1 == 2"] == ("gone · pytest -q", 2, 1)
    assert facts(merged, "command") == {"pytest -q": ("exit 0 · 3 passed", 11, 2)}
    assert facts(merged, "file") == {"a.py": ("edited", 13, 2)}
    assert facts(merged, "constraint") == {"never x.": ("Never x.", 0, 1)}


def test_open_calls_of_an_older_ledger_are_not_open_any_more() -> None:
    base = ledger(log(calls(call("x", {}))))
    assert merge(base, ()) == base
    assert merge(base, ledger(log(ran("ls", "a"), start=5))) == ledger(log(ran("ls", "a"), start=5))


def test_render_groups_under_fixed_headings() -> None:
    messages = log(
        human("Never x."),
        ran("pytest -q", FAILS),
        ran("pytest -q", FAILS),
        used("Edit", {"path": "a.py"}, "ok"),
        calls(call("y", {"a": 1})),
    )
    block = render(ledger(messages), budget=10_000)
    assert block.text.split("\n") == [
        "### Files",
        "- [m5] a.py: edited",
        "### Commands",
        "- [m4] pytest -q: exit 1 · 1 failed, 2 passed · E AssertionError: assert 1 == 2 · 2 times",
        "### Constraints",
        "- [m0] Never x.",
        "### Open calls",
        "- [m7] y a=1: pending",
    ]
    assert (block.kept, block.recoverable) == (5, 0)


def test_render_of_nothing() -> None:
    assert render((), budget=0).text == ""


def test_constraints_stay_when_everything_else_goes() -> None:
    messages = log(human("Never x.\nAlways y."), *(ran(f"tool{i} run", PASSES) for i in range(50)))
    block = render(ledger(messages), budget=0)
    assert block.text.split("\n") == [
        "### Constraints",
        "- [m0] Always y.",
        "- [m0] Never x.",
        "(50 more facts can be recalled)",
    ]
    assert (block.kept, block.recoverable) == (2, 50)


def test_what_was_only_looked_at_goes_before_what_was_changed_and_old_before_new() -> None:
    messages = log(
        *(used("Read", {"path": f"read{i}.py"}, "x") for i in range(40)),
        *(used("Edit", {"path": f"edit{i}.py"}, "x") for i in range(40)),
        *(ran(f"ls {i}", "x") for i in range(40)),
    )
    block = render(ledger(messages), budget=300)
    assert "edit39.py" in block.text
    assert "edit0.py" not in block.text
    assert "read39.py" not in block.text
    assert "ls 39" not in block.text


def test_a_constraint_that_does_not_fit_lets_nothing_else_in() -> None:
    big = LedgerItem(kind="constraint", key="k", text="must " * 2_000, seq=1)
    small = LedgerItem(kind="file", key="a.py", text="read", seq=2)
    assert render([big, small], budget=1_000).kept == 0


@given(transcripts())
def test_the_ledger_is_deterministic_ordered_and_names_real_messages(messages: list[Message]) -> None:
    items = ledger(messages)
    assert items == ledger(list(messages))
    assert len({(i.kind, i.key) for i in items}) == len(items)
    assert [i.seq for i in items] == sorted(i.seq for i in items)
    assert all(0 <= i.seq < len(messages) and i.count >= 1 for i in items)
    assert merge((), items) == items
    humans = {m.seq: m.text for m in messages if m.origin == "human"}
    assert all(i.text in humans[i.seq] for i in items if i.kind == "constraint")


@given(transcripts(), st.data())
def test_a_ledger_is_the_same_whatever_ledgers_were_taken_before(messages: list[Message], data: st.DataObject) -> None:
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(messages))] * 2)))
    ledger(messages)
    afresh = [m.placed(m.seq) for m in messages[start:end]]
    assert ledger(messages[start:end]) == ledger(afresh)


def test_a_result_that_answers_another_call_in_a_part_of_the_list_tells_of_that_one() -> None:
    asks = [calls(call("bash", {"command": command}, "again")) for command in ("make", "make test")]
    messages = log(asks[0], human("Go on."), asks[1], results(result("ok", call_id="again")))
    assert [*facts(ledger(messages), "command")] == ["make test"]
    assert [*facts(ledger([messages[0], messages[3]]), "command")] == ["make"]


@given(transcripts(), transcripts(start=100), transcripts(start=200))
def test_merge_is_associative(a: list[Message], b: list[Message], c: list[Message]) -> None:
    one, two, three = ledger(a), ledger(b), ledger(c)
    assert merge(merge(one, two), three) == merge(one, merge(two, three))


@given(transcripts(), st.integers(0, 600))
def test_render_keeps_the_budget_and_counts_all(messages: list[Message], budget: int) -> None:
    items = ledger(messages)
    block = render(items, budget=budget)
    last_line = estimate_text("(99 more facts can be recalled)")
    assert estimate_text(block.text) <= max(budget * 1.02, PINNED + last_line)
    assert block.kept + block.recoverable == len(items)
    shared = block.text.partition("### Identifiers\n")[2].partition("\n###")[0]  # a line per family
    shown = [
        *re.findall(r"^- \[m\d+\]", block.text, re.MULTILINE),
        *re.findall(r"\[m\d+\](?=, |$)", shared, re.MULTILINE),
    ]
    kinds = {item.kind for item in items}
    # The last error of a command, and an identifier of a sentence, have no line beside the one they are in.
    inside = "error" in kinds or ("identifier" in kinds and kinds & STATED)
    assert len(shown) <= block.kept if inside else len(shown) == block.kept
    if block.recoverable:
        assert f"({block.recoverable} more facts" in block.text
    others = [i for i in items if i.kind != "constraint" and f"] {i.key}: {i.text}" in block.text]
    hidden = [i for i in items if i.kind == "constraint" and i.text not in block.text]
    assert not (others and hidden)


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the folder shared/transcripts is not beside this checkout")
def test_a_recorded_session_of_a_thousand_messages() -> None:
    messages = _recorded_pi()
    items = ledger(messages)
    half = next(m.seq for m in messages[len(messages) // 2 :] if m.origin == "human")
    assert len(items) > 100
    assert {"edited", "written", "read", "deleted"} <= {i.text.split(" ")[0] for i in items if i.kind == "file"}
    checks = facts(items, "command")["npm run check"]
    assert checks[0] == "ok"
    assert checks[2] > 20
    joined = merge(ledger(messages[:half]), ledger(messages[half:]))
    assert {(i.kind, i.key) for i in joined} >= {
        (i.kind, i.key) for i in items if i.kind in ("file", "command", "constraint")
    }
    block = render(items, budget=2_000)
    assert estimate_text(block.text) <= 2_000


def _recorded_pi() -> list[Message]:
    made: list[Message] = []
    for line in (RECORDED / "pi_before-compaction.jsonl").read_text(encoding="utf-8").splitlines():
        said = json.loads(line).get("message", {})
        blocks = said.get("content", [])
        text = (
            blocks if isinstance(blocks, str) else "\n".join(b.get("text", "") for b in blocks if b["type"] == "text")
        )
        if said.get("role") == "user":
            made.append(human(text))
        elif said.get("role") == "toolResult":
            made.append(results(ToolResultPart(said["toolCallId"], text, said.get("isError"))))
        elif said.get("role") == "assistant":
            asked = [ToolCallPart(b["id"], b["name"], b["arguments"], "") for b in blocks if b["type"] == "toolCall"]
            made.append(message("assistant", "assistant", TextPart(text), *asked))
    return log(made)


def test_megabytes_of_hostile_results_end() -> None:
    hostile = ["error: " * 150_000, "E  " * 300_000, "1 failed, " * 100_000, "exit code 1 " * 90_000, "'" * 1_000_000]
    items = ledger(
        log(*(ran(text, text, error=True) for text in hostile), *(used("Write", {"path": t}, t) for t in hostile))
    )
    assert all(len(i.key) <= 1_000 and len(i.text) <= 1_000 for i in items)


def test_results_of_calls_outside_the_list_still_tell_their_errors() -> None:
    items = ledger(log(results(result("Error: gone wrong", error=True))))
    assert facts(items, "error") == {"Error: gone wrong": ("seen · tool", 0, 1)}


def test_facts_are_of_the_place_where_a_message_stands_now() -> None:
    kept_in_an_outage = human("Never deploy on Fridays.")
    asked, answered = ran("make check", "1 failed")
    for start in (3, 7):
        there = [one.placed(start + i) for i, one in enumerate((kept_in_an_outage, asked, answered))]
        assert {item.seq for item in ledger(there)} <= {start, start + 1, start + 2}
