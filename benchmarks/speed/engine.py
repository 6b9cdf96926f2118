"""What a compaction costs a worker's CPU without a model, beside the compressor of Hermes 0.19 on the same lists.

Ours: plan, prune, the summarizer's masked input, apply with its ledger, and the view. Theirs: the whole of `compress` with
a call that answers at once. Each is measured in a process of its own, in turn. Messages are parsed before: a figure of its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.hermes import DRIVER, driven_histories
from benchmarks.retention.environments import NotInstalled
from benchmarks.speed import counting
from benchmarks.speed.figures import Figure
from benchmarks.speed.rounds import Samples, p50, turned
from benchmarks.speed.stage import Child, Run, child, hermes, recorded, say, size_of

PART = "engine"
SEED, WINDOW, SMALL = 7, 200_000, 32_000
SIZES = (100, 400, 1_000, 10_000)
SCALE = 100_000  # beyond the sizes compared: our growth alone
LONG = 1_000  # messages from which fewer rounds do
REAL = ("pi_before-compaction.jsonl", "cc_episodic_long.jsonl")  # 418,000 and 85,000 tokens
PAGE = 256 * 1024
GROWS = 12.0  # ten times the messages: times the time
HOLDS = 1.5  # ten times the messages: times the memory, for each byte of page, record and view


async def run(run: Run) -> None:
    """All figures of the part."""
    counting.figures(run)
    try:
        python = hermes()
    except NotInstalled as why:
        run.skip(PART, str(why))
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        child([python, Path(__file__).with_name("engine_in_venv.py"), DRIVER]) as peer,
        child([sys.executable, "-m", "benchmarks.speed.engine_apart"]) as ours,
    ):
        stage = _Stage(run, Path(folder), peer, ours)
        sizes = SIZES[:3] if run.quick else SIZES
        _made(python, stage, [(n, SEED) for n in sizes])
        for n in sizes:
            stage.compared(f"{n:,} messages", str(n), rounds=3 if n > LONG else 9)
        for file in REAL:
            if (found := recorded(file)) is not None:
                name = file.partition(".")[0]
                stage.keep(name, found, stage.more(str(SIZES[0])))
                stage.compared(name, name, rounds=5)
        if not run.quick:
            _made(python, stage, [(SCALE, SEED)])
            stage.cold[SCALE] = stage.ask(SCALE, "cold", WINDOW)["cold"]
        stage.scaling()
        stage.memory([n for n in (1_000, 10_000, SCALE) if n in stage.cold])


def _made(python: Path, stage: _Stage, wanted: Sequence[tuple[int, int]]) -> None:
    made, _ = driven_histories(python, wanted)
    more, _ = driven_histories(python, [(max(20, min(len(history), 10_000) // 4), 99) for history in made])
    for (n, _), history, following in zip(wanted, made, more, strict=True):
        stage.keep(str(n), history, following[1:])


@dataclass(slots=True)
class _Stage:
    """cold: CPU seconds of our first compaction, by messages."""

    run: Run
    folder: Path
    peer: Child
    ours: Child
    cold: dict[int, float] = field(default_factory=dict)

    def keep(self, name: str, history: list[Any], more: list[Any]) -> None:
        self._file(name).write_text(json.dumps(history), encoding="utf-8")
        self._file(f"{name}-more").write_text(json.dumps(more), encoding="utf-8")
        say(f"  {name}: {len(history)} messages, {size_of(history) / 1e6:.2f} MB")

    def more(self, name: str) -> list[Any]:
        return list(json.loads(self._file(f"{name}-more").read_text(encoding="utf-8")))

    def ask(self, name: object, way: str, window: int) -> dict[str, float]:
        return self.ours.ask({**self._asked(name, window), "way": way})

    def compared(self, title: str, name: str, *, rounds: int) -> None:
        """Adds the figures of one history, round by round one way after the other."""
        found: dict[str, list[float]] = {}
        ways = {
            "hermes": lambda: self.peer.ask(self._asked(name, WINDOW)),
            "same": lambda: self.ask(name, "same", WINDOW),
            "ledger": lambda: self.ask(name, "ledger", WINDOW),
        }
        for number in range(self.run.rounds(rounds) if rounds > 3 else rounds):
            for way in turned(list(ways), number):
                for key, seconds in ways[way]().items():
                    found.setdefault(key, []).append(seconds)
        self._against_hermes(title, found)
        if name.isdigit():
            self.cold[int(name)] = p50(found["cold"])

    def _against_hermes(self, title: str, found: Samples) -> None:
        for what, ours, other, against, target in (
            ("the same preset", "same", "first", "Hermes 0.19", 1.0),
            ("with our ledger, cold", "cold", "first", "Hermes 0.19", 2.0),
            ("with our ledger, second compaction", "second", "again", "Hermes 0.19, its second", 0.5),
            ("parsing the messages", "parse", "first", "Hermes 0.19, whole", None),
        ):
            self.run.add(
                Figure(
                    part=PART,
                    name=f"{title}, {what}",
                    ours=1000 * p50(found[ours]),
                    other=1000 * p50(found[other]),
                    unit="ms CPU",
                    against=against,
                    target=target,
                    samples=len(found[ours]),
                )
            )

    def scaling(self) -> None:
        """Ten times the messages; the smallest pair in a window that leaves it something to do."""
        small = {n: min(self.ask(n, "cold", SMALL)["cold"] for _ in range(3)) for n in (100, 1_000)}
        for n, spent in ((100, small), (1_000, self.cold), (10_000, self.cold)):
            if 10 * n in spent:
                self.run.add(
                    Figure(
                        part=PART,
                        name=f"{n * 10:,} messages beside {n:,}",
                        ours=1000 * spent[10 * n],
                        other=1000 * spent[n],
                        unit="ms CPU",
                        against="a tenth of the messages",
                        target=GROWS,
                    )
                )

    def memory(self, sizes: Sequence[int]) -> None:
        """What is allocated at once beside the parsed messages, for each byte of a page, the record and the view."""
        shares: dict[int, float] = {}
        for n in sizes:
            told = self.ask(n, "memory", WINDOW)
            least = PAGE + told["record"] + told["view"]
            shares[n] = told["peak"] / least
            self.run.add(
                Figure(
                    part=PART,
                    name=f"{n:,} messages, memory at most",
                    ours=told["peak"] / 1e6,
                    other=least / 1e6,
                    unit="MB",
                    against="a page, the record and the view",
                )
            )
        for n, share in shares.items():
            if n // 10 in shares:
                self.run.add(
                    Figure(
                        part=PART,
                        name=f"{n:,} messages beside {n // 10:,}, memory",
                        ours=share,
                        other=shares[n // 10],
                        unit="bytes for each of these",
                        against="a tenth of the messages",
                        target=HOLDS,
                    )
                )

    def _asked(self, name: object, window: int) -> dict[str, Any]:
        return {"history": str(self._file(name)), "more": str(self._file(f"{name}-more")), "window": window}

    def _file(self, name: object) -> Path:
        return self.folder / f"{name}.json"
