"""Equal tokens where nothing was chosen: every recorded transcript of a size, every kind, seeds made of the files' names.

The rule stood before anything was measured: of each file beside this checkout the first conversation, where it has from
`FEWEST` to `MOST` tokens; all that `plants` makes of the seed; the caps in `SHARES`; the mean of the files, of which each
counts the same. Nothing is to be tuned to what comes of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.retention.presets import Score, one_case, planted, total
from benchmarks.retention.transcripts import SHARED, conversation, path_of

FEWEST, MOST = 5_000, 400_000  # tokens before planting
LARGE = 20_000  # from which a transcript is shown among the large ones
SHARES = (0.06, 0.10, 0.15, 0.20)
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """One file at one cap. tokens: before planting; scores: by preset."""

    file: str
    seed: int
    tokens: int
    share: float
    scores: Mapping[str, Score]

    def ahead(self, other: str) -> int:
        """1 where `balanced` keeps more than the other, -1 where it keeps less."""
        ours, theirs = self.scores["balanced"].share, self.scores[other].share
        return (ours > theirs) - (ours < theirs)


def seed_of(file: str) -> int:
    """The seed of a file: of its name alone."""
    return int.from_bytes(hashlib.sha256(file.encode()).digest()[:4])


def files() -> list[str]:
    """The recorded transcripts that the rule takes, by name; none where they are not beside this checkout."""
    found = sorted(path.name for path in SHARED.glob("*.json*"))
    return [file for file in found if FEWEST <= tokens_of(file) <= MOST]


def tokens_of(file: str) -> int:
    """Of the first conversation, 0 where the file holds none."""
    found = conversation(file)
    return 0 if found is None else sum(message.tokens for message in path_of(found))


def outcomes(chosen: Sequence[str]) -> Iterator[Outcome]:
    """Every cap of every file, in the files' order; on all cores."""
    with ProcessPoolExecutor() as pool:
        for made in pool.map(measured, chosen):
            yield from made


def measured(file: str) -> list[Outcome]:
    """All presets over one file."""
    found, seed = conversation(file), seed_of(file)
    if found is None:
        return []
    case = planted(file, found.messages, found.origins, seed, found.format)
    by_cap = one_case(case, SHARES, ROUNDS)
    before = tokens_of(file)
    return [Outcome(file, seed, before, share, scores) for share, scores in zip(SHARES, by_cap, strict=True)]


def mean(found: Sequence[Outcome], preset: str) -> float:
    """Of the files' shares."""
    return sum(one.scores[preset].share for one in found) / max(1, len(found))


def by_kind(found: Sequence[Outcome], preset: str) -> dict[str, float]:
    """The share of each kind, of all files together."""
    score = total(one.scores[preset] for one in found)
    return {kind: score.kept[kind] / n for kind, n in score.planted.items()}
