"""What `kubectl apply -k` would send: the rendered objects of overlays, and of the base with components."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from tests.packaging.sources import ROOT

Object: TypeAlias = dict[str, Any]

FOLDER = ROOT / "k8s"
OVERLAYS = sorted(path.name for path in (FOLDER / "overlays").iterdir())
COMPONENTS = sorted(path.name for path in (FOLDER / "components").iterdir())
NEEDS = {"keda-zero": {"keda"}}
"""Components that change what another one adds."""

COMBINATIONS = [
    chosen
    for size in range(len(COMPONENTS) + 1)
    for chosen in combinations(COMPONENTS, size)
    if all(NEEDS.get(name, set()) <= set(chosen) for name in chosen)
]


def _tool() -> list[str]:
    for name, command in (("kubectl", ["kubectl", "kustomize"]), ("kustomize", ["kustomize", "build"])):
        if shutil.which(name):
            return command
    pytest.skip("neither kubectl nor kustomize is installed: the manifests are not rendered")


@cache
def _rendered(folder: Path) -> str:
    done = subprocess.run([*_tool(), str(folder)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def overlay(name: str) -> list[Object]:
    """The objects of an overlay."""
    return list(yaml.safe_load_all(_rendered(FOLDER / "overlays" / name)))


@cache
def _combined(components: tuple[str, ...]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        at = os.path.relpath(FOLDER, here)
        told = {"resources": [f"{at}/base"], "components": [f"{at}/components/{name}" for name in components]}
        (here / "kustomization.yaml").write_text(yaml.safe_dump(told))
        return _rendered(here)


def combination(components: Sequence[str]) -> list[Object]:
    """The objects of the base with these components."""
    return list(yaml.safe_load_all(_combined(tuple(components))))


def every() -> Iterator[tuple[str, list[Object]]]:
    """All overlays and combinations by a name for messages."""
    for name in OVERLAYS:
        yield name, overlay(name)
    for chosen in COMBINATIONS:
        yield "+".join(("base", *chosen)), combination(chosen)


def of_kind(objects: Sequence[Object], kind: str) -> list[Object]:
    return [one for one in objects if one["kind"] == kind]


def named(objects: Sequence[Object], kind: str, name: str = "offturn-worker") -> Object:
    """The one object of that kind and name."""
    [found] = [one for one in of_kind(objects, kind) if one["metadata"]["name"] == name]
    return found


def pods(objects: Sequence[Object]) -> Iterator[tuple[str, Object]]:
    """Every pod template, by the name of what makes pods of it."""
    for one in objects:
        if "template" in one.get("spec", {}):
            yield one["metadata"]["name"], one["spec"]["template"]


def variables(objects: Sequence[Object]) -> dict[str, str]:
    """What a worker's environment holds, but for what differs between pods."""
    [container] = named(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    maps = [source["configMapRef"]["name"] for source in container["envFrom"]]
    given = {name: value for one in maps for name, value in named(objects, "ConfigMap", one)["data"].items()}
    return {**given, **{entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}}
