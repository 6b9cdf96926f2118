"""What the service can be asked, topic by topic."""

from __future__ import annotations

from offturn_http.handlers import asking, deleting, finding, looking, moving, operating, streaming, turns
from offturn_http.operations import Operation

OPERATIONS: tuple[Operation, ...] = (
    *turns.OPERATIONS,
    *asking.OPERATIONS,
    *moving.OPERATIONS,
    *deleting.OPERATIONS,
    *looking.OPERATIONS,
    *finding.OPERATIONS,
    *streaming.OPERATIONS,
    *operating.OPERATIONS,
)
