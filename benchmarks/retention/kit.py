"""compaction-conformance-kit: its generated corpus and its seeded check, run over offturn's ledger and the kit's own compactors.

The kit lives in `.venv-bench`, made the first time (needs a package index). What it compacts is a session as a host has
one: the first round records the turns, and from the second on the host hands back offturn's own text, to which nothing
was added: offturn recognises it, and reads from its log, never from that text.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.retention.environments import ROOT, python_of

from offturn_engine.formats import get
from offturn_engine.ledger import ledger, render
from offturn_engine.messages import Message

PACKAGES = ("compaction-conformance-kit==0.8.0", "conpact==0.1.0")
PEERS = ("semantic-checklist", "update-aware-checklist", "checklist-carrying", "pinned-rules", "naive-summary")
ROUNDS = 5

Figures = dict[str, Any]


@dataclass(slots=True)
class Session:
    """What offturn knows of one of the kit's sessions."""

    log: tuple[Message, ...] = ()
    text: str = ""

    def compact(self, turns: Sequence[dict[str, str]], budget: int | None) -> str:
        """The ledger within so many characters."""
        if [turn["text"] for turn in turns] != [self.text]:
            self.log = recorded(turns)
        self.text = within(self.log, budget)
        return self.text


def recorded(turns: Sequence[dict[str, str]]) -> tuple[Message, ...]:
    """The turns as messages of openai-chat."""
    fmt = get("openai-chat")
    parsed = (fmt.parse({"role": turn["role"], "content": turn["text"]}) for turn in turns)
    return tuple(message.placed(i) for i, message in enumerate(parsed))


def within(log: Sequence[Message], characters: int | None) -> str:
    """The fullest ledger text of at most so many characters."""
    items = ledger(log)
    if characters is None:
        return render(items, budget=10**6).text
    low, high = 0, characters
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if len(render(items, budget=middle).text) <= characters else (low, middle)
    return render(items, budget=low).text


def runs(wanted: Sequence[Figures]) -> Iterator[Figures]:
    """The kit's figures for each wanted run: compactor, seed (None: the seeded check), cap, strip, rounds."""
    child = subprocess.Popen(
        [kit_python(), Path(__file__).with_name("kit_in_venv.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps(wanted) + "\n")
    child.stdin.flush()
    session = Session()
    for line in child.stdout:
        told = json.loads(line)
        if "figures" in told or "text" in told:
            yield told.get("figures", told)
            continue
        session = Session() if told["round"] == 1 else session
        child.stdin.write(json.dumps({"text": session.compact(told["turns"], told["budget"])}) + "\n")
        child.stdin.flush()
    if child.wait():
        raise SystemExit("the kit ended with an error, see above")


def kit_python() -> Path:
    """The interpreter of the environment of the kit and of `conpact`, made where it is missing."""
    # Without what they need for asking models: neither is asked for that here.
    return python_of(PACKAGES, folder=ROOT / ".venv-bench", alone=True)


def want(compactor: str, seeds: Sequence[int | None], cap: float | None, *, strip: bool) -> list[Figures]:
    """One run per seed."""
    return [{"name": compactor, "seed": seed, "cap": cap, "strip": strip, "rounds": ROUNDS} for seed in seeds]
