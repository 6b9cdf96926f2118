"""What a worker counts for Prometheus, at `/metrics`. Labels are words of ours: no content, no ids of sessions or tenants."""

from __future__ import annotations

from typing import get_args

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from offturn_engine.compaction import Audit, Verdict

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Metrics:
    """The counters of one worker process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._facts = Counter(
            "offturn_audit_facts",
            "Facts of the ledger in committed generations, by kind and by what became of them",
            ("kind", "verdict"),
            registry=self._registry,
        )

    def audited(self, audit: Audit) -> None:
        """Count the facts of one committed generation."""
        for one in audit.kinds:
            for verdict in VERDICTS:
                self._facts.labels(one.kind, verdict).inc(getattr(one, verdict))

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)
