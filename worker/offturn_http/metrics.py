"""What is counted of requests, for Prometheus: operations and statuses, never ids, tenants or keys."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

from offturn import __version__

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class HttpMetrics:
    """The numbers of one process. open_streams: how many there are."""

    def __init__(self, open_streams: Callable[[], int] = int) -> None:
        kept = self._registry = CollectorRegistry()
        ProcessCollector(registry=kept)
        Gauge("offturn_build_info", "1; the release is in the label", ("version",), registry=kept).labels(
            __version__
        ).set(1)
        self._requests = Counter(
            "offturn_http_requests", "Requests by operation and status", ("operation", "status"), registry=kept
        )
        self._seconds = Histogram(
            "offturn_http_request_seconds",
            "From the head of a request to the head of its answer",
            ("operation",),
            buckets=SECONDS,
            registry=kept,
        )
        streams = Gauge("offturn_http_streams", "Event streams that are open", registry=kept)
        streams.set_function(open_streams)

    def answered(self, operation: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(operation, status).inc()
        self._seconds.labels(operation).observe(seconds)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)
