"""`make policy-mutants`: for each rule, its parameter gets another value, and the rule's tests must fail.

`python -m tests.policies.mutate [RULE ...]`. Exit 1 where a mutant survives, a rule has no test, or a test fails unmutated.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from offturn_config import presets
from offturn_config.policy import Policy
from tests.policies.mutants import MUTANTS, Mutant

HERE = Path(__file__).parent
QUIET = ("-q", "-x", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=1")
NOTHING_RAN = pytest.ExitCode.NO_TESTS_COLLECTED


def main(rules: list[str]) -> int:
    """Print what became of each mutant, and `killed n/n`."""
    chosen = [mutant for mutant in MUTANTS if not rules or mutant.rule in rules]
    killed = 0
    for mutant in chosen:
        verdict = _verdict(mutant)
        killed += verdict == "killed"
        print(f"{mutant.rule:4} {mutant.preset}: {mutant.path} = {mutant.value!r}: {verdict}", flush=True)
    print(f"killed {killed}/{len(chosen)}")
    return 0 if killed == len(chosen) else 1


def _verdict(mutant: Mutant) -> str:
    unmutated = _run(mutant.rule)
    if unmutated == NOTHING_RAN:
        return "no test"
    if unmutated:
        return "fails without it"
    with mutated(mutant.preset, mutant.path, mutant.value):
        return "killed" if _run(mutant.rule) == pytest.ExitCode.TESTS_FAILED else "survived"


@contextmanager
def mutated(preset: str, path: str, value: object) -> Iterator[None]:
    """Inside the block the preset has another value. Raises where that is the value it has, or no policy at all."""
    known = presets._preset
    changed = known(preset).override({path: value})
    if changed == known(preset):
        raise ValueError(f"{preset}: {path} is {value!r} already: choose another value")

    def load(name: str) -> Policy:
        return changed if name == preset else known(name)

    presets._preset = load  # type: ignore[assignment]
    try:
        yield
    finally:
        presets._preset = known


def _run(rule: str) -> int:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return pytest.main([str(HERE), "-k", f"test_{rule}_", *QUIET])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
