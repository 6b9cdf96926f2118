"""Shortest runs for what ends, fills or damages a session. See traces.py; a message of these takes about 130 bytes."""

from __future__ import annotations

from tests.protocol.traces import Trace

BOUNDS = {
    "lapsed": Trace(
        2,
        "claim a; plan a; save a; lapse; commit a = gone; renew a = false; save a = false; finish a compacted = gone; "
        "request h1 = gone; claim b = idle; sweep = quiet",
    ),
    "next-life": Trace(
        3,
        "open h3; claim a; plan a; prepare h1; request h2 lost; cancel h1 lost; lapse; open h2; record h2 1 1; claim b = claim; "
        "commit a = gone; save a = false; again h1 = gone; emergency h1 = gone; undo h3 = gone; finish a failed = gone",
    ),
    "next-life-purged": Trace(
        2, "purge h1 lost = purged; open h2; record h2; lapse; open h2; record h2; again h1 = gone"
    ),
    "lapsed-purged": Trace(
        2, "lapse; purge h1 = purged; sweep = quiet; open h2; record h2 1 1 = recorded; sweep = due"
    ),
    "lapsed-due": Trace(2, "sweep = due; lapse; sweep = due; unlist; sweep = quiet"),
    "lapsed-begins-due": Trace(2, "lapse; open h2; record h2 = recorded; sweep = quiet; record h2; sweep = due"),
    "lapsed-parked": Trace(
        2, "claim a; expire; claim a; expire; claim a; expire; claim a = parked; lapse; unlist; open h2; record h2 1 1"
    ),
    "lapsed-parked-begins": Trace(
        2,
        "claim a; expire; claim a; expire; claim a; expire; claim a = parked; lapse; open h2; record h2 1 1; sweep = due",
    ),
    "lapsed-partly": Trace(
        3,
        "record h1 lost; claim a; save a; lapse partly; again h1 = gone; open h2; repeat h2 = recorded; record h2 = recorded",
    ),
    "chunk-prolongs": Trace(2, "claim a; save a = true; save a = true"),
    "lists-of-the-living": Trace(2, "unlist; sweep = due; claim a = claim"),
    "full": Trace(
        1,
        "narrow h2 100 = steered; undo h1 amend 1 = overfull; record h1 lost = overfull; again h1 lost = overfull; "
        "narrow h2 150; again h1 = recorded; record h1 = overfull",
    ),
    "full-amended": Trace(2, "narrow h1 150; undo h1 amend 1 = undone; record h1 = overfull; undo h1 = undone"),
    "lost": Trace(
        3,
        "claim a; plan a; commit a; adopt h1; finish a compacted; record h1; request h1; claim b; plan b; commit b; "
        "adopt h1; finish b compacted; evict 2; mend h1 = mended; mend h1 = mended; rollback h1 1 = rolledback",
    ),
    "lost-first": Trace(
        3, "claim a; plan a; commit a; adopt h1; finish a compacted; evict 1; mend h1; claim b = claim"
    ),
    "lost-between": Trace(
        3,
        "claim a; plan a; commit a; finish a compacted; record h1; request h1; claim b; plan b; commit b; "
        "finish b compacted; record h1; request h1; claim c; plan c; commit c; finish c compacted; evict 2; mend h1; "
        "undo h1 rewind 2 = undone; evict 3; mend h1",
    ),
    "lost-two": Trace(
        3,
        "claim a; plan a; commit a; finish a compacted; record h1; request h1; claim b; plan b; commit b; adopt h1; "
        "finish b compacted; evict 1; evict 2; mend h1 = mended; sweep = due",
    ),
    "lost-during": Trace(
        3,
        "claim a; plan a; commit a; finish a compacted; record h1; request h1; claim b; plan b; evict 1; mend h1; "
        "commit b = epoch; finish b superseded = due; claim c; plan c; commit c = committed",
    ),
    "lost-target": Trace(
        3, "claim a; plan a; commit a; finish a compacted; rollback h1 0; evict 1; rollback h1 1 = target; mend h1"
    ),
    "nothing-lost": Trace(3, "claim a; plan a; commit a; mend h1 = mended; finish a compacted; mend h2 = mended"),
    "lapsed-partly-compacted": Trace(
        3, "prepare h1; emergency h1; lapse partly; open h2; record h2 1 = recorded; failover; prepare h2"
    ),
    "hourly-of-the-policy": Trace(
        2,
        "pace h1 1 0 0 0; claim a; plan a; commit a; finish a compacted; record h1 2; claim a; plan a; commit a; "
        "finish a compacted; record h1 2; claim a = limited; request h1; claim a = claim; finish a skipped; hour; "
        "claim a = claim",
    ),
    "interval": Trace(
        2,
        "pace h1 0 600 0 0; claim a; plan a; commit a; finish a compacted; record h1 2; claim a = limited; hour; "
        "claim a = claim",
    ),
    "idle": Trace(
        0,
        "open h1; record h1 1; pace h1 0 0 60 1; record h1 0; sweep = quiet; claim a = idle; record h1 lost; "
        "again h1 = recorded; sweep = due; claim a; finish a skipped = due; claim a; plan a; commit a; "
        "finish a compacted = done; silence = nothing",
    ),
    "idle-silence": Trace(
        0,
        "open h1; record h1 1; pace h1 0 0 60 1; record h1 0; sweep = quiet; silence = silent; "
        "sweep = due; claim a = claim; finish a skipped = done; sweep = quiet; silence = nothing",
    ),
    "idle-later": Trace(
        2,
        "pace h1 0 600 60 1; claim a; plan a; commit a; finish a compacted; record h1 0; silence = silent; "
        "claim a = limited; hour; claim a = claim; finish a skipped = done",
    ),
    "idle-broken": Trace(
        0,
        "open h1; record h1 1; pace h1 0 0 60 1; record h1 0; silence; record h1 0 = recorded; sweep = quiet; "
        "claim a = idle; silence = silent; claim a = claim; record h1 1; finish a skipped = due",
    ),
    "idle-below-floor": Trace(
        0, "open h1; record h1 1; pace h1 0 0 60 3; record h1 0; silence = nothing; sweep = quiet"
    ),
    "idle-off": Trace(
        0, "open h1; record h1 1; pace h1 0 0 60 1; record h1 0; pace h1 0 0 0 0; record h1 0; silence = nothing"
    ),
    "idle-withdrawn": Trace(
        0,
        "open h1; record h1 1; pace h1 0 0 60 1; record h1 0; cancel h1; silence = nothing; record h1 0; silence = silent",
    ),
    "idle-rolled-back": Trace(
        0, "open h1; record h1 1; pace h1 0 0 60 1; record h1 0; rollback h1 0; sweep = quiet; silence = nothing"
    ),
    "idle-then-asked": Trace(
        0,
        "open h1; record h1 1; pace h1 0 0 60 1; record h1 0; request h1 = requested; sweep = due; claim a = claim; "
        "finish a skipped = done",
    ),
    "idle-during-a-job": Trace(
        0,
        "open h1; record h1 1; pace h1 0 0 60 1; request h1; claim a; record h1 0; finish a skipped = done; "
        "sweep = quiet; claim b = idle; silence = silent; claim b = claim; finish b skipped = done; silence = nothing",
    ),
    "idle-during-a-job-below-floor": Trace(
        0,
        "open h1; levels 8 9; record h1 3; record h1 1; pace h1 0 0 60 3; request h1; claim a; plan a; record h1 0; commit a; "
        "finish a compacted = done; silence = nothing",
    ),
    "idle-during-a-failure": Trace(
        0,
        "open h1; record h1 1; pace h1 0 0 60 1; request h1; claim a; record h1 0; finish a failed = due; "
        "claim a = claim; finish a skipped = done; silence = nothing",
    ),
    "idle-during-a-withdrawn-job": Trace(
        0,
        "open h1; record h1 1; pace h1 0 0 60 1; request h1; claim a; cancel h1; record h1 0; finish a superseded = done; "
        "sweep = quiet; silence = silent; claim b = claim; finish b skipped = done; silence = nothing",
    ),
    "steps": Trace(
        0,
        "open h1; levels 8 9; record h1 1; pace h1 0 0 0 0 step2; record h1 1 = recorded; sweep = due; claim a = claim; "
        "plan a prune; commit a; finish a pruned = done; record h1 1 = recorded; sweep = quiet; record h1 1; claim a = claim; "
        "finish a resting = done; record h1 1; sweep = quiet; record h1 1; sweep = due",
    ),
    "steps-are-free": Trace(
        0,
        "open h1; levels 5 9; record h1 1; pace h1 1 0 0 0 step2; record h1 1; claim a; finish a pruned = done; "
        "record h1 2; claim a = claim; finish a pruned = done; record h1 2; claim a = claim; finish a compacted = due; "
        "claim a = limited",
    ),
    "steps-paid": Trace(
        0,
        "open h1; levels 8 9; record h1 1; pace h1 1 0 0 0 step2; record h1 1; claim a; finish a compacted = done; "
        "record h1 2; claim a = claim; finish a pruned; record h1 2 2; claim a = limited",
    ),
    "steps-hold-nothing": Trace(
        0,
        "open h1; levels 3 9; record h1 1; pace h1 0 0 0 0 step2; record h1 1; claim a; finish a no-gain = done; "
        "record h1 1; sweep = due",
    ),
    "steps-of-what-was-there": Trace(
        0,
        "open h1; levels 8 9; record h1 1; pace h1 0 0 0 0 step2; record h1 1; claim a; record h1 2; "
        "finish a resting = due",
    ),
    "steps-superseded": Trace(
        0,
        "open h1; levels 8 9; record h1 1; pace h1 0 0 0 0 step2; record h1 1; claim a; finish a superseded = due",
    ),
    "steps-rolled-back": Trace(
        0,
        "open h1; levels 8 9; record h1 1; pace h1 0 0 0 0 step1; record h1 1; claim a; plan a prune; commit a; "
        "finish a pruned = done; record h1 1; rollback h1 0 = rolledback; sweep = quiet; record h1 1; sweep = quiet; "
        "record h1 1; sweep = due",
    ),
    "steps-dropped": Trace(
        0,
        "open h1; levels 8 9; record h1 1; pace h1 0 0 0 0 step1; record h1 1; sweep = due; cancel h1 held = steered; "
        "sweep = quiet; record h1 1; sweep = quiet; record h1 1; sweep = due",
    ),
    "steps-and-silence": Trace(
        0,
        "open h1; levels 8 9; record h1 1; pace h1 0 0 60 1 step3; record h1 0; silence = silent; record h1 2; "
        "sweep = due; claim a = claim; finish a pruned = done",
    ),
    "allotted": Trace(
        1,
        "allot 200; record h1 0 = recorded; record h1 0 = overfull; record h1 0 0 = overfull; undo h1 amend 1 = overfull; "
        "undo h1 = undone; purge h1 = purged; open h1; record h1 = recorded; allot all; record h1 0 0 0 = recorded",
    ),
    "allotted-once": Trace(1, "allot 200; record h1 0 lost = recorded; again h1 = recorded; repeat h1 = overfull"),
    "counted": Trace(
        2, "record h1; account; lapse; account; open h1; record h1 = recorded; account; redact h1 0; account"
    ),
    "counted-lapsed": Trace(2, "lapse; open h1; record h1 = recorded; account; purge h1; account"),
    "counted-expired-purge": Trace(1, "lapse; purge h1 = purged; account"),
    "deferred": Trace(
        2,
        "claim a; finish a deferred = due; claim a; finish a deferred = due; claim a; finish a deferred = due; "
        "claim a = claim; finish a deferred = due; claim a = claim",
    ),
}
