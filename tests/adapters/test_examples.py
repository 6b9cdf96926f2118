"""Every example runs as its first lines say: without a key, a network, or a warning."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.conftest import EXAMPLES

# In the two loops the second view is six messages long when generation 2 is made after the 14th turn (the summary, the
# answer behind it, two turns), and the 15th turn adds two. The turn follows from the usage that the fake model reports:
# what assistants said is part of it.
TOLD = {
    "anthropic_loop": "30 messages, 8 in generation 2",
    "compacting_agent": "21 messages before, 11 two turns later",
    "gateway_bot": "bob: 61 messages, generation",
    "langchain_agent": "30 messages in the state, generation",
    "openai_agents_session": "30 items recorded",
    "openai_loop": "30 messages, 8 in generation 2",
    "pydantic_ai_agent": "30 messages, generation",
    "recalling_agent": "in the view: False, given back: True",
    "write_back": "Generation 1 is in the table.",
}
SECONDS = 600
PATIENT = Path(__file__).parents[1] / "patient.py"
BY_HERMES = "hermes_agent"  # has a test of its own


def test_each_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*TOLD, BY_HERMES}


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("name", TOLD)
def test_it_runs(name: str, tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, "-P", str(PATIENT), str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert TOLD[name] in done.stdout
