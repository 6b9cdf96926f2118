"""The recorded session that the demonstration plays."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

from offturn_engine.messages import RawMessage

FOLDER = files("offturn_worker.demo") / "recording"


@dataclass(frozen=True, slots=True)
class Phase:
    """`after`: index of the phase's last message; `note`: what the host says about it."""

    after: int
    note: str


@dataclass(frozen=True, slots=True)
class Recording:
    """openai-chat messages without the system prompt, and the constraints a human stated in them."""

    system: str
    messages: tuple[RawMessage, ...]
    constraints: tuple[str, ...]
    phases: tuple[Phase, ...]


def recording() -> Recording:
    """Read the package's data."""
    meta = json.loads((FOLDER / "meta.json").read_text(encoding="utf-8"))
    lines = (FOLDER / "messages.jsonl").read_text(encoding="utf-8").splitlines()
    return Recording(
        system=meta["system"],
        messages=tuple(json.loads(line) for line in lines if line),
        constraints=tuple((FOLDER / "constraints.txt").read_text(encoding="utf-8").splitlines()),
        phases=tuple(Phase(phase["after"], phase["note"]) for phase in meta["phases"]),
    )
