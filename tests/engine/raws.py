"""Raw messages of openai-chat and anthropic by short names, and a strategy for lists of them that no host should send but some do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from offturn_engine.formats import get, names, parse_all
from offturn_engine.formats.base import Format
from offturn_engine.messages import Message
from tests.engine.dialects import said_in

Raw = dict[str, Any]

OPENAI = get("openai-chat")
ANTHROPIC = get("anthropic")
FORMATS = tuple(get(name) for name in names())


def placed(raws: Sequence[Raw], fmt: Format = OPENAI, start: int = 0) -> list[Message]:
    """Parsed, at ascending seqs."""
    return [message.placed(start + i) for i, message in enumerate(parse_all(fmt, raws))]


def human(text: str) -> Raw:
    return {"role": "user", "content": text}


def says(text: str) -> Raw:
    return {"role": "assistant", "content": text}


def system(text: str) -> Raw:
    return {"role": "system", "content": text}


def calls(*ids: str, text: str = "", fmt: Format = OPENAI, arguments: str = '{"command": "ls"}') -> Raw:
    """An assistant message that calls `bash` under each id."""
    if fmt is OPENAI:
        made = [{"id": i, "type": "function", "function": {"name": "bash", "arguments": arguments}} for i in ids]
        return {"role": "assistant", "content": text or None, "tool_calls": made}
    blocks: list[Raw] = [{"type": "text", "text": text}] if text else []
    uses = [{"type": "tool_use", "id": i, "name": "bash", "input": json.loads(arguments)} for i in ids]
    return {"role": "assistant", "content": [*blocks, *uses]}


def result(call_id: str, text: str = "ok", fmt: Format = OPENAI) -> Raw:
    """One result, alone in its message."""
    return {"role": "tool", "tool_call_id": call_id, "content": text} if fmt is OPENAI else results((call_id, text))


def results(*pairs: tuple[str, str], words: str = "") -> Raw:
    """anthropic: results in one user message, and what the human said in it."""
    blocks: list[Raw] = [{"type": "tool_result", "tool_use_id": i, "content": text} for i, text in pairs]
    return {"role": "user", "content": [*blocks, *([{"type": "text", "text": words}] if words else [])]}


def groups(count: int, *, size: int = 40, fmt: Format = OPENAI) -> list[Raw]:
    """Tool groups of one call each; `size` words a result."""
    made: list[Raw] = []
    for i in range(count):
        made += [calls(f"c{i}", text=f"step {i}", fmt=fmt), result(f"c{i}", f"line {i} of it " * (size // 4), fmt)]
    return made


WORDS = st.sampled_from(["ok", "Never touch src/a.py.", "x" * 60, "word " * 200, "请不要修改 " * 40])
OUTPUTS = st.sampled_from(
    ["ok", "", "line\n" * 150, "Traceback (most recent call last):\nValueError: no\n" + "l\n" * 90]
)
CHOSEN = [
    st.lists(st.sampled_from(ids), min_size=1, max_size=3, unique=True)
    for ids in (["c"], ["c1", "c2"], [f"c{i}" for i in range(40)])
]
IDS = st.sampled_from(range(len(CHOSEN)))
KIND = [
    st.sampled_from(kinds.split())
    for kinds in (
        "human",
        "says",
        "human says",
        "human says system",
        "human calls answer says system orphan",
        "calls answer",
        "human calls answer calls answer calls answer says mixed late drop",
    )
]
KINDS = st.sampled_from(range(len(KIND)))


@st.composite
def odd(draw: st.DrawFn, fmt: Format, most: int = 40) -> list[Raw]:
    """Only humans, only assistants, ids that repeat, calls given up, results far too late, orphans, words beside results."""
    if fmt not in (OPENAI, ANTHROPIC):
        raws = draw(odd(OPENAI, most))
        told = raws if fmt.name != "gemini" else [raw for raw in raws if raw["role"] != "system"]
        return said_in(fmt.name, told or [human("hello")])
    ids, kinds = CHOSEN[draw(IDS)], KIND[draw(KINDS)]
    made: list[Raw] = []
    waiting: list[str] = []
    for _ in range(draw(st.integers(1, most))):
        kind = draw(kinds)
        if kind == "human":
            made.append(human(draw(WORDS)))
        elif kind == "says":
            made.append(says(draw(WORDS)))
        elif kind == "system" and fmt is OPENAI:
            made.append(system(draw(WORDS)))
        elif kind == "orphan":
            made.append(result("orphan", draw(OUTPUTS), fmt))
        elif kind == "calls":
            chosen = draw(ids)
            made.append(calls(*chosen, text=draw(WORDS), fmt=fmt))
            waiting += chosen
        elif kind == "drop":
            waiting.clear()
        elif waiting and (kind in ("answer", "late") or (kind == "mixed" and fmt is ANTHROPIC)):
            taken = waiting.pop(0 if kind == "late" else -1)
            words = draw(WORDS) if kind == "mixed" else ""
            made.append(results((taken, draw(OUTPUTS)), words=words) if words else result(taken, draw(OUTPUTS), fmt))
    return made or [human("hello")]
