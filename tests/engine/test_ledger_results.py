"""Tables of the rules: tool families and targets, exit codes, failures, error lines, test counts, shell commands."""

from __future__ import annotations

import pytest

from offturn_engine.handles import handle, parse_handle
from offturn_engine.messages import Json, ToolCallPart, ToolResultPart
from offturn_engine.operations import operations
from offturn_engine.results import exit_code, failed, first_error_line, run_counts
from offturn_engine.tools import Family, command_of, family, family_of, normalised, target
from tests.engine.talk import call, result

FAMILIES: dict[Family, str] = {
    "shell": "Bash bash shell execute_bash run_shell_command exec_command terminal run_terminal_cmd container.exec functions.shell",
    "read": "Read read_file view open read_files notebook_read mcp__filesystem__read_text_file",
    "write": "Write Edit MultiEdit NotebookEdit write_file apply_patch str_replace_editor create insert replace write_to_file editor",
    "search": "Grep Glob LS grep find find_file search_dir search_file_content list_dir codebase_search rg",
    "web": "WebFetch WebSearch web_search google_web_search webfetch web_browser_go browser_navigate",
    "other": "Task TodoWrite think finish get_user_details search_direct_flight click mcp__journal__process_thoughts memory 工具",
}


@pytest.mark.parametrize(("name", "expected"), [(n, f) for f, names in FAMILIES.items() for n in names.split()])
def test_family(name: str, expected: Family) -> None:
    assert family(name) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"command": "make test"}, "make test"),
        ({"command": ["bash", "-lc", "make test"]}, "make test"),
        ({"command": ["ls", "-l"]}, "ls -l"),
        ({"commands": ["a", "b"]}, "a\nb"),
        ({"cmd": "x"}, "x"),
        ({"other": 1}, ""),
        (None, ""),
    ],
)
def test_command_of(arguments: Json, expected: str) -> None:
    assert command_of(ToolCallPart("c", "bash", arguments, "")) == expected


def test_an_editor_asked_to_view_reads() -> None:
    assert family_of(call("str_replace_editor", {"command": "view", "path": "a"})) == "read"
    assert family_of(call("str_replace_editor", {"command": "insert", "path": "a"})) == "write"


def test_several_files_of_one_call_are_its_target() -> None:
    arguments = {"files": [{"path": "a.py", "start_line": 1}, {"path": "b.py"}]}
    assert target(call("read_files", arguments)) == "a.py, b.py"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("out\n[The command completed with exit code 0.]", 0),
        ("out\n[The command completed with exit code 0.]\n[Current working directory: /x]", 0),
        ("Exit code 2\nboom", 2),
        ("out\n\nCommand exited with code 1", 1),
        ("<returncode>127</returncode>\n<output>\n</output>", 127),
        ('{"output":"x","metadata":{"exit_code":3,"duration_seconds":0.1}}', 3),
        ("Process exited with code -9", -9),
        ("out\n<exited with exit code 0>", 0),
        ("ls: x\nCommand failed with exit code: 1.", 1),
        ("exit code 1\n" + "x\n" * 2_000 + "Exit code: 0", 0),
        ("Use exit code 2 to block the call, other codes do not.", None),
        ("if result.returncode != 0:\n    raise SystemExit", None),
        ("", None),
    ],
)
def test_exit_code(text: str, code: int | None) -> None:
    assert exit_code(text) == code


FAILURES = [
    ("Traceback (most recent call last):\n  File 'a'\nValueError: bad", "ValueError: bad"),
    ("===== FAILURES =====\nE   assert 1 == 2\n3 failed, 2 passed", "E   assert 1 == 2"),
    ("FAILED tests/test_a.py::test_b - AssertionError", "FAILED tests/test_a.py::test_b - AssertionError"),
    ("a.c:3:1: error: expected ';'", "a.c:3:1: error: expected ';'"),
    ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
    ("src/a.ts(5,3): error TS2345: Argument", "src/a.ts(5,3): error TS2345: Argument"),
    ("npm ERR! code ELIFECYCLE", "npm ERR! code ELIFECYCLE"),
    ("bash: foo: command not found", "bash: foo: command not found"),
    ("cat: x: No such file or directory", "cat: x: No such file or directory"),
    ("make: *** [Makefile:3: test] Error 2", "make: *** [Makefile:3: test] Error 2"),
    ("--- FAIL: TestX (0.00s)\nFAIL", "--- FAIL: TestX (0.00s)"),
    ("test result: FAILED. 3 passed; 1 failed", "test result: FAILED. 3 passed; 1 failed"),
    ("not ok 3 - adds", "not ok 3 - adds"),
    ("fatal: not a git repository", "fatal: not a git repository"),
    ("Segmentation fault (core dumped)", "Segmentation fault (core dumped)"),
    ("构建失败", "构建失败"),
]


@pytest.mark.parametrize(("text", "line"), FAILURES, ids=[line for _, line in FAILURES])
def test_first_error_line(text: str, line: str) -> None:
    assert first_error_line(ToolResultPart("c", f"starting\n{text}\nbye")) == line


@pytest.mark.parametrize("text", [text for text, _ in FAILURES[:-1]], ids=[line for _, line in FAILURES[:-1]])
def test_a_shell_result_without_an_exit_code_fails_by_what_it_says(text: str) -> None:
    assert failed(result(text), call("bash", {"command": "x"}))


@pytest.mark.parametrize(
    ("text", "flag", "tool", "expected"),
    [
        ("fine", True, "bash", True),
        ("fine", None, "bash", False),
        ("fine\nCommand exited with code 1", False, "bash", True),
        ("a log with error: inside\n[The command completed with exit code 0.]", None, "bash", False),
        ("3 failed, 12 passed\n[The command completed with exit code 0.]", None, "bash", True),
        ("0 failed, 12 passed", None, "bash", False),
        ("12 passed in 0.1s", None, "bash", False),
        ("def f():\n    raise ValueError\n# error: no", None, "Read", False),
        ("a.py:3: Traceback (most recent call last):", False, "Grep", False),
        ("Error: file not found", None, "Read", True),
        ("ENOENT: no such file or directory, open '/x'\n", None, "read_file", True),
        ("<tool_use_error>String to replace not found", None, "Edit", True),
        ("Error: user not found", None, "get_user", True),
        ('{"error": "no such booking"}', None, "get_booking", True),
        ('{"status": "ok"}', None, "get_booking", False),
    ],
)
def test_failed(text: str, flag: bool | None, tool: str, expected: bool) -> None:
    assert failed(result(text, error=flag), call(tool, {"command": "x"})) is expected


def test_a_long_error_line_keeps_what_carries_the_error() -> None:
    line = first_error_line(ToolResultPart("c", "x" * 500 + " error: the reason" + "y" * 5_000))
    assert line is not None
    assert "error: the reason" in line
    assert len(line) <= 200


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("== 3 failed, 12 passed, 1 skipped in 2.1s ==", "3 failed, 12 passed, 1 skipped"),
        ("Tests:  1 failed, 9 passed, 10 total", "1 failed, 9 passed, 10 total"),
        ("test result: ok. 12 passed; 0 failed; 1 ignored", "12 passed; 0 failed; 1 ignored"),
        ("  12 passing (3s)\n  2 failing", "2 failing"),
        ("FAILED (failures=3, errors=1)", "failures=3, errors=1"),
        ("1 passed\n" + "x" * 3_000, ""),
    ],
)
def test_run_counts(text: str, counts: str) -> None:
    assert run_counts(text) == counts


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("cd /repo && pytest -q 2>&1 | tail -20", "pytest -q"),
        ("cd /repo\npytest   -q", "pytest -q"),
        ("pytest -q || true", "pytest -q"),
        ("echo a | head -3 | cat", "echo a"),
        ("cd /repo", "cd /repo"),
        ("x" * 400, "x" * 159 + "…"),
    ],
)
def test_normalised(command: str, key: str) -> None:
    assert normalised(command) == key


PATCH = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** Move to: c.py\n@@\n-x\n*** Delete File: d.py\n*** End Patch"
PATCHED = [
    ("a.py", "created"),
    ("b.py", "edited"),
    ("b.py", "moved to c.py"),
    ("c.py", "moved from b.py"),
    ("d.py", "deleted"),
]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py", [("a.py", "read")]),
        ("head -n 20 a.py | grep x", [("a.py", "read")]),
        ("sed -n '1,20p' src/a.py", [("src/a.py", "read")]),
        ("sed -i 's/a/b/g' a.py b.py", [("a.py", "edited"), ("b.py", "edited")]),
        ("sed -i -e 's/a/b/' a.py", [("a.py", "edited")]),
        ("rm -rf build ./old.py", [("build", "deleted"), ("old.py", "deleted")]),
        ("mv a.py b.py", [("a.py", "moved to b.py"), ("b.py", "moved from a.py")]),
        ("git mv a.py lib/", [("a.py", "moved to lib/a.py"), ("lib/a.py", "moved from a.py")]),
        ("git rm --cached a.py", [("a.py", "deleted")]),
        ("cp a.py b.py", [("b.py", "copied from a.py")]),
        ("cd /repo && cat a.py && cd src && rm ../b.py", [("/repo/a.py", "read"), ("/repo/b.py", "deleted")]),
        ("cd /repo && mv a.py b.py", [("/repo/a.py", "moved to /repo/b.py"), ("/repo/b.py", "moved from /repo/a.py")]),
        ("echo hi > out.txt", [("out.txt", "written")]),
        ("echo hi >> out.txt 2>/dev/null", [("out.txt", "edited")]),
        ("make 2>&1 | tee build.log", [("build.log", "written")]),
        ("cat > a.py <<'EOF'\nrm -rf b.py\nEOF", [("a.py", "written")]),
        ("# ../utils -> ../config\ntouch a.py", [("a.py", "created")]),
        ("cat *.py $FILE `x`", []),
        ("rm 'unbalanced", []),
        ("pytest tests/test_a.py", []),
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF", PATCHED),
        ("", []),
    ],
)
def test_file_operations_of_shell_commands(command: str, expected: list[tuple[str, str]]) -> None:
    assert operations(call("bash", {"command": command})) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Read", {"file_path": "a.py"}, [("a.py", "read")]),
        ("Write", {"file_path": "a.py", "content": "x"}, [("a.py", "written")]),
        ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, [("a.py", "edited")]),
        ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "x"}, [("a.py", "created")]),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, [("a.py", "read")]),
        ("delete_file", {"path": "a.py"}, [("a.py", "deleted")]),
        ("apply_patch", {"input": PATCH}, PATCHED),
        ("patch", {"diff": "--- a/x.py\n+++ b/x.py\n@@\n--- a/y.py\n+++ /dev/null"}, [("x.py", "edited")]),
        ("Grep", {"pattern": "x", "path": "src"}, []),
        ("Task", {"path": "a.py"}, []),
        ("Read", {"file_path": 3}, []),
    ],
)
def test_file_operations_of_tools(name: str, arguments: Json, expected: list[tuple[str, str]]) -> None:
    assert operations(call(name, arguments)) == expected


def test_a_free_form_patch_names_its_files() -> None:
    assert operations(ToolCallPart("c", "apply_patch", None, PATCH)) == PATCHED


@pytest.mark.parametrize(
    "command", ["'" * 1_000_000, "> " * 500_000, "cat " + "a " * 500_000, "cd " * 300_000, "(" * 1_000_000]
)
def test_a_megabyte_of_a_command_is_harmless(command: str) -> None:
    assert len(operations(call("bash", {"command": command}))) <= 4_000
    assert len(normalised(command)) <= 160


@pytest.mark.parametrize(
    ("text", "expected"), [("m12", (12, None)), ("[m12.3]", (12, 3)), ("m", None), ("x12", None), ("m1.", None)]
)
def test_parse_handle(text: str, expected: tuple[int, int | None] | None) -> None:
    assert parse_handle(text) == expected
    if expected:
        assert parse_handle(handle(*expected)) == expected
