"""The lines of README's section on HTTP do what they say, as they are written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from offturn_config.settings import HttpSettings
from tests.acceptance.command import SECONDS, environment
from tests.http.serving import served
from tests.packaging.sources import ROOT

SECTION = (ROOT / "README.md").read_text().split("## From any language: HTTP")[1].split("\n## ")[0]
[LINES] = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
SHIPPED = "http://127.0.0.1:8700"
CURL = shutil.which("curl")
UNTIL_AN_EVENT = """
import subprocess, sys
curl, *arguments = sys.argv[1:]
if "-m" not in arguments:
    sys.exit(subprocess.call([curl, *arguments]))
at = arguments.index("-m")
del arguments[at : at + 2]
with subprocess.Popen([curl, *arguments], stdout=subprocess.PIPE, text=True) as streaming:
    for line in streaming.stdout:
        print(line, end="")
        if line.startswith("event: "):
            streaming.kill()
            sys.exit(28)
sys.exit(streaming.returncode)
"""
"""A stream is read until an event has come, not for a second: on a busy machine none comes in one."""


@pytest.mark.skipif(CURL is None, reason="curl is not installed")
def test_the_lines_work_as_written(valkey_url: str, tenant: str, tmp_path: Path) -> None:
    (tmp_path / "curl.py").write_text(UNTIL_AN_EVENT)
    commands = {"offturn": "-m offturn", "curl": f'"{tmp_path}/curl.py" "{CURL}"'}
    for name, given_first in commands.items():
        (tmp_path / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {given_first} "$@"\n')
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    given = {"OFFTURN_STORE_URL": valkey_url, "OFFTURN_TENANT": tenant, "PATH": path, "no_proxy": "127.0.0.1"}
    assert SHIPPED in LINES
    with served(valkey_url) as service:
        text = "set -eu\n" + LINES.replace(SHIPPED, service.url).replace("curl -sS", "curl -sS --fail-with-body")
        done = subprocess.run(
            ["bash", "-c", text], env=environment(given), capture_output=True, text=True, timeout=SECONDS, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "curl:" not in done.stderr
    assert '"recorded":[0,0]' in done.stdout
    assert '"recorded":[1,1]' in done.stdout
    assert '"request":1' in done.stdout
    assert "\nevent: " in done.stdout
    assert '"hits":[{' in done.stdout


def test_the_service_is_where_the_lines_look_for_it() -> None:
    host, port = (HttpSettings.model_fields[name].default for name in ("http_host", "http_port"))
    assert f"http://{host}:{port}" == SHIPPED
