"""The autoscaler's rules against the queue they look at."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.store.replies import Claim
from offturn.store.sessions import SessionStore
from offturn_config import keys
from offturn_worker.health import Health
from tests.k8s.keda import MetricsApiTrigger, RedisTrigger, Scaled, ScaledObject, TriggerAuthentication
from tests.k8s.manifests import COMBINATIONS, Object, combination, named, of_kind, overlay
from tests.k8s.test_workers import settings_of
from tests.packaging.sources import ROOT, shipped

SCALED = ["prod", *("+".join(chosen) for chosen in COMBINATIONS if "keda" in chosen)]


@pytest.fixture(params=SCALED)
def objects(request: pytest.FixtureRequest) -> list[Object]:
    return overlay("prod") if request.param == "prod" else combination(request.param.split("+"))


def _scaled(objects: Sequence[Object]) -> Scaled:
    return ScaledObject.model_validate(named(objects, "ScaledObject")).spec


def _redis(scaled: Scaled) -> dict[str, RedisTrigger]:
    return {one.metadata.list_name: one for one in scaled.triggers if isinstance(one, RedisTrigger)}


def test_it_scales_the_workers_and_nobody_else_does(objects: list[Object]) -> None:
    scaled, deployment = _scaled(objects), named(objects, "Deployment")
    assert scaled.target.name == deployment["metadata"]["name"]
    assert "replicas" not in deployment["spec"], "each apply would set the number back"
    assert scaled.min_replica_count <= scaled.fallback.replicas <= scaled.max_replica_count


def test_it_looks_at_the_queue_that_is_rung(objects: list[Object]) -> None:
    trigger = _redis(_scaled(objects))[keys.QUEUE]
    wanted = int(trigger.metadata.list_length)
    most = settings_of(objects).max_jobs
    assert most / 2 <= wanted <= most, "more than a pod takes at a time would wait"
    assert trigger.metadata.activation_list_length == "0"


def test_what_is_due_later_keeps_a_worker(objects: list[Object]) -> None:
    scaled = _scaled(objects)
    if scaled.min_replica_count > 0:
        return
    trigger = _redis(scaled)[keys.due()]
    assert trigger.metadata.activation_list_length == "0"
    assert int(trigger.metadata.list_length) >= 10**9, "one, however many sessions"
    asked = [one.name for one in scaled.triggers if isinstance(one, MetricsApiTrigger)]
    assert asked == [], "no worker, nobody to ask: KEDA would take it for an outage"


async def test_a_session_that_waits_is_in_no_queue(client: CompactionClient, redis: Redis) -> None:
    session = client.session("s1", format="openai-chat", window=32_000)
    await session.record({"role": "user", "content": "Fix the login bug."})
    await session.request()
    store = SessionStore(redis)
    claim = await store.claim(session.key, token="t", lease_ms=600_000)
    assert isinstance(claim, Claim)
    await redis.delete(keys.QUEUE)  # the job has ended
    await store.finish(session.key, claim=claim, outcome="unavailable", backoff_ms=600_000)
    assert not await redis.zcard(keys.QUEUE), "what `queue` counts"
    assert await redis.zcard(keys.due()) == 1, "what `due` counts"


def test_an_outage_takes_no_worker_away(objects: list[Object]) -> None:
    scaled = _scaled(objects)
    assert scaled.fallback.behavior == "currentReplicasIfHigher"
    assert {one.metric_type for one in scaled.triggers} == {"AverageValue"}, "the only kind that a fallback is for"


def test_workers_are_taken_away_slowly(objects: list[Object]) -> None:
    down = _scaled(objects).scale_down
    assert down.stabilization_window_seconds >= 300
    assert [(one.type, one.value, one.period_seconds) for one in down.policies] == [("Pods", 1, 60)]


def test_the_age_is_asked_of_the_service(objects: list[Object]) -> None:
    service = named(objects, "Service")
    for trigger in _scaled(objects).triggers:
        if isinstance(trigger, MetricsApiTrigger):
            url = urlsplit(trigger.metadata.url)
            namespace = service["metadata"].get("namespace", "offturn")
            assert url.hostname == f"{service['metadata']['name']}.{namespace}.svc"
            assert url.port == service["spec"]["ports"][0]["port"]
            assert url.path == f"/{Health.metrics.__name__}"


def test_the_age_is_a_metric_of_the_worker() -> None:
    [name] = {
        trigger.metadata.value_location
        for trigger in _scaled(overlay("prod")).triggers
        if isinstance(trigger, MetricsApiTrigger)
    }
    if not (ROOT / "docs/ops/metrics.md").is_file():
        pytest.skip("the worker's metrics of the store are not there: docs/ops/metrics.md")
    assert any(f'"{name}"' in path.read_text() for path in shipped("offturn_worker"))


def test_it_may_read_what_it_looks_at(objects: list[Object]) -> None:
    [authentication] = [TriggerAuthentication.model_validate(one) for one in of_kind(objects, "TriggerAuthentication")]
    named_so = authentication.metadata["name"]
    assert {one.authentication_ref.name for one in _redis(_scaled(objects)).values()} == {named_so}
    assert {one.parameter for one in authentication.spec.secrets} == {"address", "username", "password"}
