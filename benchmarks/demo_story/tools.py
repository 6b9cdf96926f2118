"""The tools of the recorded agent: each really does what it says, inside the scratch copy."""

from __future__ import annotations

import difflib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 18_000  # characters of one result
SECONDS = 180

PRIMARY = {
    "bash": "command",
    "read_file": "path",
    "edit_file": "path",
    "write_file": "path",
    "grep": "pattern",
    "run_tests": "args",
}
"""The argument that a story's call gives under its tool's name."""


def _tool(name: str, about: str, required: dict[str, str], optional: dict[str, str] | None = None) -> dict[str, Any]:
    both = {**required, **(optional or {})}
    kinds = {key: {"type": "integer" if key in ("offset", "limit") else "string"} for key in both}
    properties = {key: {**kinds[key], "description": text} for key, text in both.items()}
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


TOOLS = [
    _tool("bash", "Run a shell command in the repository.", {"command": "the command line"}),
    _tool(
        "read_file",
        "Read a file with line numbers.",
        {"path": "path in the repository"},
        {"offset": "first line, from 1", "limit": "number of lines"},
    ),
    _tool(
        "edit_file",
        "Replace a text that occurs once in a file.",
        {"path": "path in the repository", "old": "the text to replace", "new": "the text that takes its place"},
    ),
    _tool("write_file", "Create or overwrite a file.", {"path": "path in the repository", "content": "the whole text"}),
    _tool(
        "grep",
        "Search Python files with an extended regular expression.",
        {"pattern": "the expression"},
        {"path": "file or folder, default: the repository"},
    ),
    _tool("run_tests", "Run pytest.", {"args": "arguments of pytest"}),
]


@dataclass
class Workshop:
    """A repository to work in. `clock` is the time its commits get."""

    repo: Path
    venv: Path
    clock: str = ""

    def run(self, tool: str, arguments: dict[str, Any]) -> tuple[str, int]:
        """(the result's text, exit code) of a call."""
        text, code = getattr(self, f"_{tool}")(**arguments)
        return _clip(self._plain(text)), code

    def git(self, message: str) -> None:
        """Commit everything; the first time in a new repository."""
        if not (self.repo / ".git").exists():
            self._shell("git init -q -b main")
        _, code = self._shell(f"git add -A && git commit -q -m {message!r}", author="Mara Ionescu <mara@example.org>")
        assert code == 0, message

    def _bash(self, command: str) -> tuple[str, int]:
        text, code = self._shell(command)
        return f"{text.rstrip()}\n[exit code {code}]".lstrip("\n"), code

    def _run_tests(self, args: str) -> tuple[str, int]:
        return self._bash(f"python -m pytest {args}")

    def _read_file(self, path: str, offset: int = 1, limit: int = 400) -> tuple[str, int]:
        lines = (self.repo / path).read_text(encoding="utf-8").splitlines()
        shown = lines[offset - 1 : offset - 1 + limit]
        more = len(lines) - (offset - 1 + len(shown))
        text = "\n".join(f"{offset + i:5}\t{line}" for i, line in enumerate(shown))
        return text + (f"\n({more} more lines)" if more else ""), 0

    def _grep(self, pattern: str, path: str = ".") -> tuple[str, int]:
        command = ["grep", "-rnE", "--include=*.py", "-e", pattern, path]
        done = subprocess.run(command, cwd=self.repo, capture_output=True, text=True, timeout=SECONDS, check=False)
        lines = sorted(done.stdout.splitlines(), key=lambda line: (line.split(":")[0], int(line.split(":")[1])))
        return "\n".join(lines) or "no matches", done.returncode

    def _edit_file(self, path: str, old: str, new: str) -> tuple[str, int]:
        file = self.repo / path
        text = file.read_text(encoding="utf-8")
        count = text.count(old)
        if count != 1:
            return f"error: the old text occurs {count} times in {path}, nothing was changed", 1
        changed = text.replace(old, new)
        file.write_text(changed, encoding="utf-8")
        diff = difflib.unified_diff(text.splitlines(), changed.splitlines(), path, path, lineterm="", n=2)
        return f"edited {path}\n" + "\n".join(diff), 0

    def _write_file(self, path: str, content: str) -> tuple[str, int]:
        file = self.repo / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return f"wrote {path}: {len(content.splitlines())} lines, {len(content.encode())} bytes", 0

    def _shell(self, command: str, author: str = "Coding Agent <agent@example.org>") -> tuple[str, int]:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.repo,
            env=self._environment(*re.split(" <|>", author)[:2]),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return done.stdout, done.returncode

    def _environment(self, name: str, email: str) -> dict[str, str]:
        """Nothing of this machine's environment, and everything that makes two recordings alike."""
        packages = ("api_client", "config", "engine", "worker")
        paths = ":".join(str(self.repo / package) for package in packages)
        who = {f"GIT_{role}_NAME": name for role in ("AUTHOR", "COMMITTER")}
        mail = {f"GIT_{role}_EMAIL": email for role in ("AUTHOR", "COMMITTER")}
        when = {f"GIT_{role}_DATE": self.clock for role in ("AUTHOR", "COMMITTER")}
        return {
            **who,
            **mail,
            **when,
            "CI": "true",  # hypothesis: no random seed
            "COLUMNS": "110",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
            "HOME": str(self.repo.parent),
            "LC_ALL": "C.UTF-8",
            "MYPYPATH": paths,
            "PATH": f"{self.venv / 'bin'}:/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": paths,
            "TERM": "dumb",
        }

    def _plain(self, text: str) -> str:
        """The text without paths of this machine."""
        for path, name in (
            (self.repo, "repo"),
            (self.venv, ".venv"),
            (self.venv.parent, "repo"),
            (self.repo.parent, "~"),
        ):
            text = text.replace(str(path), name)
        return re.sub(r"(?:/[\w.~-]+)+/lib/(python3\.\d+/)", r"lib/\1", text)


def _clip(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
