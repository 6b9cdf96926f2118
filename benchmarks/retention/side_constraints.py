"""Fifteen side constraints, of the kinds that get lost: do they survive at the top, in the middle and at the bottom?

Ours are below; with the kit's environment also the fifteen that are published with `conpact`, whose words no rule here
was written for. All fifteen stand together, each as a human message of its own that is answered.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.histories import history
from benchmarks.retention.engine_run import WINDOW, compacted, scaled, text_of
from benchmarks.retention.transcripts import conversation

from offturn_config.presets import load
from offturn_engine.compaction import NOTHING
from offturn_engine.formats import get, parse_all
from offturn_engine.messages import Message, Origin, RawMessage
from offturn_engine.render import render

RATIO = 15.0
STEPS = 14
MESSAGES = 240
RECORDED = ("pi_before-compaction.jsonl", "cc_episodic_long.jsonl", "cc_share_general-tool-calls.jsonl")
PLACES: Mapping[str, float] = {"top": 0.02, "middle": 0.5, "bottom": 0.95}

SIDE: Mapping[str, tuple[str, str, str]] = {
    "action": (
        "Ask me before you delete any branch on the remote.",
        "Leave the folder vendor/legacy exactly as it is.",
        "Run the linter after each edit, and the type checker before each commit.",
    ),
    "information": (
        "Keep the name of our pilot customer out of anything you write.",
        "Our internal host names stay between us, even in error reports.",
        "Do not mention the pricing experiment to anybody on the support team.",
    ),
    "process": (
        "Before you open a pull request, paste its description here first.",
        "Work through one ticket at a time and close it before you start another.",
        "Each new dependency goes through the licence check of the platform team.",
    ),
    "output": (
        "Write every date as year, month, day with dots in between.",
        "End every reply with one line that starts with STATUS.",
        "Show shell commands in fenced blocks of their own.",
    ),
    "preference": (
        "When you compare options, put the cheapest one at the top.",
        "I like British spelling in everything that users will read.",
        "Call me Robin in summaries and in commit trailers.",
    ),
}


@dataclass(frozen=True, slots=True)
class Kept:
    """One haystack and place. lost: constraints that the view no longer holds word for word."""

    where: str
    place: str
    ratio: float
    lost: tuple[str, ...]
    of: int


def ours() -> list[str]:
    """Fifteen, three of each kind."""
    return [constraint for three in SIDE.values() for constraint in three]


def published(python: Path) -> list[str]:
    """The fifteen of `conpact`, from the environment it is installed in."""
    # Its package imports an SDK; the table of constraints needs none.
    code = (
        "import json, runpy, importlib.util as u; from pathlib import Path;"
        "place = Path(u.find_spec('conpact').origin).with_name('constraints.py');"
        "print(json.dumps([c['sc'] if isinstance(c, dict) else c.sc for c in runpy.run_path(str(place))['SCS']]))"
    )
    told = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout
    return [str(constraint) for constraint in json.loads(told)]


def haystacks(
    seed: int, *, quick: bool = False
) -> Iterator[tuple[str, str, Sequence[RawMessage], Mapping[int, Origin]]]:
    """Name, format, messages and declared origins of each history the constraints are put into."""
    yield f"generated, {MESSAGES} messages, seed {seed}", "openai-chat", history(MESSAGES, seed), {}
    for file in RECORDED[1:] if quick else RECORDED:
        if (found := conversation(file)) is not None:
            yield file, found.format, found.messages, found.origins


def kept(constraints: Sequence[str], seed: int, *, quick: bool = False) -> Iterator[Kept]:
    """Every haystack and place, by policy `balanced` without a model, at `RATIO` or more."""
    for where, fmt, raw, origins in haystacks(seed, quick=quick):
        parsed = parse_all(get(fmt), raw, origins)
        starts = [i for i, m in enumerate(parsed) if m.origin == "human" and i] or [len(raw)]
        for place, share in PLACES.items():
            at = min(starts, key=lambda i: abs(i - share * len(raw)))
            path = planted(parsed, raw, fmt, at, constraints)
            yield _tight(where, place, path, fmt, constraints)


def planted(
    parsed: Sequence[Message], raw: Sequence[RawMessage], fmt: str, at: int, constraints: Sequence[str]
) -> list[Message]:
    """The history with the constraints before the message at `at`."""
    made: list[tuple[RawMessage, Origin]] = [(r, m.origin) for r, m in zip(raw, parsed, strict=True)]
    said: list[tuple[RawMessage, Origin]] = []
    for constraint in constraints:
        said.append((get(fmt).user(constraint), "human"))
        said.append(({"role": "assistant", "content": "Understood."}, "assistant"))
    made[at:at] = said
    messages = parse_all(get(fmt), [m for m, _ in made], {i: origin for i, (_, origin) in enumerate(made)})
    return [m.placed(i) for i, m in enumerate(messages)]


def _tight(where: str, place: str, path: Sequence[Message], fmt: str, constraints: Sequence[str]) -> Kept:
    """The largest view that is still `RATIO` times smaller than the history."""
    form = get(fmt)
    before = render(path, NOTHING, form).tokens
    low, high = 0.0, 4 * before / WINDOW
    best: Kept | None = None
    for _ in range(STEPS):
        scale = (low + high) / 2
        policy, limits = scaled(load("balanced"), scale)
        shown = render(path, compacted(path, NOTHING, form, policy, limits), form)
        if shown.tokens * RATIO > before:
            high = scale
            continue
        low = scale
        text = text_of(shown.messages)
        lost = tuple(c for c in constraints if json.dumps(c, ensure_ascii=False)[1:-1] not in text)
        best = Kept(where, place, before / shown.tokens, lost, len(constraints))
    return best or Kept(where, place, 0.0, tuple(constraints), len(constraints))
