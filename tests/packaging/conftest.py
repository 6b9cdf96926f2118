"""The wheel, built once without network, and interpreters that see it and nothing else of this checkout."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Sequence
from email import message_from_bytes
from importlib.metadata import distribution
from pathlib import Path
from typing import TypeAlias

import pytest
from packaging.requirements import Requirement

from tests.packaging.sources import ROOT

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]

SITE = Path(sysconfig.get_path("purelib"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    [found] = target.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installer would copy into site-packages."""
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


@pytest.fixture(scope="session")
def required(unpacked: Path) -> list[Requirement]:
    """The wheel's own requirements, as an installer reads them."""
    [metadata] = unpacked.glob("*.dist-info/METADATA")
    return [Requirement(line) for line in message_from_bytes(metadata.read_bytes()).get_all("Requires-Dist", [])]


@pytest.fixture(scope="session")
def light_site(required: list[Requirement], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that `pip install offturn` brings without an extra, and no others."""
    target = tmp_path_factory.mktemp("light")
    for name in _closure(required):
        for part in {
            file.parts[0] for file in distribution(name).files or () if file.parts[0] not in ("..", "__pycache__")
        }:
            (target / part).symlink_to(SITE / part)
    return target


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs an interpreter that knows only the folders of `path` and its working directory."""

    def start(*arguments: str, path: Sequence[Path], cwd: Path) -> subprocess.CompletedProcess[str]:
        environment = {"PYTHONPATH": ":".join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(cwd)}
        # -S: site would add this checkout's editable install.
        command = [sys.executable, "-S", *arguments]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=200)

    return start


def _closure(required: list[Requirement]) -> set[str]:
    found: set[str] = set()
    todo = list(required)
    while todo:
        requirement = todo.pop()
        name = requirement.name.lower()
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        todo += [Requirement(line) for line in distribution(name).requires or ()]
    return found
