"""Plays a writer's send log again: what it had on the session's path at every moment. Standard library only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.faults.kit.evidence import Line, Story


@dataclass(slots=True)
class Played:
    """The state of one writer after some lines. `path`: digests on the path, oldest first; `sure`: all of it is known.

    `left`: when messages left the path, as the store had acknowledged. `ever`: acknowledged in this life; `order`: place of every message this writer sent; `seqs`: what it was told.
    """

    life: int = 1
    path: list[str] = field(default_factory=list)
    flying: dict[int, Line] = field(default_factory=dict)
    ever: set[str] = field(default_factory=set)
    left: dict[str, float] = field(default_factory=dict)
    redacted: set[str] = field(default_factory=set)
    replaced: dict[str, str] = field(default_factory=dict)  # by what: it is redacted with it
    moved: set[str] = field(default_factory=set)  # lost by the server and sent again: their seqs are no one value
    order: dict[str, int] = field(default_factory=dict)
    seqs: dict[str, int] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    sure: bool = True
    seen: Counter[str] = field(default_factory=Counter)

    def take(self, line: Line) -> None:
        """One line more."""
        match line["e"]:
            case "send":
                self.flying[line["k"]] = line
                for h in line["hs"]:
                    self.order.setdefault(h, len(self.order))
            case "rewind" | "amend" | "purge" | "redact":
                self.flying[line["k"]] = line
            case "ack":
                self._acknowledged(self.flying.pop(line["k"]), line)
            case "missing":
                self.path = [h for h in self.path if h not in set(line["hs"])]
                self.moved.update(line["hs"])
            case "gave up" if line["k"] in self.flying:
                self.unsure.update(self.flying.pop(line["k"])["hs"])
            case "unexpected" if line.get("k") in self.flying:
                self.unsure.update(self.flying.pop(line["k"]).get("hs", ()))
            case "ended":
                self._born()

    def _acknowledged(self, what: Line, line: Line) -> None:
        match what["e"]:
            case "send":
                self.path += what["hs"]
                self.ever.update(what["hs"])
                self._told(what["hs"], line.get("seqs") or ())
            case "rewind":
                start = self.path.index(what["keep"]) + 1
                for h in self.path[start:]:
                    self.left[h] = line["t"]
                del self.path[start:]
            case "amend":
                self.path[self.path.index(what["old"])] = what["new"]
                self.ever.add(what["new"])
                self.replaced[what["new"]] = what["old"]
                self.left[what["old"]] = line["t"]
                self.order[what["new"]] = self.order[what["old"]]
                self._told([what["new"]], line.get("seqs") or ())
            case "redact":
                self.path.remove(what["h"])
                version: str | None = what["h"]
                while version is not None:
                    self.redacted.add(version)
                    version = self.replaced.get(version)
                self.left[what["h"]] = line["t"]
            case "purge":
                self._born()

    def _told(self, hs: list[str], seqs: Any) -> None:
        for h, seq in zip(hs, seqs, strict=False):
            if seq is not None:
                self.seqs[h] = seq

    def _born(self) -> None:
        self.life += 1
        for known in (self.path, self.ever, self.redacted, self.replaced, self.moved, self.seqs, self.unsure):
            known.clear()

    @property
    def sending(self) -> list[str]:
        """On its way: it may be there or not."""
        return [h for line in self.flying.values() if line["e"] == "send" for h in line["hs"]]

    @property
    def touched(self) -> set[str]:
        """Messages whose place is being changed right now."""
        names = ("keep", "old", "new", "h")
        return {line[name] for line in self.flying.values() for name in names if name in line}


def end(story: Story) -> Played:
    """After the last line."""
    played = Played()
    for line in story.lines:
        played.take(line)
    played.sure = not [line for line in played.flying.values() if line["e"] != "send"]
    return played
