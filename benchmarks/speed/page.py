"""docs/benchmarks.md and its picture, made from results.json and causes.toml: `make bench ARGS=--page`. A test compares them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.speed.figures import COLUMNS, Figure
from benchmarks.speed.machine import Machine

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs/benchmarks.md"
PICTURE = PAGE.with_suffix(".svg")
RESULTS, CAUSES = HERE / "results.json", HERE / "causes.toml"

HEAD = """# Benchmarks

`make bench` takes every figure of this page again and prints them as one table; `make bench ARGS="--only turn"` takes one
part. Each figure is a ratio of two things measured side by side in one run, round by round: absolute times are those of
the machine named under the table, and of its load then. `MISSED` stays in the table, with what a profile found below it.
No test asserts a time. Written by `make bench ARGS=--page` from `benchmarks/speed/results.json`; what survives a
compaction is measured elsewhere (`make bench-retention`), and so are pods under load (`make bench-scale`).

![Each figure's distance from its target, in factors: left of the line it is held, right of it missed](benchmarks.svg)
"""


def merged(found: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of this run beside those that other parts have from an earlier one."""
    old: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"parts": {}}
    for part in found["parts"]:
        if part in found["skipped"]:
            continue
        figures = [one for one in found["figures"] if one["part"] == part]
        named = ((name.partition(", "), why) for name, why in found["skipped"].items())
        left = {name: why for (of, _, name), why in named if of == part}
        took = {"machine": found["machine"], "seconds": found["seconds"][part]}
        old["parts"][part] = {**took, "figures": figures, "left_out": left}
    return old


def demanded() -> list[Figure]:
    """All recorded figures that have a target, in the order of the page."""
    parts = json.loads(RESULTS.read_text(encoding="utf-8"))["parts"]
    told = tomllib.loads(CAUSES.read_text(encoding="utf-8"))
    found = [Figure.from_json(one) for name in told["part"] if name in parts for one in parts[name]["figures"]]
    return [figure for figure in found if figure.target]


def page() -> str:
    """The whole page."""
    parts = json.loads(RESULTS.read_text(encoding="utf-8"))["parts"]
    told = tomllib.loads(CAUSES.read_text(encoding="utf-8"))
    return "\n".join([HEAD, *(line for name in told["part"] if name in parts for line in _part(name, parts, told))])


def _part(name: str, parts: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[str]:
    figures = [Figure.from_json(one) for one in parts[name]["figures"]]
    yield f"## {name.capitalize()}"
    yield f"{told['part'][name].strip()}\n"
    yield from _table(figures)
    took = f"; {parts[name]['seconds']:.0f} s" if "seconds" in parts[name] else ""
    yield f"\n{Machine(**parts[name]['machine']).told}{took}.\n"
    for left, why in parts[name].get("left_out", {}).items():
        yield f"Left out: {left}, {why}.\n"
    missed = {figure.name for figure in figures if figure.result == "MISSED"}
    for cause in told.get("cause", ()):
        if cause["part"] == name and missed & set(cause["figures"]):
            yield f"- **{', '.join(one for one in cause['figures'] if one in missed)}**: {cause['text'].strip()}"
            missed -= set(cause["figures"])
    yield from (f"- **{one}**: not looked into yet." for one in sorted(missed))
    yield ""


def _table(figures: Iterable[Figure]) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|" + "---|" * len(COLUMNS)
    for figure in figures:
        _, *rest = figure.cells()
        cells = [cell.replace("MISSED", "**MISSED**") for cell in rest]
        yield f"| {' | '.join([figure.name, *cells])} |"
