"""What a worker counts for Prometheus, at `/metrics`. Labels are words of ours: no content, no ids of sessions or tenants.

What each number answers: docs/ops/metrics.md. What is true of the fleet and not of one process is in `fleet`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.process_collector import ProcessCollector

from offturn._version import __version__
from offturn.observing import Call, Observer, Step
from offturn.store.replies import Claim
from offturn_config.errors import InvalidSetting
from offturn_engine.compaction import Compaction, FactKind, Verdict
from offturn_engine.economics import PriceOf, unpriced
from offturn_engine.errors import SummarizerError
from offturn_engine.summary import Finish
from offturn_worker.labels import OTHER, Labels

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
RESULTS: dict[str, str] = dict(zip(get_args(Finish), ("ok", "cut", "refused"), strict=True))

SHORT = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)  # seconds
LONG = (0.05, 0.25, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 14_400, 86_400)


class Metrics(Observer):
    """The numbers of one worker process. `models`: those it is set to ask; `prices`: for the cost of their calls."""

    def __init__(self, models: tuple[str, ...] = (), prices: PriceOf = unpriced) -> None:
        self.models = models
        self._prices = prices
        self._labels = Labels(models)
        kept = self._registry = CollectorRegistry()
        ProcessCollector(registry=kept)
        self._info = Gauge("offturn_build_info", "1; the release is in the label", ("version",), registry=kept)
        self._info.labels(__version__).set(1)
        self.lag = Gauge("offturn_event_loop_lag_seconds", "How late the event loop wakes a sleeper", registry=kept)
        self.draining = Gauge("offturn_draining", "1 while the worker takes no more jobs", registry=kept)

        self.in_flight = Gauge("offturn_jobs_in_flight", "Jobs that run", registry=kept)
        self.limit = Gauge(
            "offturn_jobs_limit",
            "Jobs that may run at a time, without those that are checked and committed",
            registry=kept,
        )
        self._jobs = Counter("offturn_jobs", "Jobs by how they ended", ("outcome", "reason"), registry=kept)
        self._jobs.labels("superseded", "claim_lost")
        self._job = Histogram(
            "offturn_job_seconds", "Whole jobs, from claim to finish", ("outcome",), buckets=LONG, registry=kept
        )
        self._step = Histogram("offturn_step_seconds", "Steps of jobs", ("step",), buckets=SHORT, registry=kept)
        for name in get_args(Step):
            self._step.labels(name)
        self._waited = Histogram(
            "offturn_claim_wait_seconds", "From when a session was due to its claim", buckets=LONG, registry=kept
        )
        self._died = Counter("offturn_leases_expired", "Claims that ran out before their worker ended", registry=kept)

        self._calls = Counter("offturn_model_calls", "Requests to models", ("model", "result"), registry=kept)
        self._call = Histogram(
            "offturn_model_call_seconds", "Requests to models", ("model",), buckets=SHORT, registry=kept
        )
        self._tokens = Counter(
            "offturn_model_tokens",
            "Tokens as providers report them; input holds cached",
            ("model", "kind"),
            registry=kept,
        )
        self._cost = Counter("offturn_model_cost_dollars", "What models cost", ("model",), registry=kept)
        self._unpriced = Counter(
            "offturn_model_calls_unpriced", "Paid requests whose price is unknown", ("model",), registry=kept
        )
        for model in models:
            self._calls.labels(model, RESULTS["stop"])
            self._cost.labels(model)

        self._made = Counter("offturn_generations", "Generations committed", ("method", "reason"), registry=kept)
        self._saved = Counter("offturn_tokens_saved", "Tokens by which views became smaller, estimated", registry=kept)
        self._facts = Counter(
            "offturn_audit_facts",
            "Facts of the ledger in committed generations, by kind and by what became of them",
            ("kind", "verdict"),
            registry=kept,
        )
        for kind in get_args(FactKind):
            for verdict in VERDICTS:
                self._facts.labels(kind, verdict)
        self.adoption = Histogram(
            "offturn_adoption_seconds", "From commit to in force, seen at the next commit", buckets=LONG, registry=kept
        )
        self.unadopted = Counter(
            "offturn_generations_never_adopted", "Generations replaced before a host was shown them", registry=kept
        )
        self.emergencies = Counter(
            "offturn_emergencies", "Emergency generations of hosts, seen at the next commit", registry=kept
        )
        self.too_dense = Counter("offturn_sessions_too_dense", "Sessions whose too-dense breaker opened", registry=kept)

        self._moves = Counter(
            "offturn_archive_sessions",
            "Tries to put a session into the archive or to bring it back",
            ("action", "result"),
            registry=kept,
        )
        for action in ("archive", "restore"):
            for result in ("ok", "failed"):
                self._moves.labels(action, result)

        self._sweeps = Counter("offturn_sweeps", "Looks at all that is due", ("result",), registry=kept)
        for result in ("ok", "failed"):
            self._sweeps.labels(result)
        self._again = Counter("offturn_sweep_rings", "Jobs that only a sweep put in the queue", registry=kept)
        self._heard = Counter("offturn_rings_heard", "Rings of the doorbell that woke this worker", registry=kept)
        self._errors = Counter(
            "offturn_redis_errors", "Errors of the servers that loops have met", ("server", "kind"), registry=kept
        )

    def step(self, name: Step) -> AbstractContextManager[object]:
        """Time it."""
        return self._step.labels(name).time()

    def claimed(self, claim: Claim) -> None:
        """How long the session waited, and whether a worker died on it."""
        self._waited.observe(claim.waited_ms / 1000)
        self._died.inc(claim.died)

    def committed(self, record: Compaction) -> None:
        """Count a generation, what it saves and what became of its facts."""
        self._made.labels(record.method, record.reason).inc()
        self._saved.inc(max(0, record.tokens_before - record.tokens_after))
        for one in record.audit.kinds:
            for verdict in VERDICTS:
                self._facts.labels(self._labels.word(one.kind), verdict).inc(getattr(one, verdict))

    @contextmanager
    def call(self, model: str) -> Iterator[Call]:
        """Count a request, what it took and what it cost."""
        call, started, result = Call(model), time.monotonic(), "error"
        try:
            yield call
            result = RESULTS.get(call.finish, OTHER)
        except InvalidSetting:  # nobody was asked
            result = ""
            raise
        except SummarizerError as error:
            result = self._labels.word(error.kind)
            raise
        except asyncio.CancelledError:
            result = "cancelled"
            raise
        finally:
            if result:
                self._asked(call, result, time.monotonic() - started)

    def ended(self, outcome: str, reason: str, seconds: float) -> None:
        """A job has ended."""
        self._jobs.labels(outcome, self._labels.word(reason)).inc()
        self._job.labels(outcome).observe(seconds)

    def moved(self, action: str, done: bool) -> None:
        """A session was archived or restored, or could not be."""
        self._moves.labels(action, "ok" if done else "failed").inc()

    def swept(self, rung: int | None) -> None:
        """A sweep put so many jobs in the queue; None: it failed."""
        self._sweeps.labels("failed" if rung is None else "ok").inc()
        self._again.inc(rung or 0)

    def heard(self) -> None:
        """The doorbell rang."""
        self._heard.inc()

    def met(self, server: str, error: BaseException) -> None:
        """A loop met an error of that server."""
        self._errors.labels(server, self._labels.word(type(error).__name__)).inc()

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)

    def _asked(self, call: Call, result: str, seconds: float) -> None:
        model, spent = self._labels.model(call.model), call.spent
        self._calls.labels(model, result).inc()
        self._call.labels(model).observe(seconds)
        for kind, count in (
            ("input", spent.input_tokens),
            ("cached", spent.cached_tokens),
            ("output", spent.output_tokens),
        ):
            self._tokens.labels(model, kind).inc(count)
        if not spent.input_tokens + spent.output_tokens:
            return
        if (price := self._prices(call.model)) is None:
            self._unpriced.labels(model).inc()
            return
        self._cost.labels(model).inc(
            price(input_tokens=spent.input_tokens, cached=spent.cached_tokens, output_tokens=spent.output_tokens)
        )
