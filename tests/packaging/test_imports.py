"""Declared and imported are the same set: no dependency is unused, none is missing, none is in the wrong extra."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.packaging.sources import PACKAGES, ROOT, shipped

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
MODULE_OF = {
    "opentelemetry-api": "opentelemetry",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "genai-prices": "genai_prices",
    "prometheus-client": "prometheus_client",
    "pydantic-settings": "pydantic_settings",
    "python-multipart": "python_multipart",
    "vl-convert-python": "vl_convert",
}


def _modules_of(lines: list[str]) -> set[str]:
    return {MODULE_OF.get(name, name) for name in (Requirement(line).name for line in lines) if name != "offturn"}


BASE = _modules_of(PROJECT["dependencies"])
EMBEDDED = _modules_of(EXTRAS["embedded"])
WORKER = _modules_of(EXTRAS["worker"])
PLOT = _modules_of(EXTRAS["plot"])
OTEL = _modules_of(EXTRAS["otel"])
ARCHIVE = _modules_of(EXTRAS["archive"])
HTTP = _modules_of(EXTRAS["http"])

BROUGHT_BY_BOTH_SDKS = {"httpx2"}  # their transport, whose errors reach us raw

ALLOWED = {
    "offturn_config": BASE,
    "offturn_engine": BASE,
    "offturn": BASE | EMBEDDED | OTEL,
    "offturn_models": BASE | WORKER | BROUGHT_BY_BOTH_SDKS,
    "offturn_worker": BASE | EMBEDDED | WORKER | PLOT | OTEL | ARCHIVE,
    "offturn_http": BASE | WORKER | HTTP,
}
ADAPTERS = "api_client/offturn/adapters"
FRAMEWORKS = {  # what a host of each adapter has installed
    "hermes.py": {"agent"},
    "langchain.py": {"langchain", "langchain_core", "langgraph"},
    "pydantic_ai.py": {"pydantic_ai"},
    "pydantic_ai_messages.py": {"pydantic_ai", "pydantic_core"},
}
FOR_TESTS_OF_HOSTS = "testing"  # offturn.testing may use the runner of the host's tests


@cache
def imported(source: str) -> frozenset[str]:
    """Top-level names of every absolute import of a module, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.split(".")[0])
    return frozenset(names)


def _foreign(path: Path) -> frozenset[str]:
    names = imported(path.read_text()) - set(sys.stdlib_module_names) - set(PACKAGES)
    if path.parent == ROOT / ADAPTERS:
        return names - FRAMEWORKS.get(path.name, set())
    return names - {"pytest"} if FOR_TESTS_OF_HOSTS in path.stem else names


def test_imports_are_found_wherever_they_are() -> None:
    source = "import a.b\nfrom c.d import e\nfrom . import f\ndef g():\n    try:\n        import h\n    finally: ...\n"
    assert imported(source) == {"a", "c", "h"}


@pytest.mark.parametrize("dependency", sorted(BASE | EMBEDDED | WORKER | PLOT | OTEL | ARCHIVE | HTTP))
def test_shipped_code_imports_each_declared_dependency(dependency: str) -> None:
    users = [path for package in PACKAGES for path in shipped(package) if dependency in _foreign(path)]
    assert users, f"{dependency} is declared, and nothing that is shipped imports it"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_is_undeclared(package: str) -> None:
    undeclared = {
        f"{path.relative_to(ROOT)}: {name}" for path in shipped(package) for name in _foreign(path) - ALLOWED[package]
    }
    assert not undeclared, f"not among what installs {package}"


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_adapter_imports_its_framework_and_nobody_else_does(name: str) -> None:
    assert imported((ROOT / ADAPTERS / name).read_text()) >= FRAMEWORKS[name]
    frameworks = set().union(*FRAMEWORKS.values()) - {"pydantic_core"}
    users = {path.name for package in PACKAGES for path in shipped(package) if imported(path.read_text()) & frameworks}
    assert users == set(FRAMEWORKS)


def test_what_draws_is_asked_for_only_where_something_is_drawn() -> None:
    users = [path.name for path in shipped("offturn_worker") if PLOT & _foreign(path)]
    assert users == ["plotting.py"]
    assert "\nimport vl_convert" not in (ROOT / "worker/offturn_worker/plotting.py").read_text()


def test_tracing_is_asked_for_only_where_something_is_traced() -> None:
    users = {path.name: path for package in PACKAGES for path in shipped(package) if OTEL & _foreign(path)}
    assert {name: path.parent.name for name, path in users.items()} == {"tracing.py": "offturn_worker"}
    for package in ("api_client/offturn", "worker/offturn_worker"):
        outside = re.findall(r"^from opentelemetry", (ROOT / package / "tracing.py").read_text(), re.MULTILINE)
        assert outside == []


def test_an_object_store_is_opened_by_workers_that_archive_only() -> None:
    users = [path.name for path in shipped("offturn_worker") if ARCHIVE & _foreign(path)]
    assert users == ["objects.py"]
    assert "\nfrom fsspec" not in (ROOT / "worker/offturn_worker/archive/objects.py").read_text()


def test_settings_alone_read_the_environment() -> None:
    readers = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in shipped(package)
        if re.search(r"\bgetenv\(|\benviron(\.get\(|\[|\.setdefault\()", path.read_text())
    }
    assert readers == {"config/offturn_config/settings.py"}


@pytest.mark.parametrize("sdk", ["anthropic", "openai"])
def test_what_the_sdks_bring_is_theirs_to_bring(sdk: str) -> None:
    brought = {Requirement(line).name for line in requires(sdk) or ()}
    assert brought >= BROUGHT_BY_BOTH_SDKS


def test_hosts_do_not_inherit_a_bound_of_redis() -> None:
    [redis] = [Requirement(line) for line in PROJECT["dependencies"] if Requirement(line).name == "redis"]
    assert not any(spec.operator in ("<", "<=", "==", "~=") for spec in redis.specifier)


def test_arq_is_held_to_the_release_its_contract_was_read_from() -> None:
    [arq] = [Requirement(line) for line in EXTRAS["worker"] if Requirement(line).name == "arq"]
    assert str(arq.specifier) == "<0.29,>=0.28"
