"""Where and under which load figures were taken: absolute times mean nothing without it."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """`quick`: with a fifth of the rounds. `before`, `load`: processes that wanted a core, averaged over a minute, at the run's begin and end."""

    day: str
    processor: str
    cores: int
    python: str
    before: float
    load: float
    quick: bool

    @classmethod
    def looked_at(cls, *, quick: bool) -> Self:
        load = os.getloadavg()[0]
        return cls(
            day=datetime.now(UTC).date().isoformat(),
            processor=_processor(),
            cores=os.cpu_count() or 1,
            python=platform.python_version(),
            before=load,
            load=load,
            quick=quick,
        )

    def after(self) -> Self:
        """The same at the end of the run."""
        return replace(self, load=os.getloadavg()[0])

    @property
    def told(self) -> str:
        return (
            f"{self.day}, {self.processor}, {self.cores} cores, Python {self.python}; load {self.before:.1f} before, "
            f"{self.load:.1f} after{', a quick run' if self.quick else ''}"
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
