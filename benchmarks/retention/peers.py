"""Peers from the package index beside our presets: the same messages, the same cap, the same ruler, the same facts.

Each lives in an environment of its own and is driven by `peers_in_venv.py`. What has a size of its own is given the size
whose last view is the largest one within the cap, found by halving as the presets' scale is.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import IO, Any

from benchmarks.retention.engine_run import parts, text_of
from benchmarks.retention.environments import ROOT, NotInstalled, python_of
from benchmarks.retention.presets import FORMAT, Case, Score, count

from offturn_engine.crossing import convert
from offturn_engine.formats import get, parse_all
from offturn_engine.messages import RawMessage

STEPS = 8  # halvings of the size
WIDEST = 8  # caps in a size at most


@dataclass(frozen=True, slots=True)
class Peer:
    """package: as it is installed. folder: of an environment that exists for it anyhow; least: the Python it needs."""

    package: str
    what: str
    folder: Path | None = None
    least: tuple[int, int] = (3, 11)

    @property
    def name(self) -> str:
        return self.package.partition("==")[0]


PEERS = (
    Peer("hermes-agent==0.19.0", "ContextCompressor, its fallback without a model", ROOT / ".venv-peers"),
    Peer("agent-framework-core==1.23.0", "tool groups to lines, then the oldest go"),
    Peer("cutctx==0.1.0", "masks results, then drops the oldest exchanges", least=(3, 12)),
    Peer("langchain-core==1.8.3", "trim_messages: the newest that fit"),
    Peer("tessera-transcript==0.1.0", "the newest that fit, calls with results"),
    Peer("tracegc==0.6.0", "takes out what later states replace; has no size"),
)


@dataclass(frozen=True, slots=True)
class View:
    """What a peer shows: the largest view within the cap, else the smallest it made. raised: errors on the way to it."""

    messages: tuple[RawMessage, ...]
    tokens: int
    within: bool
    raised: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """One score per share; raised: errors it ended in where no view is within a cap, by case."""

    scores: list[Score]
    raised: dict[str, str]


class Driven:
    """A peer's process."""

    def __init__(self, peer: Peer) -> None:
        """Raises NotInstalled."""
        self.seconds = 0.0  # CPU of the last answer
        python = python_of([peer.package], folder=peer.folder, least=peer.least)
        self._child = subprocess.Popen(
            [python, Path(__file__).with_name("peers_in_venv.py"), peer.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def begin(self, slices: Sequence[Sequence[RawMessage]]) -> None:
        """Set the conversation as it grew."""
        self._write({"slices": [list(part) for part in slices]})

    def at(self, size: int) -> tuple[list[RawMessage], list[str]]:
        """What it shows at the end, at a size of its own, and the names of errors it raised."""
        self._write({"size": size})
        told = _pipe(self._child.stdout).readline()
        if not told:
            raise SystemExit(f"a peer ended with {self._child.wait()}: run its command by hand to see why")
        answer = json.loads(told)
        self.seconds = answer["seconds"]
        return list(answer["messages"]), list(answer["raised"])

    def end(self) -> None:
        """Wait until it is gone."""
        self._child.communicate()

    def _write(self, value: Any) -> None:
        pipe = _pipe(self._child.stdin)
        pipe.write(json.dumps(value) + "\n")
        pipe.flush()


def scored(cases: Sequence[Case], shares: Sequence[float], rounds: int) -> Iterator[tuple[Peer, Measured | str]]:
    """Each peer with one score per share of the tokens, or why it is not there. On all cores.

    `failed`: cases whose smallest view is over the cap; nothing of them counts.
    """
    with ProcessPoolExecutor() as pool:
        yield from zip(PEERS, pool.map(_scored, PEERS, repeat(cases), repeat(shares), repeat(rounds)), strict=True)


def _scored(peer: Peer, cases: Sequence[Case], shares: Sequence[float], rounds: int) -> Measured | str:
    try:
        driven = Driven(peer)
    except NotInstalled as why:
        return str(why)
    scores = [Score() for _ in shares]
    raised: dict[str, str] = {}
    for case in cases:
        driven.begin(_grown(case, rounds))
        views = within_each(driven, [int(case.tokens * share) for share in shares])
        for view, score in zip(views, scores, strict=True):
            score.tokens += view.tokens
            score.failed += not view.within
            if view.raised and not view.within:
                raised[case.name] = view.raised[-1]
            count(score, case, text_of(view.messages) if view.within else "")
    driven.end()
    return Measured(scores, raised)


def _grown(case: Case, rounds: int) -> list[list[RawMessage]]:
    """The case in openai-chat, by what each round finds new."""
    raws = convert([m.raw for m in case.path], get(case.format), get(FORMAT)).messages
    path = [m.placed(i) for i, m in enumerate(parse_all(get(FORMAT), raws))]
    ends = [len(part) for part in parts(path, rounds)]
    return [raws[low:high] for low, high in zip([0, *ends], ends, strict=False)]


def within_each(driven: Driven, caps: Sequence[int]) -> list[View]:
    """The fullest view of at most each cap's tokens, by our ruler; the smallest one where there is none."""
    tried: dict[int, View] = {}
    found: list[View] = []
    for cap in caps:
        widest = WIDEST * cap
        low = max((size for size, view in tried.items() if view.tokens <= cap and size < widest), default=0)
        high = min((size for size, view in tried.items() if view.tokens > cap and size > low), default=widest)
        while high - low > widest >> STEPS:
            size = (low + high) // 2
            made, raised = driven.at(size)
            tokens = sum(m.tokens for m in parse_all(get(FORMAT), made))
            tried[size] = view = View(tuple(made), tokens, within=False, raised=tuple(raised))
            low, high = (size, high) if view.tokens <= cap else (low, size)
        fitting = [view for view in tried.values() if view.tokens <= cap]
        best = max(fitting, key=lambda view: view.tokens) if fitting else min(tried.values(), key=lambda v: v.tokens)
        found.append(replace(best, within=bool(fitting)))
    return found


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
