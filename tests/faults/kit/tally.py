"""Counts what was done to whom and writes it down, with the time of the clock that all processes share."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any


class Tally:
    """Fault events by kind. One line each in `faults.jsonl`; `t` is the system's monotonic clock in seconds."""

    def __init__(self, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self._file = (folder / "faults.jsonl").open("a", encoding="utf-8")

    def add(self, kind: str, **facts: Any) -> None:
        """One fault event that took place."""
        self.counts[kind] += 1
        self.note(kind, **facts)

    def note(self, kind: str, **facts: Any) -> None:
        """Written down, not counted."""
        self._file.write(json.dumps({"t": time.monotonic(), "kind": kind, **facts}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def total(self) -> int:
        """All of them."""
        return self.counts.total()
