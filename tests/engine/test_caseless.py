"""Words looked for in lower case: what they rule out, no pattern would have found."""

from __future__ import annotations

import re
import string
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from offturn_engine import results
from offturn_engine.caseless import lowered
from offturn_engine.messages import ToolCallPart, ToolResultPart
from offturn_engine.results import DETAIL, HEADER, LINE_LOOK, exit_code, failed, lines_of

LINES = (
    *("error: x", "fatal: bad", "ERROR", "Invalid arg", "npm ERR! x", "FAILED a", "FAIL", "not ok 1", "--- FAIL: x"),
    *("segmentation fault", "Core Dumped", "command aborted", "killed", "panic: x", "thread 'a' panicked", "10 errors"),
    *(
        "*** [all] Error 2",
        "Traceback (most recent call last):",
        "3 failed, 2 passed",
        "==== FAILURES ====",
        "FAILED (x)",
    ),
    *(
        "test result: FAILED",
        "ENOENT: x",
        "a: b: EACCES: y",
        "bash: foo: command not found",
        "x is not recognized as y",
    ),
    *(
        "cat: x: No such file or directory",
        "permission denied",
        "x: Is a directory",
        "Disk quota exceeded",
        "timed out.",
    ),
    *(
        "could not open",
        "cannot find",
        "unknown option",
        "out of memory",
        "connection refused",
        "operation not permitted",
    ),
    *("file not found", "exit code 1", "Exit Code: 0", "exited with code 2", '{"exit_code": 1}', '"exit_status": 0'),
    *(
        "return code 3",
        "process ex\u0131t code 1",
        "file.py:3:4: error: bad",
        "a.ts(3,4): error TS1",
        "ValueError: bad",
    ),
    *(
        "KeyboardInterrupt",
        "foo.BarException: x",
        "except\u0131on: x",
        "per\u017fon",
        "ok",
        "12 passed",
        "x: y: ",
        "…",
        "",
    ),
)
TEXTS = st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=6)), max_size=6).flatmap(
    lambda lines: st.sampled_from(["\n", " ", ""]).map(lambda between: between.join(lines))
)
CALLS = (None, ToolCallPart("", "bash", {"command": "make"}, ""), ToolCallPart("", "read_file", {}, ""))


_PLAIN = "|".join(f"(?:{p})" for p in DETAIL.values())
_CERTAIN = "|".join(f"(?:{p})" for p in [*(DETAIL[name] for name in results.CERTAIN), *HEADER.values()])
_ANNOUNCED = rf"{results._ANNOUNCED.pattern}|{results._REFUSED.pattern}"


@given(TEXTS)
@example("ex\u0131t code 1")
@settings(max_examples=500, deadline=None)
def test_a_line_carries_what_the_patterns_find_in_it(text: str) -> None:
    line = text.replace("\n", " ").strip()[:LINE_LOOK]
    found, plain = results._detail(line), re.search(_PLAIN, line)
    assert (found and found.span()) == (plain and plain.span())
    assert results._certain(line) == (re.search(_CERTAIN, line) is not None)
    assert results._announced(line) == (re.match(_ANNOUNCED, line) is not None)


@given(TEXTS, st.sampled_from(CALLS), st.sampled_from([None, False]))
@example("ex\u0131t code 1", CALLS[1], None)
@settings(max_examples=500, deadline=None)
def test_a_result_fails_as_if_every_line_were_looked_at(
    text: str, call: ToolCallPart | None, flag: bool | None
) -> None:
    quick = failed(ToolResultPart("c", text, flag), call), exit_code(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "_telling", lambda text, hidden: lines_of(text))
        patch.setattr(results, "_tells_exit", lambda _: True)
        assert quick == (failed(ToolResultPart("c", text, flag), call), exit_code(text))


def test_lower_case_holds_all_that_a_pattern_without_case_takes_for_a_letter() -> None:
    alike = re.compile("(?i)[a-z]")
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    assert all(len(lowered(sign)) == 1 for sign in every)
    letters = [sign for sign in every if alike.match(sign)]
    assert all(re.match(f"(?i){lowered(sign)}", sign) and lowered(sign) in string.ascii_lowercase for sign in letters)
