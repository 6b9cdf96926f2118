"""What the judge reads: the files of a run, parsed. Standard library only; nothing of offturn is imported here."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Line = dict[str, Any]

MEMORY = 4.0  # seconds before a lost last second whose writes may be gone


@dataclass(frozen=True, slots=True)
class Finding:
    """`rule` names what was broken: `lost`, `altered`, `invariant`, `double commit`, `due`, `paid`, `told`, `hang`."""

    rule: str
    session: str
    text: str


@dataclass(slots=True)
class Story:
    """The send log of one writer, in order."""

    session: str
    writer: str
    shared: bool
    lines: list[Line]


@dataclass(slots=True)
class Evidence:
    """Everything a run left behind."""

    stories: list[Story] = field(default_factory=list)
    messages: dict[str, Any] = field(default_factory=dict)  # by digest
    kinds: dict[str, str] = field(default_factory=dict)  # of what a host sent: human, call, result, says
    senders: dict[str, str] = field(default_factory=dict)  # digest -> writer
    faults: list[Line] = field(default_factory=list)
    workers: list[Line] = field(default_factory=list)
    calls: list[Line] = field(default_factory=list)
    keyspace: str = ""

    def of_session(self) -> dict[str, list[Story]]:
        """Stories by session."""
        found: dict[str, list[Story]] = defaultdict(list)
        for story in self.stories:
            found[story.session].append(story)
        return found

    def fault_times(self, kind: str) -> list[float]:
        """When faults of a kind took place."""
        return [fault["t"] for fault in self.faults if fault["kind"] == kind]

    def forgotten(self, t: float) -> bool:
        """May what was acknowledged at this time have gone with a last second that was lost?"""
        return any(lost - MEMORY <= t <= lost for lost in self.fault_times("last second lost"))

    def lost_between(self, start: float, end: float) -> bool:
        """Did the server lose a last second between these times?"""
        low, high = sorted((start, end))
        return any(low - MEMORY <= lost <= high + MEMORY for lost in self.fault_times("last second lost"))


def load(folder: Path) -> Evidence:
    """The files of a run."""
    found = Evidence()
    for path in sorted(folder.glob("send-*.jsonl")):
        lines = list(_lines(path))
        if not lines:
            continue
        first = lines[0]
        found.stories.append(Story(first["s"], first["w"], first["shared"], lines))
        for line in lines:
            if line["e"] == "msg":
                found.messages[line["h"]] = line["m"]
                if "kind" in line:
                    found.kinds[line["h"]] = line["kind"]
                    found.senders[line["h"]] = first["w"]
    found.faults = list(_lines(folder / "faults.jsonl"))
    found.workers = list(_lines(folder / "workers.jsonl"))
    if (folder / "keyspace.txt").exists():
        found.keyspace = (folder / "keyspace.txt").read_text(encoding="utf-8")
    found.calls = list(_lines(folder / "calls.jsonl"))
    return found


def _lines(path: Path) -> Iterator[Line]:
    if not path.exists():
        return
    whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
    for line in whole.splitlines():
        yield json.loads(line)
