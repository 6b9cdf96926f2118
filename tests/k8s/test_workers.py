"""What the manifests promise of workers, against the settings and the code that they rely on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn_config.settings import PREFIX, WorkerSettings
from offturn_worker.health import Health
from offturn_worker.heartbeat import LONGEST_BEAT
from offturn_worker.outage import Watch
from offturn_worker.poller import FINISHING, RELEASE_SECONDS, Poller
from offturn_worker.wake import Wake
from tests.k8s.manifests import (
    COMPONENTS,
    OVERLAYS,
    Object,
    combination,
    every,
    named,
    of_kind,
    overlay,
    pods,
    variables,
)

LABELS = {"app.kubernetes.io/name": "offturn", "app.kubernetes.io/component": "worker"}
FIELDS = {f"{PREFIX}{name.upper()}" for name in WorkerSettings.model_fields}
PRIVATE = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"}


@pytest.fixture(params=[*OVERLAYS, "all components"])
def objects(request: pytest.FixtureRequest) -> list[Object]:
    """Each overlay, and the base with every component."""
    return combination(COMPONENTS) if request.param == "all components" else overlay(request.param)


def settings_of(objects: Sequence[Object]) -> WorkerSettings:
    given = {name.removeprefix(PREFIX).lower(): value for name, value in variables(objects).items() if name in FIELDS}
    return WorkerSettings(**given)  # type: ignore[arg-type]


def container_of(objects: Sequence[Object]) -> Any:
    [container] = named(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return container


def test_every_variable_is_a_setting_that_takes_the_value(objects: list[Object]) -> None:
    assert set(variables(objects)) - FIELDS == {f"{PREFIX}SECRETS_DIR"}
    assert settings_of(objects).health_host == "0.0.0.0"
    [entry] = [entry for entry in container_of(objects)["env"] if "valueFrom" in entry]
    assert entry["name"] in FIELDS


def test_selectors_find_what_they_are_for(objects: list[Object]) -> None:
    templates = dict(pods(objects))
    for kind in ("Deployment", "StatefulSet"):
        for one in of_kind(objects, kind):
            wanted = one["spec"]["selector"]["matchLabels"]
            assert wanted.items() <= one["spec"]["template"]["metadata"]["labels"].items()
    for kind, path in (("Service", "selector"), ("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        for one in of_kind(objects, kind):
            wanted = one["spec"][path].get("matchLabels", one["spec"][path])
            found = [name for name, pod in templates.items() if wanted.items() <= pod["metadata"]["labels"].items()]
            assert found == [one["metadata"]["name"]], f"{kind} {one['metadata']['name']}"
    for name, pod in templates.items():
        assert pod["metadata"]["labels"]["app.kubernetes.io/part-of"] == "offturn", name
    for spread in templates["offturn-worker"]["spec"].get("topologySpreadConstraints", []):
        assert spread["labelSelector"]["matchLabels"] == LABELS


def test_probes_ask_the_port_the_worker_serves(objects: list[Object]) -> None:
    container = container_of(objects)
    [port] = container["ports"]
    assert port["containerPort"] == settings_of(objects).health_port
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": f"/{Health.livez.__name__}",
        "liveness": f"/{Health.livez.__name__}",  # which Redis is no part of
        "readiness": f"/{Health.readyz.__name__}",
    }
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    [told] = named(objects, "Service")["spec"]["ports"]
    assert (told["port"], told["targetPort"]) == (port["containerPort"], port["name"])


def test_a_pod_may_drain_before_it_is_killed(objects: list[Object]) -> None:
    grace = named(objects, "Deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= settings_of(objects).drain_seconds + RELEASE_SECONDS + LONGEST_BEAT + 5


def test_a_budget_never_blocks_a_node(objects: list[Object]) -> None:
    budget = named(objects, "PodDisruptionBudget")["spec"]
    assert budget["maxUnavailable"] == 1
    assert "minAvailable" not in budget


def test_pods_may_do_little() -> None:
    for where, rendered in every():
        for name, pod in pods(rendered):
            spec = pod["spec"]
            assert spec["securityContext"]["runAsNonRoot"] is True, f"{where}: {name}"
            assert spec["securityContext"]["runAsUser"] > 0
            assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            assert spec["automountServiceAccountToken"] is False
            assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
            assert [volume["name"] for volume in spec["volumes"] if "hostPath" in volume] == []
            for container in [*spec["containers"], *spec.get("initContainers", [])]:
                assert container["securityContext"] == {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                }
                assert {"requests", "limits"} <= container["resources"].keys()
                assert "memory" in container["resources"]["limits"]


def test_secrets_are_files_where_they_are_read(objects: list[Object]) -> None:
    spec = named(objects, "Deployment")["spec"]["template"]["spec"]
    mounts = {mount["mountPath"]: mount for mount in container_of(objects)["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    mount = mounts[variables(objects)[f"{PREFIX}SECRETS_DIR"]]
    assert mount["readOnly"] is True
    assert volumes[mount["name"]]["secret"]["defaultMode"] == 0o440
    assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsGroup"]
    assert "emptyDir" in volumes[mounts["/tmp"]["name"]]


def test_no_secret_is_written_down() -> None:
    for where, rendered in every():
        assert of_kind(rendered, "Secret") == [], where
        assert not {name for name in variables(rendered) if name.endswith(("_KEY", "_STORE_URL", "_QUEUE_URL"))}
        for _, pod in pods(rendered):
            for container in pod["spec"]["containers"]:
                assert [entry for entry in container.get("env", []) if "secretKeyRef" in str(entry)] == []


def test_a_changed_setting_rolls_the_pods(objects: list[Object]) -> None:
    [source] = container_of(objects)["envFrom"]
    assert source["configMapRef"]["name"].startswith("offturn-worker-")  # and a hash of the values


def test_network_rules_are_the_ones_written(objects: list[Object]) -> None:
    policy = named(objects, "NetworkPolicy")["spec"]
    assert policy["podSelector"] == {"matchLabels": LABELS}
    assert sorted(policy["policyTypes"]) == ["Egress", "Ingress"]
    assert [rule["ports"] for rule in policy["ingress"]] == [[{"protocol": "TCP", "port": 8080}]]
    names, store, internet, *more = policy["egress"]
    # Labels that Kustomize adds to selectors would end up here, and no name would be found any more.
    assert names["to"] == [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
        }
    ]
    assert {port["port"] for port in names["ports"]} == {53}
    assert {port["port"] for port in store["ports"]} == {6379, 6380, 26379}
    assert [port["port"] for port in internet["ports"]] == [443]
    excepted = {block for peer in internet["to"] for block in peer["ipBlock"]["except"]}
    assert excepted >= PRIVATE
    assert [[port["port"] for port in rule["ports"]] for rule in more] in ([], [[4317, 4318]])


def test_the_images_of_prod_are_pinned() -> None:
    for name, pod in pods(overlay("prod")):
        for container in pod["spec"]["containers"]:
            assert "@sha256:" in container["image"], name


async def test_every_worker_looks_past_all_running_jobs(objects: list[Object]) -> None:
    settings = settings_of(objects)
    redis = Redis.from_url(settings.store_url)
    watch = Watch({"store": redis}, lease_ms=settings.lease_ms)
    poller = Poller(redis, lambda _key: NotImplemented, settings, watch=watch, wake=Wake(redis), beat=lambda: None)
    spec = named(objects, "Deployment")["spec"]
    most = [scaled["spec"]["maxReplicaCount"] for scaled in of_kind(objects, "ScaledObject")] or [spec["replicas"]]
    # In a roll-out as many again drain, each with its jobs.
    assert 2 * max(most) * (settings.max_jobs + FINISHING) <= poller.queue_read_limit
    assert 2 * max(most) <= settings.max_workers
    await redis.aclose()
