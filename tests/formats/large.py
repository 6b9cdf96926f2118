"""Generated logs of 200 MB through `offturn compact` and `offturn import`, each in a process whose memory is measured.

Of one kind of file all is messages, more than fit: it is refused with a line. Of the other most is what the host keeps
beside the messages: it is read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

SIZE = 200 * 2**20
MOST = 300  # MB
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


KINDS: Mapping[str, Callable[[int], Iterator[Mapping[str, Any]]]] = {"claude-code": claude, "pi": pi}


def large() -> Iterator[Run]:
    """Each command on each file."""
    with tempfile.TemporaryDirectory(prefix="offturn-") as folder:
        file, store = Path(folder) / "log.jsonl", f"embedded://{folder}/store"
        for kind, lines in KINDS.items():
            for beside, name in ((0, "all messages"), (14, "mostly beside them")):
                _write(file, lines(beside))
                for command in (("compact", str(file)), ("import", str(file), "--session", f"{kind} {beside}")):
                    options = ("--store", store) if command[0] == "import" else ()
                    yield _measured(f"{command[0]} {kind}, {name}", *command, *options)


def _write(file: Path, lines: Iterator[Mapping[str, Any]]) -> None:
    with file.open("w", encoding="utf-8") as opened:
        size = 0
        while size < SIZE:
            size += opened.write(json.dumps(next(lines)) + "\n")


def _measured(name: str, *arguments: str) -> Run:
    command = [sys.executable, "-c", MEASURED, *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    *said, told = done.stderr.strip().splitlines()
    code, megabytes = map(int, told.split())
    return Run(name, code, megabytes, said[-1] if said else "")
