"""Shortest runs on which a known mistake in the protocol does harm, and what a correct store answers.

`STEP = ANSWER`; a step without an answer only prepares. Messages weigh one token, thresholds are soft 2, hard 4,
growth 2; `messages` are recorded by host h1 before the first step. Keys are the mistakes' names.
"""

from __future__ import annotations

from typing import NamedTuple


class Trace(NamedTuple):
    messages: int
    steps: str


TRACES = {
    "no-fence": Trace(
        2, "claim a; plan a; save a; expire; claim b = claim; commit a = fence; finish a compacted = fence"
    ),
    "no-op-ids": Trace(3, "record h1 lost = recorded; again h1 = recorded"),
    "fence-reset": Trace(2, "claim a; plan a all; failover; save a; sweep = due; claim b = claim; commit a = fence"),
    "lost-dirty": Trace(2, "claim a; request h1; plan a; save a; commit a = committed; finish a compacted = due"),
    "unfenced-purge": Trace(0, "open h1; record h1 lost; open h2; purge h2; again h1 = gone"),
    "base-only": Trace(
        3, "prepare h1; claim a; plan a; emergency h1 lost; save a; commit a = committed; again h1 = committed"
    ),
    "base-only-aba": Trace(3, "claim a; plan a; prepare h1; emergency h1; rollback h1 0; save a; commit a = epoch"),
    "no-epoch": Trace(3, "claim a; undo h1; plan a; save a; commit a = epoch; finish a superseded"),
    "no-chain": Trace(
        2, "open h2; claim a; record h1; plan a all; failover; save a; commit a = chain; record h2; commit a = chain"
    ),
    "split-finish": Trace(2, "claim a; plan a; save a; commit a; record h1; finish a compacted = due"),
    "job-id-generation": Trace(2, "claim a; claim b = busy; sweep = quiet; expire; sweep = due; claim b = claim"),
    "results-kept": Trace(2, "claim a; expire; claim b = claim; finish b failed = due; claim c = claim"),
    "written-op-ids-later": Trace(
        3, "record h1 lost = recorded; open h2; record h2 = recorded; again h1 = recorded; record h1 = recorded"
    ),
    "written-op-ids": Trace(3, "rollback h1 0 lost = rolledback; again h1 = rolledback"),
    "written-first-record": Trace(0, "open h1; record h1 lost; open h2; record h2; purge h2; again h1 = gone"),
    "written-links": Trace(
        3,
        "prepare h1; record h2; prepare h2; emergency h1 lost; claim a; plan a; emergency h2 = committed; save a; "
        "commit a = committed",
    ),
    "written-provisional": Trace(3, "prepare h1; record h2; prepare h2; emergency h2 lost; emergency h1 = fuller"),
    "written-finish": Trace(3, "prepare h1; emergency h1 lost; claim a; record h2; finish a skipped = due"),
    "written-undo-due": Trace(
        4,
        "claim a; plan a; save a; commit a; undo h1; finish a compacted = done; undo h1; sweep = due; claim b = claim",
    ),
    "written-undo-newest": Trace(
        3, "claim a; plan a; save a; commit a; rollback h1 0 lost; undo h1; finish a compacted = done"
    ),
    "written-rollback-path": Trace(4, "claim a; plan a; save a; commit a; undo h1; undo h1; rollback h1 1 = target"),
    "written-rollback-due": Trace(
        3,
        "record h1; claim a; plan a; save a; commit a; finish a compacted = done; rollback h1 0 = rolledback; "
        "sweep = due; claim b = claim",
    ),
    "written-revision": Trace(3, "claim a; plan a; save a; commit a; adopt h1; failover; rollback h1 0 = rolledback"),
}

# what the searches above do not reach: the other rows of "outcome to due", parking, holds, ids, moved paths
MORE = {
    "released-twice": Trace(2, "claim a; finish a skipped = due; finish a skipped = fence; renew a = false"),
    "renewed-after-expiry": Trace(2, "claim a; expire; renew a = true; claim b = busy; finish a failed = due"),
    "renewed-in-vain": Trace(2, "claim a; undo h1; renew a = false; finish a superseded = done"),
    "renewed-too-late": Trace(2, "claim a; expire; claim b; renew a = false; renew b = true; save a = true"),
    "failed-stays": Trace(2, "claim a; finish a failed = due; claim b = claim"),
    "no-gain-holds": Trace(
        2, "claim a; finish a no-gain = done; record h1 = recorded; sweep = quiet; record h1; sweep = due"
    ),
    "hard-ignores-hold": Trace(3, "claim a; finish a no-gain = done; record h1; sweep = due"),
    "parked": Trace(
        2,
        "claim a; expire; claim a; expire; claim a; expire; claim a = parked; record h1; claim a = idle; "
        "request h1; claim a = claim",
    ),
    "withdrawn-requests": Trace(2, "claim a; request h1; rollback h1 0; finish a failed = done; sweep = quiet"),
    "ids": Trace(2, "repeat h1 = recorded; conflict h1 = duplicateid; repeat h2 lost; again h2 = recorded"),
    "behind": Trace(3, "record h1; failover; record h1 = behindlog; open h1; record h1 = recorded"),
    "phases-stay": Trace(
        3,
        "request h1 phase told; record h1; claim a = claim; finish a resting = done; request h1 phase; record h1; "
        "claim b = claim; request h1 phase; plan b; commit b = committed; finish b compacted = due; claim a = claim",
    ),
    "phases-of-a-host's-emergency": Trace(
        4,
        "request h1 phase told; prepare h1; emergency h1 = committed; claim a = claim; plan a all; commit a = committed",
    ),
    "phases-of-a-copy": Trace(
        0,
        "open h1; record h1 2 2 copied = recorded; record h1 2 copied = recorded; request h1 phase; claim a = claim; plan a; "
        "commit a = committed",
    ),
    "stale-adopt": Trace(
        3, "claim a; plan a; commit a; adopt h1 grown = stale; adopt h1 = adopted; adopt h1 = adopted"
    ),
    "gone": Trace(
        2,
        "claim a; plan a; prepare h1; purge h2; commit a = gone; finish a compacted = gone; save a = false; renew a = false; "
        "emergency h1 = gone; request h1 = gone; rollback h2 0 = gone; adopt h2 = gone; claim b = idle",
    ),
    "another-life": Trace(
        2, "claim a; plan a; purge h1; open h2; record h2 1 1; claim b; commit a = gone; finish a failed = gone"
    ),
    "covers-less": Trace(3, "claim a; plan a; record h1; prepare h1; emergency h1; commit a = fuller"),
    "withdrawn-stays": Trace(2, "claim a; request h1; rollback h1 0; finish a skipped = done; claim b = idle"),
    "withdrawn-after-a-commit": Trace(
        2,
        "claim a; plan a; commit a; request h1; rollback h1 0 = rolledback; finish a compacted = done; claim b = idle",
    ),
    "hole": Trace(4, "claim a; plan a; commit a; undo h1; undo h1; record h1; rollback h1 1 = target"),
    "host-full": Trace(3, "prepare h1 full; emergency h1 = fence"),
    "host-twice": Trace(3, "prepare h1; prepare h2; emergency h1 = committed; emergency h2 = fuller"),
    "undo-once": Trace(4, "undo h1 lost = undone; again h1 = undone; undo h1 rewind 0 = nothing"),
    "moved-tail": Trace(3, "look h1; record h2; undo h1 = pathmoved; undo h1 = undone"),
    "moved-generation": Trace(3, "claim a; plan a; look h1; commit a = committed; undo h1 = pathmoved"),
    "moved-epoch": Trace(3, "look h1; cancel h2; undo h1 = pathmoved"),
    "moved-log": Trace(3, "record h1; look h1; failover; record h2; undo h1 = pathmoved"),
    "undo-all": Trace(2, "undo h1 rewind 2 = undone; record h1 = recorded; undo h1 = undone"),
    "amend-covered": Trace(
        4,
        "claim a; plan a; commit a; undo h1 amend 3 = undone; finish a compacted = due; claim b; plan b; rollback h1 1 = target",
    ),
    "amend-tail": Trace(
        4, "claim a; plan a; commit a; finish a compacted; undo h1 amend 1; rollback h1 1 = rolledback"
    ),
    "amend-twice": Trace(
        4, "undo h1 amend 3; undo h1 amend 2 = undone; claim a; plan a; commit a = committed; undo h1 = undone"
    ),
    "amended-then-covered": Trace(
        4,
        "undo h1 amend 3; record h1; claim a; plan a; commit a = committed; undo h1 = undone; rollback h1 1 = rolledback",
    ),
    "amend-by-claim": Trace(4, "claim a; plan a; undo h1 amend 1; commit a = epoch; finish a superseded = due"),
    "undo-along-replaces": Trace(
        3,
        "claim a; plan a; commit a; finish a compacted; rollback h1 0; record h1; request h1; claim b; plan b; "
        "commit b = committed; undo h1 rewind 2 = undone",
    ),
    "unfit": Trace(4, "claim a; plan a; commit a; undo h1 unfit 1 = undone; finish a compacted = due"),
    "mirrored": Trace(
        4,
        "claim a; plan a; undo h1 mirror 2 lost = undone; again h1 = undone; commit a = epoch; finish a superseded = due; "
        "record h1 = recorded; repeat h1 = recorded",
    ),
    "mirrored-tail": Trace(
        4, "claim a; plan a; commit a; finish a compacted; undo h1 mirror 1 = undone; rollback h1 1 = rolledback"
    ),
    "mirrored-front": Trace(
        3, "claim a; plan a; commit a; undo h1 insert 3 = undone; finish a compacted = due; undo h1 rewind 2 = undone"
    ),
    "shadow": Trace(3, "claim a; plan a; commit a; undo h1 shadow 1 = undone; adopt h1 = adopted; undo h1 = undone"),
    "shadow-older": Trace(
        4,
        "claim a; plan a; commit a; adopt h1; record h1; request h1; finish a compacted; claim b; plan b; commit b; "
        "undo h1 shadow 3 = undone",
    ),
    "id-again": Trace(3, "undo h1 = undone; repeat h1 = recorded; repeat h2 = recorded; conflict h1 = duplicateid"),
    "purged-twice": Trace(3, "purge h1 lost = purged; again h1 lost = purged; open h2; record h2; again h1 = gone"),
    "purged-with-all": Trace(
        3,
        "request h1; claim a; plan a; save a; commit a; purge h2 = purged; sweep = quiet; undo h1 = gone; cancel h1 = gone; "
        "configure h2 1 4 = gone; unblock h2 = gone; record h1 = gone",
    ),
    "purged-parked": Trace(2, "claim a; expire; claim a; expire; claim a; expire; claim a = parked; purge h1 = purged"),
    "configured": Trace(
        3, "claim a; plan a; configure h1 8 9 lost = steered; again h1; commit a = epoch; finish a superseded = done"
    ),
    "configured-by-two": Trace(
        3,
        "configure h1 8 9 = steered; configure h2 8 8 stale = pathmoved; configure h2 8 8 = steered; configure h1 1 2 stale lost = pathmoved",
    ),
    "configured-lower": Trace(1, "sweep = quiet; configure h1 1 4 = steered; sweep = due; claim a = claim"),
    "cancelled": Trace(
        1,
        "request h1; claim a; plan a all; cancel h1 lost = steered; again h1; commit a = epoch; finish a failed = done",
    ),
    "cancelled-pressing": Trace(3, "request h1; cancel h1 = steered; sweep = due; claim a = claim"),
    "dropped": Trace(
        2,
        "request h1; cancel h1 held lost = steered; again h1; sweep = quiet; claim a = idle; record h1; sweep = quiet; "
        "record h1; sweep = due; claim a = claim",
    ),
    "dropped-hard": Trace(
        4, "claim a; cancel h1 held = steered; finish a failed = done; claim b = idle; record h1; claim b = claim"
    ),
    "dropped-and-taken-back": Trace(
        4, "cancel h1 held = steered; sweep = quiet; unblock h1 = steered; sweep = due; claim a = claim"
    ),
    "unblocked": Trace(
        2,
        "claim a; expire; claim a; expire; claim a; expire; claim a = parked; unblock h1 lost = steered; again h1; "
        "claim a = claim; expire; claim a = claim",
    ),
    "too-dense": Trace(
        4,
        "claim a; finish a no-gain = done; claim a = idle; record h1; claim a; finish a no-gain = done; record h1; "
        "claim b; request h1; finish b no-gain = done; "
        "sweep = quiet; record h1 = recorded; sweep = quiet; claim a = idle; request h1 lost = requested; again h1; "
        "claim a = idle; prepare h1; emergency h1 = committed; unblock h1 = steered; record h1 5; claim a = claim",
    ),
    "too-dense-in-vain": Trace(
        2,
        "record h1 5; claim a; plan a; commit a; finish a compacted = due; claim a; plan a; commit a; "
        "finish a pruned = due; claim a; finish a failed; claim a; plan a; commit a; finish a compacted = due; "
        "claim a = blocked; sweep = quiet; undo h1 = undone; sweep = quiet; rollback h1 0 = rolledback; record h1 5; "
        "claim a = claim; finish a no-gain = done; record h1; claim a = claim",
    ),
    "grown": Trace(
        2,
        "record h1 5; claim a; finish a no-gain; record h1; claim a; finish a no-gain = done; record h1; claim a; plan a; "
        "commit a; record h1 5; finish a compacted = due; claim a = claim; finish a no-gain; record h1; claim a = claim",
    ),
    "room-made": Trace(
        4,
        "claim a; finish a no-gain; record h1; claim a; plan a; commit a; finish a compacted = done; request h1; "
        "claim a = claim",
    ),
    "small-is-not-dense": Trace(
        1,
        "request h1; claim a; finish a no-gain = done; request h1; claim a; finish a no-gain = done; request h1; "
        "claim a; finish a no-gain = done; record h1 5; claim a = claim",
    ),
    "resting-holds": Trace(
        2, "claim a; finish a resting = done; record h1 = recorded; sweep = quiet; record h1; sweep = due"
    ),
    "resting-is-not-dense": Trace(
        4,
        "claim a; finish a resting = done; record h1; claim a; finish a resting = done; record h1; claim a; "
        "finish a resting = done; record h1; claim a = claim",
    ),
    "tried-before-it-grew": Trace(
        4,
        "claim a; record h1; finish a no-gain = due; claim a; finish a no-gain = done; sweep = quiet; "
        "configure h1 1 2 = steered; claim a = claim",
    ),
    "tried-in-another-epoch": Trace(4, "claim a; configure h1 1 2 = steered; finish a no-gain = due; claim a = claim"),
    "asked-in-another-epoch": Trace(
        1, "request h1; claim a; undo h1 amend 1 = undone; finish a skipped = due; claim a; finish a no-gain = done"
    ),
    "asked-the-same-again": Trace(
        4,
        "claim a; finish a no-gain = done; request h1; claim a; finish a no-gain = done; request h1; claim a; "
        "finish a no-gain = done; request h1; claim a = claim; finish a resting = done; record h1; claim a = claim",
    ),
    "superseded-and-nothing-left": Trace(2, "claim a; undo h1 = undone; finish a superseded = done; claim a = idle"),
    "adopted-is-nothing-new": Trace(
        4,
        "claim a; plan a; commit a; record h1 5; finish a compacted = due; claim a; finish a no-gain = done; "
        "adopt h1 = adopted; sweep = quiet",
    ),
    "emergency-after-a-try": Trace(
        4,
        "record h1 9; claim a; finish a resting = done; prepare h1; emergency h1 = committed; sweep = due; claim a = claim",
    ),
    "unblock-lifts-holds": Trace(2, "claim a; finish a no-gain = done; unblock h1 = steered; sweep = due"),
    "providers-away": Trace(
        2,
        "claim a; finish a unavailable = due; claim a; finish a deferred = due; claim a; finish a unavailable = due; "
        "claim a; finish a unavailable = due; claim a = claim; finish a skipped; claim a = claim",
    ),
    "ends-are-told": Trace(
        2, "claim a; expire; claim b; finish b failed; claim a; finish a failed; claim b = parked; request h1; claim b"
    ),
    "hourly": Trace(
        4,
        "claim a; plan a; commit a; record h1 5; finish a compacted = due; claim a; plan a; commit a; record h1 5; "
        "finish a compacted = due; claim a; plan a; commit a; record h1 5; finish a pruned = due; claim a; plan a; "
        "commit a; record h1 5; finish a compacted = due; claim a = limited; sweep = due; request h1; claim a = claim; "
        "finish a skipped = due; claim a = limited; hour; claim a = claim",
    ),
    "two-winners": Trace(
        3, "claim a; plan a; expire; claim b; plan b; commit b = committed; commit a = fence; commit b = committed"
    ),
    "commit-again": Trace(
        3,
        "claim a; plan a; commit a = committed; expire; claim b = claim; plan b; commit a = committed; "
        "commit b = committed; commit a = committed; finish a compacted = fence; rollback h1 1 = rolledback; "
        "commit b = committed; purge h1; commit a = gone",
    ),
}
