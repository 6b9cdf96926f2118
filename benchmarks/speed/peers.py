"""Other packages that compact, on the same messages: time, tokens after, human messages kept, promises broken.

Each lives in an environment of its own and works with its defaults; no model is asked. Ours is the preset `balanced`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.peers.histories import history
from benchmarks.retention.environments import NotInstalled
from benchmarks.retention.peers import PEERS, Driven, Peer
from benchmarks.speed.engine_apart import FORMAT
from benchmarks.speed.figures import Figure
from benchmarks.speed.rounds import p50
from benchmarks.speed.stage import Child, Run, child, recorded, say

from offturn_engine.formats import get, parse_all
from offturn_engine.messages import RawMessage

PART = "peers"
WINDOW, SIZE = 200_000, 150_000  # tokens; what a peer is told to keep below, where it can be told
MADE = ((400, 11), (1_000, 11))
RECORDED = ("pi_before-compaction.jsonl", "cc_episodic_long.jsonl")
OTHERS = (
    *(peer for peer in PEERS if peer.name == "hermes-agent"),
    Peer("langchain==1.5.2", "SummarizationMiddleware"),
    Peer("openhands-sdk==1.58.2", "the condenser of its default agent", least=(3, 12)),
    Peer("headroom-ai==0.42.0", "compress"),
)


@dataclass(slots=True)
class Found:
    """Sums over all conversations."""

    seconds: float = 0.0
    tokens: int = 0
    human: int = 0
    broken: int = 0

    def add(self, given: Sequence[RawMessage], shown: Sequence[RawMessage], seconds: float) -> None:
        self.seconds += seconds
        self.tokens += sum(message.tokens for message in parse_all(get(FORMAT), shown))
        self.human += kept(given, shown)
        self.broken += broken(given, shown)


async def run(run: Run) -> None:
    """All figures of the part."""
    given = [history(n, seed) for n, seed in MADE]
    given += [found for file in RECORDED if (found := recorded(file)) is not None]
    said, rounds = sum(kept(one, one) for one in given), run.rounds(5)
    tokens = sum(message.tokens for one in given for message in parse_all(get(FORMAT), one))
    say(f"  {len(given)} conversations, {sum(map(len, given))} messages, {said} of humans")
    with (
        tempfile.TemporaryDirectory() as folder,
        child([sys.executable, "-m", "benchmarks.speed.engine_apart"]) as apart,
    ):
        ours = _of(given, partial(_ours, apart, Path(folder)), rounds)
    for peer in OTHERS:
        try:
            driven = Driven(peer)
        except NotInstalled as why:
            run.skip(f"peers, {peer.name}", str(why))
            continue
        try:
            theirs = _of(given, partial(_theirs, driven), rounds)
        except SystemExit as why:  # its process is gone
            run.skip(f"peers, {peer.name}", str(why))
            continue
        driven.end()
        _figures(run, peer.package.replace("==", " "), ours, theirs, said, tokens, rounds)


def kept(given: Sequence[RawMessage], shown: Sequence[RawMessage]) -> int:
    """How many of the messages that humans wrote stand word for word in what is shown."""
    text = "\n".join(message.text for message in parse_all(get(FORMAT), shown))
    return sum(message.text in text for message in parse_all(get(FORMAT), given) if message.origin == "human")


def broken(given: Sequence[RawMessage], shown: Sequence[RawMessage]) -> int:
    """Places that a provider refuses and did not before; and one where the last message is not the last any more."""
    fmt = get(FORMAT)
    before = {problem.rule for problem in fmt.problems(given)}
    found = [problem for problem in fmt.problems(shown) if problem.rule not in before]
    ends = bool(shown) and fmt.parse(shown[-1]).text == fmt.parse(given[-1]).text
    return len(found) + (not ends)


Way = Callable[[Sequence[RawMessage]], tuple[Sequence[RawMessage], float]]


def _of(given: Sequence[Sequence[RawMessage]], way: Way, rounds: int) -> Found:
    found = Found()
    for one in given:
        answers = [way(one) for _ in range(rounds)]
        found.add(one, answers[-1][0], p50([seconds for _, seconds in answers]))
    return found


def _ours(apart: Child, folder: Path, given: Sequence[RawMessage]) -> tuple[Sequence[RawMessage], float]:
    file = folder / f"{id(given)}.json"
    if not file.exists():
        file.write_text(json.dumps(given), encoding="utf-8")
    told = apart.ask({"history": str(file), "window": WINDOW, "way": "shown"})
    return told["messages"], told["cold"]


def _theirs(driven: Driven, given: Sequence[RawMessage]) -> tuple[Sequence[RawMessage], float]:
    driven.begin([given])
    return driven.at(SIZE)[0], driven.seconds


def _figures(run: Run, peer: str, ours: Found, theirs: Found, said: int, tokens: int, rounds: int) -> None:
    for name, mine, other, unit in (
        ("CPU", 1000 * ours.seconds, 1000 * theirs.seconds, "ms"),
        (f"tokens after, of {tokens:,}", ours.tokens, theirs.tokens, ""),
        (f"human messages word for word, of {said}", ours.human, theirs.human, ""),
        ("promises broken", ours.broken, theirs.broken, ""),
    ):
        run.add(
            Figure(part=PART, name=f"{peer}: {name}", ours=mine, other=other, unit=unit, against=peer, samples=rounds)
        )
