"""Record the demo's session: play the story in `demo_story/` and keep what the tools really answered.

    .venv/bin/python benchmarks/record_demo.py [--out DIR]

A scripted agent works on a scratch copy of this repository into which a small bug is planted first. Its words and the
human's are written by hand; every tool result is the real output of a real command, with machine paths made relative.
Each call names the exit code the story needs, so that a recording that contradicts its story is never written.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import string
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo_story.tools import PRIMARY, TOOLS, Workshop

ROOT = Path(__file__).resolve().parents[1]
STORY = ROOT / "benchmarks" / "demo_story"
OUT = ROOT / "worker" / "offturn_worker" / "demo" / "recording"
COPIED = ("pyproject.toml", ".gitignore", "api_client", "config", "engine", "worker")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "recording")
DAY = "2026-11-30"  # of the story: commits of the agent carry it, those of the human are a week older
ALPHABET = string.ascii_letters + string.digits


@dataclass
class Recorder:
    """The messages so far, and the numbers that hand-written words may quote."""

    workshop: Workshop
    ids: random.Random = field(default_factory=lambda: random.Random(2))
    messages: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def play(self, steps: list[dict[str, Any]]) -> None:
        """One step: a human message, or what the assistant says, calls, or both."""
        for step in steps:
            if "human" in step:
                self.messages.append({"role": "user", "content": step["human"].strip()})
            else:
                self._assistant(step.get("say", ""), step.get("calls", []))

    def _assistant(self, say: str, calls: list[dict[str, Any]]) -> None:
        text = string.Template(say.strip()).substitute(self.facts)
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        made = [self._call(call) for call in calls]
        if made:
            message["tool_calls"] = [sent for sent, _ in made]
        self.messages.append(message)
        self.messages += [{"role": "tool", "tool_call_id": sent["id"], "content": text} for sent, text in made]

    def _call(self, call: dict[str, Any]) -> tuple[dict[str, Any], str]:
        values = dict(call)
        expected = values.pop("exit", 0)
        tool = next(iter(values))
        arguments = {PRIMARY[tool]: values.pop(tool), **values}
        self.workshop.clock = f"{DAY}T{9 + len(self.messages) // 60:02}:{len(self.messages) % 60:02}:00+0000"
        text, code = self.workshop.run(tool, arguments)
        if code != expected:
            raise SystemExit(f"{tool} {arguments} ended with {code}, the story needs {expected}:\n{text}")
        self._learn(text)
        source = json.dumps(arguments, ensure_ascii=False)
        sent = {"id": self._id(), "type": "function", "function": {"name": tool, "arguments": source}}
        return sent, text

    def _learn(self, text: str) -> None:
        """Counts of the newest test run and the newest commit."""
        if re.search(r"\b\d+ (?:passed|failed)\b.* in [\d.]+s", text):
            for name in ("passed", "failed"):
                found = re.findall(rf"(\d+) {name}", text)
                self.facts[name] = found[-1] if found else "0"
        if commit := re.search(r"^\[main ([0-9a-f]{7,})\]", text, re.MULTILINE):
            self.facts["commit"] = commit[1]

    def _id(self) -> str:
        return "call_" + "".join(self.ids.choices(ALPHABET, k=24))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        repo = Path(scratch) / "repo"
        _copy(repo)
        workshop = Workshop(repo, ROOT / ".venv")
        for command in _planted(repo):
            workshop.clock = command.pop("at")
            workshop.git(**command)
        recorder = Recorder(workshop)
        cast = _read("cast.toml")
        phases = [_phase(recorder, phase) for phase in cast["phase"]]
    _write(options.out, recorder.messages, phases, cast)


def _copy(repo: Path) -> None:
    """The sources without tests: the story has its own, so that what other tests say cannot change it."""
    repo.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, repo / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, repo / name)


def _planted(repo: Path) -> Iterator[dict[str, str]]:
    """Three commits of history, each yielded once its files are there; the last one brings the bug."""
    yield {"at": "2026-11-16T08:30:00+0000", "message": "Import the engine and its configuration"}
    shutil.copytree(STORY / "seed", repo, dirs_exist_ok=True, ignore=LEFT_OUT)
    yield {"at": "2026-11-18T14:05:00+0000", "message": "Add tests and a page about ranges"}
    plant = _read("plant.toml")
    path = repo / plant["path"]
    text = path.read_text(encoding="utf-8")
    if text.count(plant["old"]) != 1:
        raise SystemExit(f"{plant['path']} no longer holds the lines the bug replaces: adapt plant.toml")
    path.write_text(text.replace(plant["old"], plant["new"]), encoding="utf-8")
    yield {"at": "2026-11-24T16:40:00+0000", "message": plant["message"]}


def _phase(recorder: Recorder, phase: dict[str, Any]) -> dict[str, Any]:
    for act in phase["acts"]:
        recorder.play(_read(act)["step"])
    return {"after": len(recorder.messages) - 1, "note": string.Template(phase["note"]).substitute(recorder.facts)}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((STORY / name).read_text(encoding="utf-8"))


def _write(out: Path, messages: list[dict[str, Any]], phases: list[dict[str, Any]], cast: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(m, ensure_ascii=False) + "\n" for m in messages)
    (out / "messages.jsonl").write_text(lines, encoding="utf-8")
    (out / "constraints.txt").write_text("".join(f"{c}\n" for c in cast["constraints"]), encoding="utf-8")
    meta = {"system": cast["system"].strip(), "tools": TOOLS, "phases": phases, "recorded": DAY, "commit": None}
    (out / "meta.json").write_text(json.dumps(meta, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{len(messages)} messages, {len(lines.encode())} bytes -> {out}")


if __name__ == "__main__":
    main()
