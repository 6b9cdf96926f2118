"""Prune: what becomes a stub, in which order, and what of a failure stays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_config import presets
from offturn_config.groups import Prune
from offturn_engine.handles import parse_handle
from offturn_engine.messages import Edit, Json, Message, ToolCallPart, ToolResultPart
from offturn_engine.protect import newest
from offturn_engine.prune import Pruning, arguments_text, prune
from offturn_engine.results import failed, first_error_line
from offturn_engine.stubs import failure, is_stub, stub
from offturn_engine.tokens import estimate_text
from tests.engine.talk import call, calls, human, log, ran, result, results, says, transcripts, used

POLICY = presets.load().prune
NOISE = "\n".join(f"line {i}: nothing to see here" for i in range(100))


def cut(messages: list[Message], goal: int | None = None, **changes: object) -> Pruning:
    return prune(messages, policy=POLICY.model_copy(update=changes), protected=(), edited={}, goal=goal)


def text_of(pruning: Pruning, seq: int) -> str:
    return next(e.text or "" for e in pruning.edits if e.seq == seq)


def test_a_result_becomes_one_line_with_tool_target_exit_code_size_and_handle() -> None:
    output = f"{NOISE}\nProcess exited with code 0"
    pruning = cut(log(ran("make build", output)))
    assert (
        text_of(pruning, 1)
        == f"[cleared: bash make build · exit 0 · 101 lines, {len(output):,} characters · recall m1]"
    )


def test_only_results_above_the_minimum_are_cut() -> None:
    messages = log(ran("a", "x " * 100), ran("b", "y " * 101))
    assert len("x " * 100) == POLICY.minimum_characters
    assert [e.seq for e in cut(messages).edits] == [3]


@pytest.mark.parametrize(
    ("name", "arguments", "output", "expected"),
    [
        ("Read", {"file_path": "/a/b.py", "offset": 10, "limit": 20}, NOISE, "Read /a/b.py:10-29 · "),
        ("read_file", {"path": "./b.py"}, NOISE, "read_file b.py · "),
        (
            "str_replace_editor",
            {"command": "view", "path": "b.py", "view_range": [3, 9]},
            NOISE,
            "str_replace_editor b.py:3-9 · ",
        ),
        ("Write", {"file_path": "c.py", "content": "a\nb\nc"}, NOISE, "Write c.py · 3 lines written · "),
        ("Grep", {"pattern": "def x", "path": "src"}, "a.py\nb.py\n" * 60, 'Grep "def x" in src · 120 hits · '),
        ("Glob", {"pattern": "*.py"}, "Found 7 files\n" + NOISE, 'Glob "*.py" · 7 hits · '),
        ("WebFetch", {"url": "https://example.com", "prompt": "p"}, NOISE, "WebFetch https://example.com · "),
        ("shell", {"command": ["bash", "-lc", "make"]}, NOISE, "shell make · "),
        ("get_user", {"user_id": "u1", "deep": {"x": 1}, "n": 3, "z": 4}, NOISE, "get_user user_id=u1 n=3 · "),
        ("bash", {"command": "cd /repo && make " + "x" * 200}, NOISE, "bash make " + "x" * 74 + "… · "),
    ],
)
def test_each_family_of_tools_has_its_own_line(name: str, arguments: Json, output: str, expected: str) -> None:
    text = text_of(cut(log(used(name, arguments, output))), 1)
    assert text.startswith(f"[cleared: {expected}")
    assert "\n" not in text


ODD: list[Json] = [
    None,
    [],
    [1, 2],
    "text",
    7,
    {},
    {"command": None},
    {"command": {"x": 1}},
    {"path": 3},
    {"paths": [None, {}]},
]
ODD += [
    {"view_range": ["a", "b"], "path": "p"},
    {"offset": True, "path": "p"},
    {"n": 10**5000},
    {"files": [{"path": 1}]},
    {"": ""},
]


@pytest.mark.parametrize(
    "name", ["bash", "Read", "Write", "Grep", "WebFetch", "tool", "", "a\nb" * 200, "str_replace_editor"]
)
@pytest.mark.parametrize("arguments", ODD, ids=range(len(ODD)))
def test_a_stub_never_raises_on_odd_arguments(name: str, arguments: Json) -> None:
    line = stub(ToolCallPart("c", name, arguments, ""), result(NOISE), 3, None, POLICY)
    assert is_stub(line)
    assert len(line.splitlines()) == 1


def test_a_failure_keeps_its_error_under_the_line() -> None:
    output = (
        f"{NOISE}\nE   AssertionError: assert 1 == 2\n{NOISE}\n3 failed, 12 passed in 1.2s\nProcess exited with code 1"
    )
    lines = text_of(cut(log(ran("pytest -q", output))), 1).splitlines()
    assert lines[0].startswith("[cleared: bash pytest -q · exit 1 · ")
    assert lines[1:4] == ["…", "E   AssertionError: assert 1 == 2", "…"]
    assert lines[-2:] == ["3 failed, 12 passed in 1.2s", "Process exited with code 1"]


def test_a_failure_that_only_its_flag_tells_keeps_head_and_tail() -> None:
    pruning = cut(log(used("deploy", {}, NOISE, error=True)), failure_lines=2)
    lines = text_of(pruning, 1).splitlines()
    assert "· failed ·" in lines[0]
    assert lines[1:] == ["line 0: nothing to see here", "line 1: nothing to see here", "…"] + [
        f"line {i}: nothing to see here" for i in (98, 99)
    ]


def test_of_equal_results_only_the_newest_stays_and_the_older_names_it() -> None:
    messages = log(ran("cat a", NOISE), ran("cat b", "other"), ran("cat a", NOISE))
    pruning = prune(messages, policy=POLICY, protected={5}, edited={}, goal=None)
    assert [(e.seq, e.rule) for e in pruning.edits] == [(1, "duplicate")]
    assert text_of(pruning, 1) == "[duplicate: bash cat a · same text as m5 · recall m1]"
    assert [e.rule for e in cut(messages, deduplicate=False).edits] == ["stub", "stub"]


def test_a_duplicate_of_a_failure_keeps_the_error() -> None:
    output = f"{NOISE}\nValueError: bad\n{NOISE}"
    pruning = cut(log(ran("x", output, error=True), ran("x", output, error=True)))
    assert text_of(pruning, 1).splitlines()[1:] == ["ValueError: bad"]


def test_a_message_with_several_results_is_named_by_part() -> None:
    asked = calls(call("bash", {"command": "a"}, "c1"), call("bash", {"command": "b"}, "c2"))
    messages = log(asked, results(result(NOISE, call_id="c2"), result(NOISE + "!", call_id="c1")))
    pruning = cut(messages)
    assert [e.text.split(" · ")[0] for e in pruning.edits if e.text] == ["[cleared: bash b", "[cleared: bash a"]
    assert [e.text.rsplit(" ", 1)[1] for e in pruning.edits if e.text] == ["m1.0]", "m1.1]"]


def test_the_late_half_is_cut_first_and_the_early_half_only_where_the_goal_is_missed() -> None:
    messages = log(*(ran(f"step {i}", f"{i}{NOISE}") for i in range(6)))
    one = cut(messages, goal=1).freed
    assert [e.seq for e in cut(messages, goal=1).edits] == [7]
    assert [e.seq for e in cut(messages, goal=one + 1).edits] == [7, 9]
    assert [e.seq for e in cut(messages, goal=one * 3 + 10).edits] == [7, 9, 11, 1]
    assert [e.seq for e in cut(messages).edits] == [7, 9, 11, 1, 3, 5]
    assert cut(messages, goal=0) == Pruning((), 0)


def test_protected_messages_are_not_in_either_half() -> None:
    messages = log(*(ran(f"step {i}", f"{i}{NOISE}") for i in range(6)))
    pruning = prune(messages, policy=POLICY, protected={m.seq for m in messages[6:]}, edited={}, goal=1)
    assert [e.seq for e in pruning.edits] == [3]


def test_what_is_edited_or_a_stub_already_is_left_alone() -> None:
    messages = log(ran("a", NOISE), ran("b", NOISE + "b"))
    first = cut(messages)
    done = {(e.seq, e.part): e for e in first.edits}
    assert prune(messages, policy=POLICY, protected=(), edited=done, goal=None) == Pruning((), 0)
    stubbed = log(ran("a", text_of(cut(log(ran("a", "Error: x\n" + NOISE, error=True))), 1)))
    assert len(stubbed[1].results[0][1].text) > POLICY.minimum_characters
    assert cut(stubbed).edits == ()


def test_a_stub_longer_than_its_result_is_no_gain_even_where_it_has_fewer_tokens() -> None:
    digits = "1234567890" * 5
    line = stub(call("bash", {"command": "x"}), result(digits), 1, None, POLICY)
    assert len(line) > len(digits)
    assert estimate_text(line) < estimate_text(digits)
    assert cut(log(ran("x", digits)), minimum_characters=0).edits == ()


def test_a_result_that_only_quotes_a_stub_is_cut() -> None:
    assert cut(log(ran("cat log", "[cleared: bash x · recall m1]\n" + NOISE * 10))).edits


def test_long_arguments_are_shrunk_inside_the_json() -> None:
    body = "x = 1\n" * 500
    arguments = {"path": "a.py", "edits": [{"old": body, "new": "short"}], "n": 1.5, "flag": True, "none": None}
    edit = cut(log(calls(call("Edit", arguments)), results(result("ok")))).edits[0]
    marker = "… [2,750 of 3,000 characters omitted · recall m0]"
    assert edit.rule == "arguments"
    assert edit.arguments == {**arguments, "edits": [{"old": body[:250] + marker, "new": "short"}]}


def test_arguments_that_are_not_json_or_hardly_longer_stay() -> None:
    free = calls(ToolCallPart("c1", "patch", None, "x" * 5_000))
    assert cut(log(free, calls(call("a", {"t": "x" * POLICY.argument_characters})))).edits == ()
    assert cut(log(calls(call("a", {"t": "x" * 20}))), argument_characters=10).edits == ()


def test_arguments_nested_deeper_than_anyone_writes_stay() -> None:
    deep: Json = "x" * 5_000
    for _ in range(100_000):
        deep = [deep]
    assert cut(log(calls(ToolCallPart("c1", "a", deep, "")))).edits == ()


def test_a_result_without_a_call_is_cut_too() -> None:
    assert text_of(cut(log(results(result(NOISE)))), 0).startswith("[cleared: tool · 100 lines")


def test_human_text_is_never_cut() -> None:
    assert cut(log(human(NOISE), says(NOISE))).edits == ()


@given(
    transcripts(),
    st.sets(st.integers(0, 14)),
    st.none() | st.integers(0, 2_000),
    st.integers(0, 4),
    st.integers(0, 300),
)
def test_prune_laws(messages: list[Message], protected: set[int], goal: int | None, lines: int, minimum: int) -> None:
    policy = POLICY.model_copy(update={"failure_lines": lines, "minimum_characters": minimum})
    done = {(0, 0): Edit(seq=0, part=0, rule="stub", text="")}
    pruning = prune(messages, policy=policy, protected=protected, edited=done, goal=goal)
    names = [(e.seq, e.part) for e in pruning.edits]
    assert len(set(names)) == len(names)
    assert not protected & {seq for seq, _ in names}
    assert (0, 0) not in names
    gains = [_gain(messages, e) for e in pruning.edits]
    assert all(gain > 0 for gain in gains)
    assert pruning.freed == sum(gains)
    if goal is not None:
        assert not gains or pruning.freed - gains[-1] < goal
        everything = prune(messages, policy=policy, protected=protected, edited=done, goal=None)
        assert pruning.freed >= min(goal, everything.freed)
        assert set(names) <= {(e.seq, e.part) for e in everything.edits}


def _gain(messages: list[Message], edit: Edit) -> int:
    part = messages[edit.seq].parts[edit.part]
    if isinstance(part, ToolCallPart):
        assert json.loads(json.dumps(edit.arguments)) == edit.arguments
        return estimate_text(arguments_text(part.arguments)) - estimate_text(arguments_text(edit.arguments))
    assert isinstance(part, ToolResultPart)
    assert edit.text is not None
    assert len(edit.text) < len(part.text)
    return estimate_text(part.text) - estimate_text(edit.text)


@given(transcripts())
def test_a_pruned_failure_keeps_its_error_line_and_a_handle_that_finds_it(messages: list[Message]) -> None:
    policy: Prune = POLICY.model_copy(update={"failure_lines": 1, "minimum_characters": 50})
    for edit in prune(messages, policy=policy, protected=(), edited={}, goal=None).edits:
        part = messages[edit.seq].parts[edit.part]
        if not isinstance(part, ToolResultPart) or edit.text is None:
            continue
        assert is_stub(edit.text)
        named = parse_handle(edit.text.split("\n")[0].rsplit(" ", 1)[1])
        assert named in ((edit.seq, None), (edit.seq, edit.part))
        error = first_error_line(part)
        if failed(part) and error:
            assert error in edit.text


@given(st.lists(st.text(alphabet="ab \n", max_size=40), max_size=30), st.integers(0, 5))
def test_failure_lines_are_lines_of_the_result_in_order(lines: list[str], count: int) -> None:
    text = "\n".join(lines)
    shown = [line for line in failure(text, count) if line != "…"]
    assert len(shown) <= 2 * count
    remaining = iter(line.strip() for line in text.split("\n"))
    assert all(line in remaining for line in shown)


def test_a_megabyte_of_hostile_text_is_cut_in_one_pass() -> None:
    hostile = [
        "error" * 200_000,
        "E  " * 300_000,
        "1 failed, " * 100_000,
        "a.b." * 250_000,
        "\n" * 1_000_000,
        "exit code" * 110_000,
    ]
    pruning = cut(log(*(ran("x", text, error=True) for text in hostile)))
    assert len(pruning.edits) == len(hostile)
    assert all(len(e.text or "") < 5_000 for e in pruning.edits)


def test_style_tool_line_names_no_handle() -> None:
    messages = log(ran("cat a", NOISE), ran("cat b", NOISE), calls(call("write_file", {"content": "x" * 900})))
    edits = cut(messages, style="tool-line", argument_characters=200, order="oldest").edits
    assert [e.text for e in edits] == [
        "[Duplicate tool output — same content as a more recent call]",
        f"[bash] command=cat b ({len(NOISE):,} chars result)",
        None,
    ]
    assert edits[-1].arguments == {"content": "x" * 200 + "...[truncated]"}


def test_arguments_up_to_a_length_in_all_stay() -> None:
    messages = log(calls(call("a", {"t": "x" * 400})))
    assert cut(messages, argument_characters=200, argument_total=0).edits
    whole = len(json.dumps({"t": "x" * 400}))
    assert cut(messages, argument_characters=200, argument_total=whole - 1).edits
    assert not cut(messages, argument_characters=200, argument_total=whole).edits


def test_duplicates_in_the_tail_go_where_the_policy_says_so_but_never_those_of_the_current_turn() -> None:
    messages = log(ran("cat a", NOISE), ran("cat b", NOISE), ran("cat c", NOISE))  # results at 1, 3, 5
    tail = {m.seq for m in messages}

    def pruned(untouched: set[int], **changes: object) -> list[tuple[int, str]]:
        policy = POLICY.model_copy(update=changes)
        made = prune(messages, policy=policy, protected=tail, edited={}, untouched=untouched)
        return [(e.seq, e.rule) for e in made.edits]

    assert pruned(set()) == []
    assert pruned(set(), deduplicate_tail=True) == [(1, "duplicate"), (3, "duplicate")]
    assert pruned({3, 4, 5}, deduplicate_tail=True) == [(1, "duplicate")]
    assert pruned(set(), deduplicate_tail=True, deduplicate=False) == []


def test_the_newest_messages_are_protected_by_count() -> None:
    messages = log(ran("a", "x"), ran("b", "y"), ran("c", "z"))
    policy = POLICY.model_copy(update={"protected_messages": 3})
    assert newest(messages, policy, 0) == {3, 4, 5}
    assert newest(messages, policy, sum(m.tokens for m in messages)) == {0, 1, 2, 3, 4, 5}
    assert newest(messages, POLICY, 0) == set()
