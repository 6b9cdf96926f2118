"""The build stage of the Dockerfile, carried out in a folder: no container engine is needed to see that it works.

`python -m tests.k8s.image FOLDER` takes the steps that ask a package index, which come first; a test takes the others.
Two things differ from a build by an engine: the interpreter is this one, and the base image's system files are not there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.packaging.sources import ROOT

TEXT = (ROOT / "Dockerfile").read_text()


@dataclass(frozen=True, slots=True)
class Stage:
    """From one FROM to the next: its base, and its instructions as (name, rest of the line)."""

    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all_of(self, name: str) -> list[str]:
        return [rest for instruction, rest in self.steps if instruction == name]


def stages(text: str = TEXT) -> list[Stage]:
    """What stands before the first FROM, and each stage."""
    found = [Stage("")]
    for line in text.replace("\\\n", " ").splitlines():
        name, _, rest = line.strip().partition(" ")
        if name == "FROM":
            found.append(Stage(rest))
        elif name and not name.startswith("#"):
            found[-1].steps.append((name, rest))
    return found


def split(stage: Stage) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The steps to the last that asks an index, and the rest."""
    last = max(i for i, (name, rest) in enumerate(stage.steps) if name == "RUN" and "--require-hashes" in rest)
    return stage.steps[: last + 1], stage.steps[last + 1 :]


def carry_out(steps: Sequence[tuple[str, str]], root: Path) -> None:
    """The steps, with `root` for `/`; what RUN installs into the build image goes into an environment of its own."""
    if not (root / "build/bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", root / "build"], check=True)
    for name, rest in steps:
        if name == "RUN":
            command = rest.replace("/opt/", f"{root}/opt/")
            subprocess.run(command, shell=True, cwd=root / "src", env=_environment(root), check=True)
        elif name == "COPY":
            *sources, target = rest.split()
            _copy(sources, root / "src" / target)


def _environment(root: Path) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "http", "no_proxy", "SSL"))}
    return {**kept, "PATH": f"{root}/build/bin:{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/")}


def _copy(sources: Sequence[str], target: Path) -> None:
    for source in sources:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / source, target)


def main(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    (root / "src").mkdir(parents=True)
    first, _ = split(stages()[1])
    carry_out(first, root.resolve())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
