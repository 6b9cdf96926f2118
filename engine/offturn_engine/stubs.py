"""Stubs: the one line that stands for a cleared tool result, and what of a failure stays under it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from offturn_config.groups import Prune
from offturn_engine.handles import handle
from offturn_engine.media import encoded, without_encoded
from offturn_engine.messages import ToolCallPart, ToolResultPart
from offturn_engine.results import carried, carrying, exit_code_of, failed, first_error_line, kept, lines_of
from offturn_engine.tools import family_of, one_line, target, written_lines

UNKNOWN = ToolCallPart("", "tool", None, "")
"""Stands for the call of a result that has none."""

NAME_CHARACTERS = 60
NAMED = 2  # pieces of base64 in a text
LARGEST = 20_000  # characters; a longer text that opens like a stub is a result that quotes one

_STUB = re.compile(r"\[(?:cleared|reduced|duplicate): [^\n]{1,600} · recall m\d{1,12}(?:\.\d{1,6})?\](?:\n|$)")
_HITS = re.compile(r"(?i:\bfound (\d{1,9})\b)")


def is_stub(text: str) -> bool:
    """Was this text written by `stub`, `duplicate` or `telling`?"""
    return text.startswith("[") and len(text) <= LARGEST and _STUB.match(text) is not None


def stub(call: ToolCallPart, result: ToolResultPart, seq: int, part: int | None, policy: Prune) -> str:
    """`[cleared: <tool> <target> · exit <code> · 214 lines, 9,120 characters · recall m181]`.

    A failed result keeps `policy.failure_lines` lines that carry its error and as many from its end below that line.
    `part` is None where the message has no other result.
    """
    bad = failed(result, call)
    line = _headline("cleared", call, result, seq, part, bad)
    return "\n".join([line, *failure_of(result, policy.failure_lines)]) if bad else line


def headline(word: str, call: ToolCallPart, result: ToolResultPart, seq: int, part: int | None) -> str:
    """What stands above the rest of a result: tool, target, outcome, size and handle."""
    return _headline(word, call, result, seq, part, failed(result, call))


def _headline(word: str, call: ToolCallPart, result: ToolResultPart, seq: int, part: int | None, bad: bool) -> str:
    facts = [_what(call), *_outcome(call, result, bad), _size(result), f"recall {handle(seq, part)}"]
    return f"[{word}: {' · '.join(facts)}]"


def duplicate(call: ToolCallPart, result: ToolResultPart, seq: int, part: int | None, newest: str) -> str:
    """The line that refers from an older result to the newest one with the same text, by that one's handle.

    The first error line of a failure stays: the newest may itself be cleared later.
    """
    line = f"[duplicate: {_what(call)} · same text as {newest} · recall {handle(seq, part)}]"
    error = first_error_line(result) if failed(result, call) else None
    return f"{line}\n{error}" if error else line


def failure_of(result: ToolResultPart, count: int) -> list[str]:
    """`failure` of a result, in which base64 has its name."""
    text = without_encoded(result.text)
    return _failure(lines_of(text), count, carried(result, count)) if text is result.text else failure(text, count)


def failure(text: str, count: int) -> list[str]:
    """Up to `count` lines that carry the error and the last `count` lines that are not blank; `…` where lines are left out."""
    lines = lines_of(text)
    return _failure(lines, count, carrying(lines, count))


def _failure(lines: Sequence[str], count: int, found: Sequence[int]) -> list[str]:
    visible = [i for i, line in enumerate(lines) if line.strip()]
    return excerpt(lines, {*(found or visible[:count]), *visible[max(0, len(visible) - count) :]})


def excerpt(lines: Sequence[str], indexes: Iterable[int]) -> list[str]:
    """These lines in their order, `…` where others are left out between them."""
    chosen = sorted(indexes)
    shown: list[str] = []
    for before, i in zip([-1, *chosen], chosen, strict=False):
        if i > before + 1:
            shown.append("…")
        shown.append(kept(lines[i]))
    return shown


def _what(call: ToolCallPart) -> str:
    return f"{one_line(call.name, NAME_CHARACTERS) or 'tool'} {target(call)}".strip()


def _outcome(call: ToolCallPart, result: ToolResultPart, bad: bool) -> list[str]:
    kind = family_of(call)
    code = exit_code_of(result) if kind == "shell" or bad else None
    if code is not None:
        return [f"exit {code}"] if code or not bad else ["exit 0", "failed"]
    if bad:
        return ["failed"]
    if kind == "search":
        return [_counted(_hits(result.text), "hit")]
    written = written_lines(call) if kind == "write" else 0
    return [f"{_counted(written, 'line')} written"] if written else []


def _hits(text: str) -> int:
    counted = _HITS.search(text[:200])
    if counted:
        return int(counted.group(1))
    return 0 if text[:3].lower().startswith("no ") else sum(map(bool, map(str.strip, text.split("\n"))))


def _size(result: ToolResultPart) -> str:
    media = f", {result.media} media" if result.media else ""
    lines = _counted(result.text.count("\n") + 1, "line")
    inside = "".join(f", {what}" for _, _, what in islice(encoded(result.text), NAMED))
    return f"{lines}, {_counted(len(result.text), 'character')}{media}{inside}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
