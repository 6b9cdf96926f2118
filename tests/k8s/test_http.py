"""What the manifests promise of the HTTP service, against its settings and probes."""

from __future__ import annotations

from typing import Any

import pytest

from offturn_config.settings import PREFIX, HttpSettings
from offturn_http.app import application
from offturn_http.probes import livez, readyz
from tests.k8s.manifests import COMPONENTS, OVERLAYS, Object, combination, named, overlay, pods

LABELS = {"app.kubernetes.io/name": "offturn", "app.kubernetes.io/component": "http"}
FIELDS = {f"{PREFIX}{name.upper()}" for name in HttpSettings.model_fields}
PAUSE = 5


@pytest.fixture(params=[*OVERLAYS, "all components"])
def objects(request: pytest.FixtureRequest) -> list[Object]:
    """Each overlay, and the base with every component."""
    return combination(COMPONENTS) if request.param == "all components" else overlay(request.param)


def _spec(objects: list[Object]) -> Any:
    return named(objects, "Deployment", "offturn-http")["spec"]["template"]["spec"]


def _variables(objects: list[Object]) -> dict[str, str]:
    [source] = _spec(objects)["containers"][0]["envFrom"]
    name = source["configMapRef"]["name"]
    assert name.startswith("offturn-http-")  # and a hash of the values: a changed setting rolls the pods
    found: dict[str, str] = named(objects, "ConfigMap", name)["data"]
    return found


def _settings(objects: list[Object]) -> HttpSettings:
    given = {name.removeprefix(PREFIX).lower(): value for name, value in _variables(objects).items() if name in FIELDS}
    return HttpSettings(**given)  # type: ignore[arg-type]


def test_every_variable_is_a_setting_that_takes_the_value(objects: list[Object]) -> None:
    assert set(_variables(objects)) - FIELDS == {f"{PREFIX}SECRETS_DIR"}
    assert _settings(objects).http_host == "0.0.0.0"


def test_probes_and_service_ask_the_port_it_serves(objects: list[Object]) -> None:
    [container] = _spec(objects)["containers"]
    [port] = container["ports"]
    assert port["containerPort"] == _settings(objects).http_port
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert [probes[name]["path"] for name in probes] == ["/livez", "/livez", "/readyz"]
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    [told] = named(objects, "Service", "offturn-http")["spec"]["ports"]
    assert told["targetPort"] == port["name"]
    policy = named(objects, "NetworkPolicy", "offturn-http")["spec"]
    assert [rule["ports"] for rule in policy["ingress"]] == [[{"protocol": "TCP", "port": port["containerPort"]}]]


def test_the_probes_are_routes() -> None:
    served = {getattr(route, "path", ""): getattr(route, "endpoint", None) for route in _routes()}
    assert (served["/livez"], served["/readyz"]) == (livez, readyz)


def _routes() -> list[Any]:
    unused: Any = None
    from offturn.links import Connector
    from offturn_http.settings import Limits

    return list(application(Connector("redis://none", None, 1.0), unused, Limits()).routes)


def test_it_stops_taking_requests_before_it_ends(objects: list[Object]) -> None:
    spec = _spec(objects)
    [container] = spec["containers"]
    command = container["lifecycle"]["preStop"]["exec"]["command"]
    assert command == ["python", "-c", f"import time; time.sleep({PAUSE})"]
    assert spec["terminationGracePeriodSeconds"] >= PAUSE + _settings(objects).drain_seconds + 10


def test_it_sees_the_stores_address_and_no_key(objects: list[Object]) -> None:
    [secret] = [volume["secret"] for volume in _spec(objects)["volumes"] if "secret" in volume]
    assert secret["items"] == [{"key": "OFFTURN_STORE_URL", "path": "OFFTURN_STORE_URL"}]
    egress = named(objects, "NetworkPolicy", "offturn-http")["spec"]["egress"]
    assert {port["port"] for rule in egress for port in rule["ports"]} == {53, 6379, 6380, 26379}


def test_the_store_of_the_component_lets_it_in() -> None:
    rendered = combination(["valkey"])
    rules = named(rendered, "NetworkPolicy", "offturn-valkey")["spec"]["ingress"]
    peers = [peer["podSelector"]["matchLabels"] for rule in rules for peer in rule["from"] if "podSelector" in peer]
    labels = dict(pods(rendered))["offturn-http"]["metadata"]["labels"]
    assert LABELS.items() <= labels.items()
    assert any(wanted.items() <= labels.items() for wanted in peers)
