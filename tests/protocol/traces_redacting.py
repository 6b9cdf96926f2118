"""Shortest runs on which a mistake in `redact` does harm. See traces.py."""

from __future__ import annotations

from tests.protocol.traces import Trace

REDACTING = {
    "redact-covered": Trace(
        4,
        "claim a; plan a; commit a; adopt h1; finish a compacted = done; redact h1 1 = redacted; rollback h1 1 = target; "
        "reread h1 = reset; record h1 = pathmoved; open h1; reread h1 = known; record h1 = recorded",
    ),
    "redact-due": Trace(4, "claim a; plan a; commit a; finish a compacted = done; redact h1 0 = redacted; sweep = due"),
    "redact-tail": Trace(
        4, "claim a; plan a; commit a; adopt h1; finish a compacted; redact h1 3 = redacted; rollback h1 1 = rolledback"
    ),
    "redact-weight": Trace(1, "record h1 3; redact h1 1 = redacted; undo h1 = undone; redact h1 1 = redacted"),
    "redact-held": Trace(1, "record h1 3; rollback h1 0; redact h1 1 = redacted"),
    "redact-running": Trace(
        4, "claim a; plan a; save a = true; redact h1 0 = redacted; save a = false; renew a = false; commit a = epoch"
    ),
    "redact-told": Trace(
        4,
        "request h1 told; claim a; plan a; commit a; finish a compacted; redact h1 3 = redacted; rollback h1 1 = target",
    ),
    "redact-told-before": Trace(
        4, "request h1 told; claim a; plan a; commit a; record h1; redact h1 4 = redacted; rollback h1 1 = rolledback"
    ),
    "redact-told-lives-on": Trace(
        4,
        "request h1 told; claim a; plan a; commit a; finish a compacted; undo h1; record h1; record h1; request h1; "
        "claim b; plan b; commit b = committed; redact h1 3 = redacted; rollback h1 2 = target",
    ),
    "redact-told-phase": Trace(
        4,
        "request h1 phase told; request h1; claim a; plan a; commit a; finish a compacted; redact h1 3 = redacted; "
        "rollback h1 1 = target",
    ),
    "redact-phase": Trace(2, "request h1 phase told; redact h1 0 = redacted; claim a = claim"),
    "redact-note": Trace(2, "request h1 told; redact h1 0 = redacted; claim a = claim"),
    "redact-quoting": Trace(
        4, "claim a; plan a; commit a; adopt h1; redact h1 3 q1 = redacted; rollback h1 1 = target"
    ),
    "redact-older": Trace(
        4,
        "claim a; plan a; commit a; adopt h1; finish a compacted; record h1; record h1; request h1; claim b; plan b; "
        "commit b = committed; finish b compacted; redact h1 4 = redacted; rollback h1 2 = target; rollback h1 1 = rolledback",
    ),
    "redact-once": Trace(3, "redact h1 0 lost = redacted; again h1 = redacted; redact h2 = redacted; claim a = claim"),
    "redact-lost-reply": Trace(3, "record h1 lost; redact h2 0 = redacted; again h1 = recorded; reread h1 = reset"),
    "redact-lost-amend": Trace(
        3, "undo h1 amend 2 lost; open h2; redact h2 0 = redacted; again h1 = undone; reread h1 = reset"
    ),
    "redact-purged-page": Trace(0, "open h1; open h2; record h2; purge h2; open h2; record h2; reread h1 = known"),
    "redact-other-page": Trace(2, "record h1; open h2; failover; record h2; reread h2 = reset"),
    "redact-again": Trace(3, "redact h1 0; redact h2 0 2 = redacted; open h1; record h1 = recorded"),
    "redact-off-path": Trace(
        3, "undo h1; redact h1 2 = redacted; repeat h1 = pathmoved; open h1; repeat h1 = recorded"
    ),
    "redact-same-id": Trace(3, "redact h1 2; open h1; repeat h1 = recorded"),
    "redact-other-content": Trace(3, "redact h1 0; open h1; conflict h1 = recorded"),
    "redact-after-amend": Trace(3, "undo h1 amend 2; redact h1 1 = redacted; open h1; repeat h1 = recorded"),
    "redact-parked": Trace(
        2,
        "claim a; expire; claim a; expire; claim a; expire; claim a = parked; redact h1 0 = redacted; unblock h1 = steered",
    ),
    "redact-grown-tail": Trace(
        1, "record h1 3; mark h1 1; record h1 2; redact h1 = redacted; undo h1 rewind 2 = undone"
    ),
    "redact-moved-generation": Trace(3, "claim a; plan a; mark h1 0; commit a = committed; redact h1 = pathmoved"),
    "redact-moved-epoch": Trace(
        3, "mark h1 0; undo h2; record h2; undo h2; mark h1 0; cancel h2; redact h1 = pathmoved"
    ),
    "redact-moved-log": Trace(3, "record h1; mark h1 3; failover; record h2; redact h1 = pathmoved"),
    "redact-purged": Trace(3, "mark h1 0; purge h2; redact h1 = gone"),
}
