"""Generated logs of 200 MB through `offturn compact` and `offturn import`, each in a process whose memory is measured.

Of one kind of file all is messages, more than fit: it is refused with a line. Of the other most is what the host keeps
beside the messages: it is read. OpenCode's database is written in both kinds, and a list as one JSON value of the most
that is taken as one.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tests.engine.files.opencode_tables import TABLES

SIZE = 200 * 2**20
ONE_VALUE = 47 * 2**20
SESSION = 8 * 2**20  # of messages and what is beside them in one session of a database
MOST = 300  # MB
WORDS = ("line ", "row ", "message ")
"""One of them says where a file that is refused gets too large."""
LINE = "The quick brown fox looks into src/module.py and finds nothing of note there.\n"
MEASURED = """
import resource, sys
from offturn_worker.cli.main import run
code = run(sys.argv[1:])
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


class Run(NamedTuple):
    """One command on one file: its exit code, the most memory in MB, and what it said last."""

    name: str
    code: int
    megabytes: int
    said: str


def claude(beside: int) -> Iterator[Mapping[str, Any]]:
    """Lines of a session; `beside`: how many times what a tool printed is repeated beside each result."""
    yield _claude(0, {"role": "user", "content": "Look into every module."})
    for i in range(1, 10**9, 2):
        call = {"type": "tool_use", "id": f"c{i}", "name": "bash", "input": {"command": f"cat m{i}.py"}}
        yield _claude(i, {"role": "assistant", "id": f"msg{i}", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"c{i}", "content": f"{i} {LINE * 20}"}
        told = {"toolUseResult": {"stdout": LINE * 20 * beside}} if beside else {}
        yield {**_claude(i + 1, {"role": "user", "content": [result]}), **told}


def _claude(i: int, message: Mapping[str, Any]) -> dict[str, Any]:
    parent = f"u{i - 1}" if i else None
    return {"type": message["role"], "uuid": f"u{i}", "parentUuid": parent, "sessionId": "s", "message": message}


def pi(beside: int) -> Iterator[Mapping[str, Any]]:
    """Records of a session; `beside`: as in `claude`."""
    yield {"type": "session", "id": "s", "version": 3}
    yield {"type": "message", "id": "e0", "parentId": None, "message": {"role": "user", "content": "Look."}}
    for i in range(1, 10**9, 2):
        call = {"type": "toolCall", "id": f"c{i}", "name": "bash", "arguments": {"command": f"cat m{i}.py"}}
        asked = {"role": "assistant", "content": [call]}
        yield {"type": "message", "id": f"e{i}", "parentId": f"e{i - 1}", "message": asked}
        result = {
            "role": "toolResult",
            "toolCallId": f"c{i}",
            "content": [{"type": "text", "text": f"{i} {LINE * 20}"}],
        }
        yield {"type": "message", "id": f"e{i + 1}", "parentId": f"e{i}", "message": result}
        if beside:
            yield {"type": "custom", "customType": "state", "data": LINE * 20 * beside}


def chat() -> Iterator[Mapping[str, Any]]:
    """Messages of openai-chat."""
    yield {"role": "user", "content": "Look."}
    for i in range(1, 10**9):
        function = {"name": "bash", "arguments": json.dumps({"command": f"cat m{i}.py"})}
        yield {"role": "assistant", "tool_calls": [{"id": f"c{i}", "type": "function", "function": function}]}
        yield {"role": "tool", "tool_call_id": f"c{i}", "content": f"{i} {LINE * 20}"}


def opencode(beside: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Roles and parts of messages; `beside`: as in `claude`."""
    yield "user", {"type": "text", "text": "Look into every module."}
    for i in range(1, 10**9):
        output = f"{i} {LINE * (2 if beside else 20)}"
        state = {"status": "completed", "input": {"command": f"cat m{i}.py"}, "output": output}
        metadata = {"metadata": {"output": LINE * 20 * beside}} if beside else {}
        yield "assistant", {"type": "tool", "callID": f"c{i}", "tool": "bash", "state": state | metadata}


KINDS: Mapping[str, Callable[[int], Iterator[Mapping[str, Any]]]] = {"claude-code": claude, "pi": pi}


def large() -> Iterator[Run]:
    """Each command on each file."""
    with tempfile.TemporaryDirectory(prefix="offturn-") as folder:
        file, store = Path(folder) / "log.jsonl", f"embedded://{folder}/store"
        for kind, lines in KINDS.items():
            for beside, name in ((0, "all messages"), (14, "mostly beside them")):
                _write(file, lines(beside))
                yield from _both(f"{kind}, {name}", file, store)
        _write(file, chat(), ONE_VALUE, before="[", between=",\n", after="]")
        yield from _both("one JSON value, all messages", file, store)
        for beside, name in ((0, "all messages"), (14, "mostly beside them")):
            file.unlink()
            _write_database(file, beside)
            yield from _both(f"opencode, {name}", file, store)


def _both(name: str, file: Path, store: str) -> Iterator[Run]:
    yield _measured(f"compact {name}", "compact", str(file))
    yield _measured(f"import {name}", "import", str(file), "--index", "0", "--session", name, "--store", store)


def _write(
    file: Path,
    lines: Iterator[Mapping[str, Any]],
    most: int = SIZE,
    *,
    before: str = "",
    between: str = "\n",
    after: str = "\n",
) -> None:
    with file.open("w", encoding="utf-8") as opened:
        size = opened.write(before + json.dumps(next(lines)))
        while size < most:
            size += opened.write(between + json.dumps(next(lines)))
        opened.write(after)


def _write_database(file: Path, beside: int) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.executescript(TABLES)
        size = number = 0
        while size < SIZE:
            number, session = number + 1, f"s{number}"
            database.execute("INSERT INTO session VALUES (?, NULL, ?, NULL, ?)", (session, session, number))
            begun = size
            for i, (role, part) in enumerate(opencode(beside)):
                id_, data = f"{session} {i:06}", json.dumps(part)
                database.execute(
                    "INSERT INTO message VALUES (?, ?, ?, ?)", (id_, session, i, json.dumps({"role": role}))
                )
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (id_, id_, session, data))
                size += len(data)
                if size - begun > SESSION:
                    break
        database.commit()


def _measured(name: str, *arguments: str) -> Run:
    command = [sys.executable, "-c", MEASURED, *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    *said, told = done.stderr.strip().splitlines()
    code, megabytes = map(int, told.split())
    return Run(name, code, megabytes, said[-1] if said else "")
