"""Metrics, their page, the alerts, the dashboard and the runbook name the same things; promtool takes the alerts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from prometheus_client.registry import Collector
from pydantic import BaseModel, ConfigDict, Field
from redis.asyncio import Redis

from offturn.health import Health
from offturn.store.limits import RouteTrouble
from offturn_http.metrics import HttpMetrics
from offturn_worker.cli.main import typer_app
from offturn_worker.fleet import Fleet, Sample
from offturn_worker.metrics import Metrics
from tests.packaging.sources import ROOT

FOLDER = ROOT / "k8s/components/monitoring"
PAGE = (ROOT / "docs/ops/metrics.md").read_text()
RUNBOOK = (ROOT / "docs/ops/runbook.md").read_text()
RULES: dict[str, Any] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["spec"]
ALERTS: list[dict[str, Any]] = [rule for group in RULES["groups"] for rule in group["rules"]]
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())

ROW = re.compile(r"^\| `(offturn_\w+)` \| (\w+) \| ?(.*?) ?\| (.*) \|$", re.MULTILINE)
METRIC = re.compile(r"\b((?:offturn|process|kube|keda)_\w+)")
LABEL = re.compile(r"(?:^|; )`(\w+)`")
PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


def counted() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Name, type and labels of each metric of the code, as Prometheus sees them."""
    registries = Metrics()._registry, HttpMetrics()._registry
    found: set[Collector] = {one for registry in registries for one in registry._names_to_collectors.values()}
    for each in found:
        [family, *more] = each.describe()  # type: ignore[attr-defined]  # optional in the protocol
        if more or not family.name.startswith("offturn_"):
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield name, family.type, tuple(each._labelnames)  # type: ignore[attr-defined]  # no public way
    fleet = Fleet(Redis(), Redis())
    trouble = RouteTrouble(entry="openai:m#k", open=True, reason="auth", permanent=True, failures=1, since=0, until=1)
    fleet._sample = Sample(store=Health(reachable=True), oldest=0.0, routes=(trouble,), queued=1)
    for family in fleet.collect():
        yield family.name, family.type, tuple(family.samples[0].labels)


CODE = {name: (kind, labels) for name, kind, labels in counted()}


def test_the_page_lists_every_metric_and_no_other() -> None:
    rows = {name: (kind, tuple(LABEL.findall(labels))) for name, kind, labels, _ in ROW.findall(PAGE)}
    assert rows == CODE
    assert len(ROW.findall(PAGE)) == len(rows)


def series(text: str) -> set[str]:
    """The metrics a query asks for, histograms by their own name."""
    names = set(METRIC.findall(text))
    histograms = {name for name, (kind, _) in CODE.items() if kind == "histogram"}
    return {
        base if (base := re.sub(r"_(bucket|sum|count)\Z", "", name)) in histograms else name for name in names
    } - PROCESS


def queries() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]


def test_every_metric_of_alerts_and_dashboard_exists() -> None:
    for query in [*(alert["expr"] for alert in ALERTS), *queries()]:
        assert METRIC.search(query), query
        assert series(query) <= CODE.keys(), query


def test_the_dashboard_shows_every_metric() -> None:
    assert set().union(*map(series, queries())) == CODE.keys()


def test_the_dashboard_filters_every_series_and_has_no_two_panels_in_one_place() -> None:
    assert [query for query in queries() if query.count("$namespace") != len(METRIC.findall(query))] == []
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)


def anchors() -> set[str]:
    """Of the runbook's headings, as GitHub makes them."""
    headings = re.findall(r"^## (.+)$", RUNBOOK, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_alert_says_how_grave_it_is_what_it_is_and_what_to_do() -> None:
    assert len({alert["alert"] for alert in ALERTS}) == len(ALERTS)
    for alert in ALERTS:
        assert alert["labels"]["severity"] in {"critical", "warning", "info"}, alert["alert"]
        assert re.fullmatch(r"\d+m", alert["for"]), alert["alert"]
        assert alert["annotations"]["summary"].endswith("."), alert["alert"]
        page, _, anchor = alert["annotations"]["runbook_url"].partition("#")
        assert (ROOT / page) == ROOT / "docs/ops/runbook.md"
        assert anchor in anchors(), alert["alert"]
        assert f"`{alert['alert']}`" in RUNBOOK


def test_the_runbook_names_alerts_metrics_commands_and_headings_that_exist() -> None:
    assert set(re.findall(r"`(Offturn\w+)`", RUNBOOK)) == {alert["alert"] for alert in ALERTS}
    assert series(RUNBOOK) <= CODE.keys()
    assert set(re.findall(r"\]\(#([\w-]+)\)", RUNBOOK)) <= anchors()
    known = _commands()
    for first, second in re.findall(r"`offturn ([a-z]+)(?:\s([a-z]+))?", RUNBOOK):
        assert first in known, first
        assert not known.get(first) or second in known[first], (first, second)


def _commands() -> dict[str, set[str]]:
    root: Any = typer.main.get_command(typer_app)
    return {name: set(getattr(command, "commands", ())) for name, command in root.commands.items()}


def test_the_runbook_names_settings_that_exist() -> None:
    settings = (ROOT / "docs/settings.md").read_text()
    assert [name for name in re.findall(r"OFFTURN_[A-Z_]+", RUNBOOK + PAGE) if f"`{name}`" not in settings] == []


class Closed(BaseModel):
    """The fields of these resources that we use, and no other: a misspelt one is found."""

    model_config = ConfigDict(extra="forbid")


class Endpoint(Closed):
    port: str
    path: str
    interval: str
    scrapeTimeout: str  # noqa: N815 -- the operator's word


class Selector(Closed):
    matchLabels: dict[str, str]  # noqa: N815 -- the operator's word


class Monitor(Closed):
    selector: Selector
    podMetricsEndpoints: list[Endpoint]  # noqa: N815 -- the operator's word


class Alert(Closed):
    model_config = ConfigDict(populate_by_name=True)

    alert: str
    expr: str
    lasting: str = Field(alias="for")
    labels: dict[str, str]
    annotations: dict[str, str]


class Group(Closed):
    name: str
    rules: list[Alert]


class Rules(Closed):
    groups: list[Group]


@pytest.mark.parametrize(
    ("name", "kind", "spec"), [("podmonitor", "PodMonitor", Monitor), ("alerts", "PrometheusRule", Rules)]
)
def test_the_operator_knows_each_field(name: str, kind: str, spec: type[Closed]) -> None:
    found = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    assert (found["apiVersion"], found["kind"]) == ("monitoring.coreos.com/v1", kind)
    spec.model_validate(found["spec"])


def test_prometheus_finds_the_workers() -> None:
    monitor = yaml.safe_load((FOLDER / "podmonitor.yaml").read_text())["spec"]
    assert monitor["selector"]["matchLabels"] == {
        "app.kubernetes.io/name": "offturn",
        "app.kubernetes.io/component": "worker",
    }
    [endpoint] = monitor["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"]) == ("health", "/metrics")


def run_promtool(*args: str | Path) -> None:
    done = subprocess.run(["promtool", *args], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def written(folder: Path, name: str, value: Any) -> Path:
    """JSON is YAML."""
    path = folder / name
    path.write_text(json.dumps(value))
    return path


@promtool
def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    run_promtool("check", "rules", written(tmp_path, "rules.json", RULES))


def case(alert: str, at: str, fires: dict[str, str] | None, **inputs: str) -> dict[str, Any]:
    """One alert with series by name; `fires` has the labels it must fire with, None where it must not."""
    told = next(rule for rule in ALERTS if rule["alert"] == alert)
    expected = [{"exp_labels": {"severity": told["labels"]["severity"], **fires}}] if fires is not None else []
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in inputs.items()],
        "alert_rule_test": [{"alertname": alert, "eval_time": at, "exp_alerts": expected}],
    }


@promtool
def test_the_main_alerts_fire_when_they_should(tmp_path: Path) -> None:
    """Their annotations are left to Prometheus: templates are checked by `check rules`."""
    rules: Any = json.loads(json.dumps(RULES))
    for rule in rules["groups"][0]["rules"]:
        del rule["annotations"]
    written(tmp_path, "rules.json", rules)
    oldest, ready, due = (
        "offturn_oldest_due_seconds{pod='a'}",
        "offturn_workers{state='ready',pod='a'}",
        "offturn_due_sessions",
    )
    opened = "offturn_breaker{model='openai:m',state='open',pod='a'}"
    lost = "offturn_audit_facts_total{kind='constraint',verdict='lost'}"
    tests = [
        case("OffturnDueTooLong", "9m", {}, **{oldest: "100 160+60x20"}),
        case("OffturnDueTooLong", "5m", None, **{oldest: "100 160+60x20"}),  # not long enough yet
        case("OffturnDueTooLong", "20m", None, **{oldest: "0 130 0 0 130x2 0x20"}),
        case("OffturnDueWithoutWorker", "5m", {}, **{due: "4x10", ready: "0x10"}),
        case("OffturnDueWithoutWorker", "5m", None, **{due: "4x10", ready: "1x10"}),
        case("OffturnNoWorker", "11m", {}, **{due: "_x20"}),
        case("OffturnNoWorker", "11m", None, offturn_build_info="1x20"),
        case("OffturnBreakerOpen", "12m", {"model": "openai:m"}, **{opened: "1x20"}),
        case("OffturnBreakerOpen", "12m", None, **{opened: "1x5 0x20"}),
        case("OffturnFactsLost", "4m", {"kind": "constraint", "verdict": "lost"}, **{lost: "0 0 2x20"}),
        case("OffturnFactsLost", "4m", None, **{lost: "0x20"}),
    ]
    run_promtool("test", "rules", written(tmp_path, "tests.json", {"rule_files": ["rules.json"], "tests": tests}))
