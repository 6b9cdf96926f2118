"""How fast offturn is, beside what it is compared with, in one run on one machine.

    python -m benchmarks.speed [--only turn,doorbell] [--quick] [--json FILE] [--plot FILE] [--page]

Prints one table: figure, offturn, peer or limit, ratio, target, result. Exit 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pathlib import Path

from benchmarks.speed.chart import draw
from benchmarks.speed.figures import held, table, verdict
from benchmarks.speed.machine import Machine
from benchmarks.speed.page import PAGE, PICTURE, RESULTS, demanded, merged, page
from benchmarks.speed.stage import Run, say

PARTS = ("turn", "doorbell", "engine", "loop", "worker", "bytes", "summaries", "peers")
MODULES: Mapping[str, str] = {"bytes": "stored"}  # the name of a builtin


def main(arguments: list[str]) -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="a fifth of the rounds: to see that all of it runs")
    parser.add_argument("--json", type=Path, help="write every figure there")
    parser.add_argument("--plot", type=Path, help="draw the ratios there, .svg or .png")
    parser.add_argument(
        "--page",
        action="store_true",
        help=f"put these figures into {RESULTS.name} and write {PAGE.name} and {PICTURE.name}",
    )
    given = parser.parse_args(arguments)
    wanted = [name for name in given.only.split(",") if name]
    if unknown := [name for name in wanted if name not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}: use {', '.join(PARTS)}")
    found = asyncio.run(_run(wanted, quick=given.quick))
    print("\n".join(table(found["figures"])))
    for name, why in found["skipped"].items():
        print(f"{name}: skipped, {why}")
    print(found["machine"].told)
    text = {**found, "machine": found["machine"].to_json(), "figures": [one.to_json() for one in found["figures"]]}
    if given.json:
        given.json.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    if given.page:
        RESULTS.write_text(json.dumps(merged(text), indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(), encoding="utf-8")
        draw(demanded(), PICTURE)
    if given.plot:
        draw(found["figures"], given.plot)
    print(verdict(found["figures"], found["failed"]))
    return 0 if held(found["figures"], found["failed"]) else 1


async def _run(wanted: list[str], *, quick: bool) -> dict[str, object]:
    run, machine = Run(quick=quick), Machine.looked_at(quick=quick)
    seconds: dict[str, float] = {}
    for name in wanted:
        say(f"==> {name}")
        began = time.perf_counter()
        part: Callable[[Run], Awaitable[None]] = import_module(f"benchmarks.speed.{MODULES.get(name, name)}").run
        try:
            await part(run)
        except Exception as error:  # noqa: BLE001 -- the figures of the other parts are worth having
            traceback.print_exc()
            run.fail(name, error)
        seconds[name] = time.perf_counter() - began
        say(f"  {seconds[name]:.0f} s")
    return {
        "machine": machine.after(),
        "parts": wanted,
        "seconds": seconds,
        "figures": run.figures,
        "skipped": run.skipped,
        "failed": run.failed,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
