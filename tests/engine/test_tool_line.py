"""The literal line of style `tool-line`, and what else of an edit that style decides."""

from __future__ import annotations

import pytest

from offturn_engine.messages import Json, ToolCallPart, ToolResultPart
from offturn_engine.tool_line import tool_line


@pytest.mark.parametrize(
    ("name", "arguments", "output", "expected"),
    [
        ("terminal", {"command": "ls"}, '{"output": "a\nb", "exit_code": -1}', " ran `ls` -> exit -1, 2 lines output"),
        ("terminal", {"command": "x" * 81}, "", f" ran `{'x' * 77}...` -> exit ?, 0 lines output"),
        ("terminal", {"command": "x" * 80}, "a", f" ran `{'x' * 80}` -> exit ?, 1 lines output"),
        ("read_file", {"path": "a.py"}, "x" * 1_200, " read a.py from line 1 (1,200 chars)"),
        ("read_file", {"path": "a.py", "offset": 7}, "x", " read a.py from line 7 (1 chars)"),
        ("write_file", {"path": "a.py", "content": "a\nb"}, "ok", " wrote to a.py (2 lines)"),
        ("write_file", {"path": "a.py"}, "ok", " wrote to a.py (? lines)"),
        (
            "search_files",
            {"pattern": "x"},
            '{"total_count": 12}',
            " content search for 'x' in . -> 12 matches",
        ),
        ("patch", {"path": "a.py"}, "done", " replace in a.py (4 chars result)"),
        ("ticket", {"id": 7, "note": "y" * 50, "more": 1}, "z", f" id=7 note={'y' * 40} (1 chars result)"),
        ("ticket", None, "z", " (1 chars result)"),
        ("read_file", ["odd"], "z", " read ? from line 1 (1 chars)"),
    ],
)
def test_a_line_says_what_the_call_did(name: str, arguments: Json, output: str, expected: str) -> None:
    call = ToolCallPart("c", name, arguments, "")
    assert tool_line(call, ToolResultPart("c", output)) == f"[{name}]{expected}"
