"""Shortest runs on which a mistake in the archive's scripts does harm. See traces.py."""

from __future__ import annotations

from tests.protocol.traces import Trace

ARCHIVE = {
    "archived": Trace(
        1,
        "archive = kept; archive = archived; record h1 = archived; request h1 = archived; reread h1 = archived; "
        "want = true; sweep = due; claim a = archived; restore = true; sweep = quiet; record h1 = recorded; want = false; "
        "sweep = due; restore = false",
    ),
    "archived-whole": Trace(
        4,
        "claim a; plan a; save a; commit a; adopt h1; finish a compacted; archive = kept; restore; rollback h1 0 = rolledback; "
        "rollback h1 1 = rolledback",
    ),
    "archive-due": Trace(
        2, "archive = due; claim a; archive = running; plan a; commit a; finish a compacted; archive = kept"
    ),
    "archive-asleep": Trace(
        0, "open h1; record h1 1; pace h1 0 0 60 1; record h1 0; archive = due; silence; archive = due"
    ),
    "archive-expired-claim": Trace(2, "claim a; expire; archive = due"),
    "archive-changed": Trace(1, "archive record+h1+0 = changed; record h1 0 = recorded; archive = kept"),
    "archive-twice-at-once": Trace(1, "archive archive = changed; restore = true"),
    "archive-purged-meanwhile": Trace(1, "archive purge+h1 = changed; open h1; record h1 = recorded"),
    "restore-another": Trace(
        1,
        "archive = kept; restore = true; record h1 0; archive = kept; restore old = false; restore = true; record h1 0",
    ),
    "restore-purged": Trace(
        1,
        "archive; restore; archive; purge h1 = purged; restore old = false; restore = false; open h1; record h1 = recorded",
    ),
    "archived-purged": Trace(
        1, "archive; want; purge h1 = purged; sweep = quiet; purge h1 = purged; open h1; record h1"
    ),
    "archived-purged-by-another-life": Trace(
        1, "purge h1; open h2; record h2; archive = kept; purge h1 = gone; restore = true; record h2 = recorded"
    ),
    "archived-lapsed": Trace(
        1, "archive; forget; lapse; forget; restore = false; open h1; record h1 = recorded; forget"
    ),
    "archived-lapsed-again": Trace(
        1,
        "archive; lapse; open h1; record h1 = recorded; archive = kept; forget; restore = true; record h1 0 = recorded",
    ),
    "archived-failover": Trace(
        1, "archive; failover; record h1 0 = recorded; archive = kept; restore; failover; restore"
    ),
    "archived-twice": Trace(1, "archive; restore; record h1 0; archive = kept; restore = true; record h1 0 = recorded"),
}
