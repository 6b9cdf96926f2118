"""Rule B1: the preset `hermes-0.19` beside the published package, over the same histories.

    python -m benchmarks.peers.hermes [--json FILE] [--record]

Exit 1 where a cut differs or tokens are more than 5 % apart. Makes `.venv-peers` and installs the package there the first
time (needs a package index). The driver is not part of this repository: without it there is nothing to run, exit 0.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.histories import history
from benchmarks.peers.ours import TOLERANCE, compacted, rough

ROOT = Path(__file__).parents[2]
DRIVER = ROOT.parent / "shared/peers/hermes_drive.py"
VENV = ROOT / ".venv-peers"
RECORDED = ROOT / "tests/policies/hermes_cuts.json"
PACKAGE = "hermes-agent==0.19.0"
PRESET = "hermes-0.19"

THEIRS = [(200_000, n, seed) for n in (100, 200, 400, 1_000) for seed in (3, 7, 11, 19)]
THEIRS += [(128_000, 400, 7), (128_000, 1_000, 3), (200_000, 2_000, 7), (1_000_000, 1_000, 7), (1_000_000, 2_000, 3)]
OWN = [(200_000, n, seed) for n in (150, 400, 1_000) for seed in (1, 2, 3, 4)]
OWN += [(128_000, 300, 5), (128_000, 700, 6), (200_000, 60, 7), (1_000_000, 1_500, 8)]


@dataclass(frozen=True, slots=True)
class Row:
    """One history. Tokens by the package's own estimate; `again`: after a second compaction; `summary`: characters of each.

    None: no compaction.
    """

    source: str
    window: int
    n: int
    seed: int
    messages: int
    before: int
    summary: int
    head: int
    cut: int
    after: int
    again: int
    our_head: int | None
    our_cut: int | None
    our_after: int | None
    our_again: int | None

    @property
    def holds(self) -> bool:
        same = (self.our_head, self.our_cut) == (self.head, self.cut)
        return same and _near(self.our_after, self.after) and _near(self.our_again, self.again)


@dataclass(frozen=True, slots=True)
class Case:
    source: str
    window: int
    n: int
    seed: int
    messages: list[Any]


def main(arguments: Sequence[str]) -> int:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.hermes", description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.relative_to(ROOT)} for the test of B1")
    options = parser.parse_args(arguments)
    if not DRIVER.exists():
        print(f"skipped: there is no {DRIVER.relative_to(ROOT.parent)} beside this checkout")
        return 0
    rows = list(compare(peer_python()))
    print("\n".join(table(rows)))
    figures = [{**asdict(row), "holds": row.holds} for row in rows]
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if options.record:
        record([figure for figure in figures if figure["source"] == "own"])
    holding = sum(row.holds for row in rows)
    print(f"B1 holds for {holding} of {len(rows)} histories")
    return 0 if holding == len(rows) else 1


def record(figures: Sequence[dict[str, Any]]) -> None:
    """What the package did with our own histories, for the test that runs without it."""
    kept = ("window", "n", "seed", "before", "summary", "head", "cut", "after")
    lines = [json.dumps({key: figure[key] for key in kept}) for figure in figures]
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def peer_python() -> Path:
    """The interpreter of the package's virtual environment, made where it is missing."""
    python = VENV / "bin/python"
    marker = VENV / ".installed"
    if not marker.exists() or marker.read_text() != PACKAGE:
        print(f"==> installing {PACKAGE} into {VENV.name} (about a minute)", file=sys.stderr)
        venv.create(VENV, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
        marker.write_text(PACKAGE)
    return python


def compare(python: Path) -> Iterator[Row]:
    """Each history through the package and through the preset."""
    made, summary = driven_histories(python, [(n, seed) for _, n, seed in THEIRS])
    cases = [Case("driver", *wanted, messages) for wanted, messages in zip(THEIRS, made, strict=True)]
    cases += [Case("own", window, n, seed, history(n, seed)) for window, n, seed in OWN]
    lengths = [(max(20, len(case.messages) // 4), 99) for case in cases]  # what the driver lets follow
    more, _ = driven_histories(python, lengths)
    for case, following in zip(cases, more, strict=True):
        yield _row(case, driven(python, case), following[1:], summary)


def _row(case: Case, theirs: dict[str, Any], more: list[Any], summary: int) -> Row:
    before = rough(case.messages)
    if before != theirs["tokens_before"]:
        raise SystemExit(f"the package measures {theirs['tokens_before']} tokens, `rough` {before}: mend `rough`")
    cut, again = compacted(case.messages, preset=PRESET, window=case.window, summary=summary, more=more)
    return Row(
        source=case.source,
        window=case.window,
        n=case.n,
        seed=case.seed,
        messages=len(case.messages),
        before=before,
        summary=summary,
        head=theirs["head"],
        cut=theirs["messages"] - theirs["tail"],
        after=theirs["tokens_after"],
        again=theirs["second_tokens_after"],
        our_head=None if cut is None else cut.head,
        our_cut=None if cut is None else cut.tail,
        our_after=None if cut is None else cut.after,
        our_again=again,
    )


def driven_histories(python: Path, wanted: Sequence[tuple[int, int]]) -> tuple[list[list[Any]], int]:
    """The driver's own histories for (messages, seed), and the characters of its summary."""
    command: list[str | Path] = [python, Path(__file__).with_name("in_venv.py"), DRIVER, json.dumps(wanted)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found["histories"], found["summary"]


def driven(python: Path, case: Case) -> dict[str, Any]:
    """What the driver reports of one history."""
    with tempfile.TemporaryDirectory() as folder:
        given, told = Path(folder) / "history.json", Path(folder) / "report.json"
        given.write_text(json.dumps(case.messages), encoding="utf-8")
        command: list[str | Path] = [
            python,
            DRIVER,
            "--file",
            given,
            "--ctx",
            str(case.window),
            "--reps",
            "1",
            "--json",
            told,
        ]
        subprocess.run(command, check=True, capture_output=True)
        [report] = json.loads(told.read_text(encoding="utf-8"))
    return dict(report)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Package and preset side by side."""
    yield f"{'':6} {'window':>9} {'n':>5} {'seed':>4} {'before':>8} | {'package':>9} {'ours':>9} | {'after':>7} {'ours':>7} {'ratio':>6} | {'again':>7} {'ours':>7} {'ratio':>6} | B1"
    for row in rows:
        ours = f"{row.our_head}-{row.our_cut}" if row.our_cut is not None else "none"
        yield (
            f"{row.source:6} {row.window:>9,} {row.n:>5} {row.seed:>4} {row.before:>8,} | {row.head:>3}-{row.cut:<5} {ours:>9} | "
            f"{row.after:>7,} {_shown(row.our_after, row.after)} | {row.again:>7,} {_shown(row.our_again, row.again)} | "
            f"{'holds' if row.holds else 'BROKEN'}"
        )


def _near(ours: int | None, theirs: int) -> bool:
    return ours is not None and abs(ours - theirs) <= TOLERANCE * theirs


def _shown(ours: int | None, theirs: int) -> str:
    return f"{'-':>7} {'-':>6}" if ours is None else f"{ours:>7,} {ours / theirs:>6.3f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
