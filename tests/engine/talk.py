"""Neutral messages for tests of prune, human messages and ledger: builders, and a strategy for whole transcripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st

from offturn_engine.messages import Json, Message, Origin, Part, Role, TextPart, ToolCallPart, ToolResultPart
from offturn_engine.tokens import estimate_text

RECORDED = Path(__file__).parents[3] / "shared" / "transcripts"
"""Recorded sessions beside the repository; tests that need them skip where they are absent."""


def message(role: Role, origin: Origin, *parts: Part) -> Message:
    return Message(role=role, parts=parts, raw={}, origin=origin, tokens=1)


def human(text: str) -> Message:
    return message("user", "human", TextPart(text))


def says(text: str) -> Message:
    return message("assistant", "assistant", TextPart(text))


def call(name: str, arguments: Json, call_id: str = "c1") -> ToolCallPart:
    return ToolCallPart(call_id, name, arguments, json.dumps(arguments))


def calls(*parts: ToolCallPart) -> Message:
    return message("assistant", "assistant", *parts)


def result(text: str, *, error: bool | None = None, call_id: str = "c1") -> ToolResultPart:
    return ToolResultPart(call_id, text, error)


def results(*parts: ToolResultPart) -> Message:
    return message("tool", "tool", *parts)


def ran(command: str, output: str, *, error: bool | None = None) -> list[Message]:
    return [calls(call("bash", {"command": command})), results(result(output, error=error))]


def used(name: str, arguments: Json, output: str, *, error: bool | None = None) -> list[Message]:
    return [calls(call(name, arguments)), results(result(output, error=error))]


def log(*pieces: Message | Sequence[Message], start: int = 0) -> list[Message]:
    """Messages placed at ascending seqs; lists are flattened."""
    flat = [m for piece in pieces for m in (piece if isinstance(piece, Sequence) else [piece])]
    return [m.placed(start + i) for i, m in enumerate(flat)]


LINES = st.sampled_from(
    [
        "collected 12 items",
        "ValueError: bad thing",
        "Traceback (most recent call last):",
        "src/app.py:10: error: no such name",
        "3 failed, 12 passed in 0.5s",
        "Process exited with code 1",
        "exit code: 0",
        "FAILED tests/test_a.py::test_b - AssertionError",
        "x" * 900,
        "",
        "日志 一切正常",
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(LINES, max_size=40).map("\n".join))
ARGUMENTS = st.one_of(
    st.builds(
        lambda c: {"command": c}, st.sampled_from(["make test", "cat a.py", "rm b.py", "mv a b", "cd /x && pytest -q"])
    ),
    st.builds(lambda p, t: {"path": p, "content": t}, st.sampled_from(["a.py", "b.py"]), st.text(max_size=2_000)),
    st.builds(lambda t: {"a": [t, {"b": t}], "n": 1}, st.text(min_size=400, max_size=900)),
    st.none(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=30),
        lambda c: st.lists(c, max_size=3),
        max_leaves=8,
    ),
)
NAMES = st.sampled_from(
    ["bash", "Read", "Write", "edit", "grep", "WebFetch", "str_replace_editor", "think", "", "mcp__x__y"]
)
IDS = st.sampled_from(["c1", "c2", "c3"])
PARTS = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(lambda i, n, a: ToolCallPart(i, n, a, json.dumps(a)), IDS, NAMES, ARGUMENTS),
    st.builds(ToolResultPart, IDS, TEXTS, st.sampled_from([None, True, False])),
)
SENTENCES = st.sampled_from(
    ["Never touch b.py.", "Fix the login bug.", "Always answer in Spanish.", "不要修改配置文件。", "thanks"]
)


@st.composite
def transcripts(draw: st.DrawFn, start: int = 0) -> list[Message]:
    """Any order of any parts: repeated ids, orphans, open and parallel calls, human messages in between."""
    made: list[Message] = []
    for kind in draw(st.lists(st.sampled_from(["human", "assistant", "tool"]), max_size=14)):
        if kind == "human":
            made.append(human(" ".join(draw(st.lists(SENTENCES, min_size=1, max_size=3)))))
        else:
            parts = tuple(draw(st.lists(PARTS, min_size=1, max_size=3)))
            keep = ToolResultPart if kind == "tool" else (TextPart, ToolCallPart)
            parts = tuple(p for p in parts if isinstance(p, keep))
            made.append(
                message("tool", "tool", *parts) if kind == "tool" else message("assistant", "assistant", *parts)
            )
    return [replace(m, tokens=sum(estimate_text(str(p)) for p in m.parts)) for m in log(made, start=start)]
