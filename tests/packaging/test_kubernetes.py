"""`k8s/worker.yaml` against the worker's settings: the fields that would drift."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from offturn_config.settings import PREFIX, WorkerSettings
from offturn_worker.poller import RELEASE_SECONDS
from tests.packaging.sources import ROOT


def read(text: str) -> Any:
    """The little YAML a manifest needs: block mappings and lists, JSON values, plain words, comments."""
    lines: list[tuple[int, str]] = []
    for line in text.splitlines():
        bare = re.sub(r"(^|\s)#.*", "", line).rstrip()
        if not bare:
            continue
        indent = len(bare) - len(bare.lstrip())
        bare = bare.lstrip()
        while bare.startswith("- "):
            lines.append((indent, "-"))
            bare, indent = bare[2:], indent + 2
        lines.append((indent, bare))
    value, rest = _block(lines)
    assert not rest, f"not understood from {rest[0]}"
    return value


def _block(lines: list[tuple[int, str]]) -> tuple[Any, list[tuple[int, str]]]:
    indent, first = lines[0]
    items: list[Any] = []
    fields: dict[str, Any] = {}
    while lines and lines[0][0] == indent and (lines[0][1] == "-") == (first == "-"):
        text, lines = lines[0][1], lines[1:]
        if text == "-":
            value, lines = _block(lines)
            items.append(value)
            continue
        name, separator, inline = text.partition(":")
        assert separator, f"not understood: {text}"
        assert name not in fields, f"{name} is there twice"
        if inline:
            fields[name] = _scalar(inline.strip())
        else:
            fields[name], lines = _block(lines)
    return (items if first == "-" else fields), lines


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


DEPLOYMENT = read((ROOT / "k8s/worker.yaml").read_text())
POD = DEPLOYMENT["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
ENVIRONMENT = {entry["name"]: entry.get("value") for entry in CONTAINER["env"]}


def test_the_reader_reads() -> None:
    assert read('a:\n  - b: 1 # one\n    c: ["x"]\n  - d: "2"\ne: f\n') == {
        "a": [{"b": 1, "c": ["x"]}, {"d": "2"}],
        "e": "f",
    }
    with pytest.raises(AssertionError, match="twice"):
        read("a: 1\na: 2\n")
    with pytest.raises(AssertionError, match="not understood"):
        read("a: 1\n  b: 2\n")


def test_it_selects_its_own_pods() -> None:
    assert (DEPLOYMENT["apiVersion"], DEPLOYMENT["kind"]) == ("apps/v1", "Deployment")
    wanted = DEPLOYMENT["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= DEPLOYMENT["spec"]["template"]["metadata"]["labels"].items()
    assert DEPLOYMENT["spec"]["replicas"] >= 2


def test_every_variable_is_a_setting_that_takes_the_value() -> None:
    fields = {f"{PREFIX}{name.upper()}" for name in WorkerSettings.model_fields}
    assert set(ENVIRONMENT) - fields == {f"{PREFIX}SECRETS_DIR"}
    given = {
        name.removeprefix(PREFIX).lower(): value for name, value in ENVIRONMENT.items() if value and name in fields
    }
    settings = WorkerSettings(**given)
    assert settings.health_host == "0.0.0.0"


def test_probes_ask_the_port_the_worker_serves() -> None:
    [port] = CONTAINER["ports"]
    assert port["containerPort"] == 8080 == int(ENVIRONMENT["OFFTURN_HEALTH_PORT"] or 0)
    probes = {name: CONTAINER[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/livez",
        "liveness": "/livez",
        "readiness": "/readyz",
    }
    assert {probe["port"] for probe in probes.values()} == {port["name"]}


def test_a_pod_may_drain_before_it_is_killed() -> None:
    drain = float(ENVIRONMENT["OFFTURN_DRAIN_SECONDS"] or 0)
    assert POD["terminationGracePeriodSeconds"] >= drain + RELEASE_SECONDS + 5


def test_the_pod_may_do_little() -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert POD["automountServiceAccountToken"] is False
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_secrets_are_mounted_where_they_are_read() -> None:
    [mount], [volume] = CONTAINER["volumeMounts"], POD["volumes"]
    assert mount["mountPath"] == ENVIRONMENT["OFFTURN_SECRETS_DIR"]
    assert mount["readOnly"] is True
    assert mount["name"] == volume["name"]
    assert volume["secret"]["defaultMode"] == 0o440
    assert not any("KEY" in name for name in ENVIRONMENT)
