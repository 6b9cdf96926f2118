"""What `make` says, and where: stdout is for what was asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packaging.sources import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose interpreter and commands do nothing but say that they ran."""
    for name in ("Makefile", "requirements-dev.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    commands = tmp_path / ".venv/bin"
    commands.mkdir(parents=True)
    for name in ("python", "offturn"):
        (commands / name).write_text('#!/bin/sh\necho "ran $*"\n')
        (commands / name).chmod(0o755)
    return tmp_path


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", f"PYTHON={checkout}/.venv/bin/python", *arguments]
    outer = ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "ARGS")  # of `make test ARGS=...`, which runs this
    env = {name: value for name, value in os.environ.items() if name not in outer}
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=120, env=env)


def test_setting_up_speaks_on_stderr(checkout: Path) -> None:
    done = make(checkout, "demo", "ARGS=--json")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["ran demo --json"]
    assert "making .venv" in done.stderr


def test_all_tests_say_how_long_they_take(checkout: Path) -> None:
    done = make(checkout, "test")
    part = make(checkout, "test", 'ARGS=tests/engine -k "prune and not x"')

    assert "about 9 minutes on two cores" in done.stderr
    assert "about" not in part.stderr
    assert part.stdout.splitlines()[-1].endswith("tests/engine -k prune and not x")
