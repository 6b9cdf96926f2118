"""A host whose own modules have the names of our folders: neither side sees the other's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.packaging.conftest import SITE, Run
from tests.packaging.sources import PACKAGES

NAMES = ("config", "worker", "engine", "api_client", "policy", "store", "keys", "settings", "errors", "messages")

MAIN = """
import asyncio, importlib, pkgutil, sys
import offturn, offturn_models, offturn_worker.app
from offturn_config.presets import load

HOST = {names!r}
taken = [name for name in HOST if name in sys.modules]
assert not taken, f"offturn imported the host's {{taken}}"

import config, worker, engine
assert (config.OWNER, worker.OWNER, engine.OWNER) == ("host", "host", "host")
assert load("balanced").name == "balanced"

history = [{{"role": "user", "content": f"question {{i}} " + "long " * 500}} for i in range(40)]
view = offturn.fit(history, format="openai-chat", window=16_000)
assert view.kind == "emergency" and view.tokens <= view.limit, view
client = offturn.CompactionClient.from_url("redis://localhost:1/0")
client.session("s", format="anthropic", window=100_000)
print("ok")
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder with hostile modules: they say whose they are, and break whoever takes one for ours."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("OWNER = 'host'\n__getattr__ = lambda name: 1 / 0\n")
    (tmp_path / "main.py").write_text(MAIN.format(names=NAMES))
    return tmp_path


def _ok(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ok\n")


def test_a_host_keeps_its_own_modules(host: Path, unpacked: Path, run: Run) -> None:
    _ok(run("main.py", path=[unpacked, SITE], cwd=host))


def test_a_host_that_is_run_as_a_module_keeps_them_too(host: Path, unpacked: Path, run: Run) -> None:
    _ok(run("-m", "main", path=[unpacked, SITE], cwd=host))


def test_the_command_line_does_not_import_from_where_it_is_started(host: Path, unpacked: Path, run: Run) -> None:
    done = run("-m", "offturn", "policies", "--json", path=[unpacked, SITE], cwd=host)
    assert done.returncode == 0, done.stderr


def test_the_package_beside_it_must_not_take_a_common_name() -> None:
    assert not set(PACKAGES) & set(NAMES)
