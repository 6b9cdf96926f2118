"""The line of style `tool-line`: what Hermes Agent 0.19 leaves of a cleared result (rule B1).

Literal, unlike our own stubs: where that program cuts depends on the size of each of these lines. They name no handle,
so a model cannot ask for the text again by them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from offturn_engine.messages import Json, ToolCallPart, ToolResultPart

DUPLICATE = "[Duplicate tool output — same content as a more recent call]"
CUT = "...[truncated]"
"""What stands behind the head of a long string in a call's arguments."""

COMMAND = 80  # characters
ARGUMENTS, ARGUMENT = 2, 40  # of a tool without a line of its own: so many, of so many characters

Arguments: TypeAlias = Mapping[str, Json]

_EXIT = re.compile(r'"exit_code"\s{0,20}:\s{0,20}(-?\d{1,9})')
_HITS = re.compile(r'"total_count"\s{0,20}:\s{0,20}(\d{1,9})')


def tool_line(call: ToolCallPart, result: ToolResultPart) -> str:
    """`[<tool>] <what it did> -> <outcome>`."""
    arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
    made = _LINES.get(call.name, _other)
    return f"[{call.name}]{made(arguments, result.text)}"


def _terminal(arguments: Arguments, text: str) -> str:
    command = str(arguments.get("command") or "")
    shown = command if len(command) <= COMMAND else command[: COMMAND - 3] + "..."
    lines = text.count("\n") + 1 if text.strip() else 0
    return f" ran `{shown}` -> exit {_first(_EXIT, text)}, {lines} lines output"


def _read(arguments: Arguments, text: str) -> str:
    return f" read {arguments.get('path', '?')} from line {arguments.get('offset', 1)} ({len(text):,} chars)"


def _write(arguments: Arguments, _: str) -> str:
    content = arguments.get("content")
    return f" wrote to {arguments.get('path', '?')} ({str(content).count(chr(10)) + 1 if content else '?'} lines)"


def _search(arguments: Arguments, text: str) -> str:
    what, where = arguments.get("pattern", "?"), arguments.get("path", ".")
    return f" {arguments.get('target', 'content')} search for '{what}' in {where} -> {_first(_HITS, text)} matches"


def _patch(arguments: Arguments, text: str) -> str:
    return f" {arguments.get('mode', 'replace')} in {arguments.get('path', '?')} ({len(text):,} chars result)"


def _other(arguments: Arguments, text: str) -> str:
    shown = "".join(f" {key}={str(value)[:ARGUMENT]}" for key, value in [*arguments.items()][:ARGUMENTS])
    return f"{shown} ({len(text):,} chars result)"


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group(1) if found else "?"


_LINES: Mapping[str, Callable[[Arguments, str], str]] = {
    "terminal": _terminal,
    "read_file": _read,
    "write_file": _write,
    "search_files": _search,
    "patch": _patch,
}
