"""What the wheel holds: five uniquely named packages, with their data, and what an installer reads."""

from __future__ import annotations

import tomllib
import zipfile
from configparser import ConfigParser
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.packaging.conftest import SITE, Run
from tests.packaging.sources import PACKAGES, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_top_level_names_are_ours_alone(wheel: Path) -> None:
    top = {name.split("/")[0] for name in _names(wheel)}
    assert {name for name in top if not name.endswith(".dist-info")} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_of_a_package_is_inside(wheel: Path, package: str) -> None:
    folder = ROOT / PACKAGES[package]
    files = {
        path.relative_to(folder.parent).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"  # other processes write there, under names of a moment
    }
    inside = {name for name in _names(wheel) if name.startswith(f"{package}/")}
    assert files == inside
    assert f"{package}/py.typed" in inside


def test_data_files_are_inside(wheel: Path) -> None:
    names = set(_names(wheel))
    scripts = {"record", "request", "claim", "renew", "commit", "finish", "adopt", "rollback", "lib", "due"}
    assert {f"offturn/store/lua/{name}.lua" for name in scripts} <= names
    data = {"offturn/ring.lua", "offturn_config/presets/balanced.toml", "offturn_worker/reporting/report.html"}
    assert data <= names


def test_metadata_says_what_pyproject_says(unpacked: Path, required: list[Requirement]) -> None:
    [folder] = unpacked.glob("*.dist-info")
    metadata = message_from_bytes((folder / "METADATA").read_bytes())
    assert (metadata["Name"], metadata["Version"]) == (PROJECT["name"], PROJECT["version"])
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "Apache License" in (folder / "licenses/LICENSE").read_text()
    assert {r.name for r in required if r.marker is None} == {Requirement(d).name for d in PROJECT["dependencies"]}
    assert set(metadata.get_all("Provides-Extra", [])) == {
        "archive",
        "embedded",
        "http",
        "worker",
        "plot",
        "otel",
        "local",
    }
    entries = ConfigParser()
    entries.read(folder / "entry_points.txt")
    assert dict(entries["console_scripts"]) == {"offturn": "offturn.__main__:main"}


def test_every_module_imports_from_the_wheel(unpacked: Path, run: Run, tmp_path: Path) -> None:
    names = []
    for path in sorted(unpacked.rglob("*.py")):
        if path.parent.name == "adapters" and path.name == "hermes.py":  # needs Hermes Agent's own environment
            continue
        parts = path.relative_to(unpacked).with_suffix("").parts
        if parts[-1] != "__main__":
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\n"
    code += f"for name in {list(PACKAGES)!r}: assert sys.modules[name].__file__.startswith({str(unpacked)!r}), name"
    done = run("-W", "error", "-c", code, *names, path=[unpacked, SITE], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_command_line_runs_from_the_wheel(unpacked: Path, run: Run, tmp_path: Path) -> None:
    done = run("-m", "offturn", "policies", "--json", path=[unpacked, SITE], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "balanced" in done.stdout


def test_lock_files_hold_what_they_are_for() -> None:
    locks = {
        name: _locked(ROOT / name)
        for name in ("requirements.lock", "requirements-dev.lock", "requirements-hermes.lock")
    }
    extras = PROJECT["optional-dependencies"]
    shipped = {Requirement(line).name for line in (*PROJECT["dependencies"], *extras["embedded"], *extras["worker"])}
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    assert shipped <= set(locks["requirements.lock"])
    for name, groups_in in {
        "requirements-dev.lock": ("dev", "adapters"),
        "requirements-hermes.lock": ("hermes",),
    }.items():
        assert {Requirement(line).name for group in groups_in for line in groups[group]} <= set(locks[name])
    for name, version in locks["requirements.lock"].items():
        assert locks["requirements-dev.lock"][name] == version, f"{name}: tests run with another version than ships"


def _locked(lock: Path) -> dict[str, str]:
    pinned = [line.split(";")[0].rstrip(" \\") for line in lock.read_text().splitlines() if "==" in line]
    return dict(line.split("==") for line in pinned if not line.startswith(" "))
