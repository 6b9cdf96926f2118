"""Every overlay and every combination of components renders, and an API server would take each object."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest
from pydantic import ValidationError

from tests.k8s.keda import KINDS
from tests.k8s.manifests import (
    COMBINATIONS,
    COMPONENTS,
    FOLDER,
    OVERLAYS,
    Object,
    combination,
    named,
    of_kind,
    overlay,
)

VERSIONS = ("1.29", "1.37")
"""Of Kubernetes: the oldest and the newest that the manifests are written for."""

MONITORING = {"PodMonitor", "PrometheusRule"}
"""Kinds of the Prometheus operator; the tests of that component know their schema."""


@cache
def _refused(text: str, version: str) -> str:
    """Why a Kubernetes of that version would refuse the object; empty if it takes it."""
    schemas: Any = pytest.importorskip("kubernetes_validate", reason="no schemas of Kubernetes: `make k8s` adds them")
    try:
        schemas.validate(json.loads(text), version, strict=True)
    except schemas.ValidationError as error:
        return f"{'.'.join(map(str, error.path))}: {error.message}"
    return ""


def _check(objects: list[Object]) -> None:
    for one in objects:
        if one["kind"] in KINDS:
            KINDS[one["kind"]].model_validate(one)
        elif one["kind"] not in MONITORING:
            assert [_refused(json.dumps(one, sort_keys=True), version) for version in VERSIONS] == ["", ""], one["kind"]


def test_each_folder_is_an_overlay_or_a_component() -> None:
    assert {"dev", "prod"} <= set(OVERLAYS)
    assert {"keda", "keda-zero", "otlp", "valkey"} <= set(COMPONENTS)
    assert [name for name in COMPONENTS if not (FOLDER / "components" / name / "kustomization.yaml").is_file()] == []


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_is_valid(name: str) -> None:
    _check(overlay(name))


@pytest.mark.parametrize("chosen", COMBINATIONS, ids="+".join)
def test_a_combination_is_valid(chosen: tuple[str, ...]) -> None:
    objects = combination(chosen)
    names = [(one["kind"], one["metadata"]["name"]) for one in objects]
    assert len(names) == len(set(names))
    _check(objects)


def test_a_misspelt_field_would_be_found() -> None:
    deployment = copy.deepcopy(named(overlay("dev"), "Deployment"))
    deployment["spec"]["template"]["spec"]["terminationGracePeriod"] = 45
    budget = copy.deepcopy(named(overlay("dev"), "PodDisruptionBudget"))
    budget["spec"]["maxUnavailible"] = budget["spec"].pop("maxUnavailable")
    for one in (deployment, budget):
        assert "was unexpected" in _refused(json.dumps(one, sort_keys=True), VERSIONS[0])


@pytest.mark.parametrize("where", ["spec", "spec.fallback", "spec.triggers.0", "spec.triggers.1.metadata"])
def test_a_misspelt_field_of_keda_would_be_found(where: str) -> None:
    [scaled] = of_kind(overlay("prod"), "ScaledObject")
    changed: Any = copy.deepcopy(scaled)
    at = changed
    for step in where.split("."):
        at = at[int(step) if step.isdigit() else step]
    at["cooldownPeriode"] = "1"
    with pytest.raises(ValidationError, match="cooldownPeriode"):
        KINDS["ScaledObject"].model_validate(changed)
