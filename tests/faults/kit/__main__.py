"""`python -m tests.faults.kit [--seed N] [--plan full|minute]`: a run, its table, and exit status 1 where it fell short."""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.faults.kit.driver import run
from tests.faults.kit.plans import PLANS


def main() -> int:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="the run's schedule; default: a new one, printed")
    parser.add_argument("--plan", choices=sorted(PLANS), default="full")
    parser.add_argument("--keep", type=Path, default=None, help="folder for what the run leaves behind")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    folder = given.keep or Path(tempfile.mkdtemp(prefix="offturn-faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    plan = PLANS[given.plan]
    print(f"seed {seed} · plan {plan.name} · about {plan.seconds / 60 + plan.takeovers * 0.12:.0f} minutes", flush=True)
    report = asyncio.run(run(plan, seed, folder, lambda text: print(f"  {text}", flush=True)))
    print(report.table())
    missed = report.missed + report.late
    print(f"seed {seed} · {report.seconds:.0f} s · " + ("; ".join(missed) or "everything holds"))
    if missed:
        print(f"what the run left behind: {folder}")
    elif given.keep is None:
        shutil.rmtree(folder)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
