"""`.ci/run`: its steps, its duration, and an exit code that does not lie. `make` is replaced here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.sources import ROOT

SCRIPT = ROOT / ".ci/run"


def _run(tmp_path: Path, fails: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    calls = tmp_path / "calls"
    fake = tmp_path / "make"
    fake.write_text(f'#!/bin/sh\necho "$@ $CI" >> {calls}\ncat\n[ "$1" != "{fails}" ] || exit 7\n')
    fake.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    return done, calls.read_text().splitlines()


def test_it_runs_every_step_and_says_how_long_it_took(tmp_path: Path) -> None:
    done, calls = _run(tmp_path, fails="nothing")
    assert done.returncode == 0, done.stderr
    assert calls == ["setup true", "hermes true", "k8s true", "browser true", "lint true", "test true"]
    assert re.fullmatch(r"ci: \d+ s", done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("fails", "reached"), [("setup", 1), ("hermes", 2), ("k8s", 3), ("browser", 4), ("lint", 5), ("test", 6)]
)
def test_it_fails_where_a_step_fails(tmp_path: Path, fails: str, reached: int) -> None:
    done, calls = _run(tmp_path, fails)
    assert done.returncode == 7
    assert len(calls) == reached
    assert f"{fails} failed with exit code 7" in done.stderr
    assert re.fullmatch(r"ci: \d+ s", done.stdout.splitlines()[-1])


DRAWN_TWICE = """
import tests.conftest
from hypothesis import given, strategies as st

def drawn():
    found = []

    @given(st.text() | st.integers())
    def draw(value):
        found.append(value)

    draw()
    return found

first = drawn()
import offturn_http.app, offturn_worker.cli.main
assert len(first) > 50
assert drawn() == first
"""


def test_the_same_examples_are_drawn_whatever_was_loaded_before() -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "CI": "true"}
    command = [sys.executable, "-c", DRAWN_TWICE]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr


def test_the_steps_are_lint_types_contracts_and_all_tests() -> None:
    makefile = (ROOT / "Makefile").read_text()
    lint, test = (makefile.split(f"\n{target}: setup\n")[1].split("\n\n")[0] for target in ("lint", "test"))
    assert [
        tool for tool in ("ruff check .", "ruff format --check .", "mypy", "lint-imports") if tool not in lint
    ] == []
    assert "pytest" in test
    assert "--durations=5" in test
    assert "tests/" not in test
