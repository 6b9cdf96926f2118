"""Shortest runs on which a mistake in `pack` or `unpack` does harm. See traces.py."""

from __future__ import annotations

from tests.protocol.traces import Trace

PACKING = {
    "pack-read": Trace(
        6, "pack p 2 = packed; pack p 3 = packed; read 0 6 = read; read 1 4 = read; read 3 6 = read; read 5 6 = read"
    ),
    "pack-record": Trace(3, "pack p 2 = packed; record h1 = recorded; repeat h1 = recorded; conflict h1 = duplicateid"),
    "pack-tail": Trace(3, "open h2; record h1 1 1; pack p 4 = packed; record h2 = recorded; reread h2 = known"),
    "pack-tail-behind": Trace(3, "open h2; record h1; pack p 2 = packed; record h2 = recorded; reread h2 = known"),
    "pack-last": Trace(3, "pack p 3 = pathmoved; pack p 2 = packed; pack p 1 = pathmoved"),
    "pack-grown": Trace(3, "gather p 2; record h1; pack p = packed; read 0 4"),
    "pack-twice": Trace(4, "gather p 2; gather q 3; pack p = packed; pack q = pathmoved; read 0 4"),
    "pack-again": Trace(5, "gather p 2; gather q 2; pack p = packed; pack q = pathmoved; pack q 2 = packed; read 0 5"),
    "pack-redacted": Trace(3, "gather p 2; redact h1 1 = redacted; pack p = pathmoved; pack p 2 = packed; read 0 3"),
    "pack-other-life": Trace(3, "gather p 2; purge h1; open h1; record h1 3; pack p = gone"),
    "pack-other-log": Trace(
        3, "record h1; gather p 4; failover; open h1; record h1; record h1; pack p = pathmoved; read 0 5"
    ),
    "pack-redact": Trace(
        5,
        "pack p 2; pack p 2; redact h1 4 = redacted; redact h1 1 = stillpacked; unpack p = unpacked; "
        "redact h1 1 = stillpacked; unpack p = unpacked; redact h1 1 = redacted; read 0 5",
    ),
    "pack-redact-behind": Trace(5, "pack p 2; redact h1 2 = redacted; read 0 5; reread h1 = reset; open h1; record h1"),
    "pack-redact-once": Trace(3, "redact h1 0 lost; pack p 2 = packed; again h1 = redacted"),
    "unpack-some": Trace(
        5, "pack p 2; pack p 2; unpack p = unpacked; read 0 5; record h1 = recorded; pack p 3 = packed"
    ),
    "unpack-twice": Trace(5, "pack p 2; pack p 2; unpack p = unpacked; unpack q 4 = pathmoved; read 0 5"),
    "unpack-older": Trace(5, "pack p 2; pack p 2; unpack p 2 = pathmoved; read 0 5"),
    "unpack-other-life": Trace(3, "pack p 2; purge h1; unpack p 2 = gone; open h1; record h1"),
    "pack-undo": Trace(4, "pack p 3; undo h1 amend 3 = undone; undo h1 rewind 2 = undone; read 0 5"),
    "pack-commit": Trace(
        4, "claim a; plan a; pack p 3 = packed; commit a = committed; adopt h1; finish a compacted = done; read 0 4"
    ),
    "pack-plan": Trace(4, "pack p 3; claim a; plan a; commit a = committed; rollback h1 0 = rolledback"),
    "pack-purge": Trace(4, "pack p 3; purge h1 = purged; open h1; record h1 = recorded; read 0 1"),
    "pack-lapse": Trace(4, "pack p 3; lapse whole; open h1; record h1 = recorded; read 0 1"),
    "pack-lapse-partly": Trace(4, "pack p 3; lapse partly; open h1; record h1 = recorded; read 0 1"),
    "pack-failover": Trace(4, "pack p 3; failover; read 0 4; record h1 = recorded; pack p 3 = packed; read 0 5"),
    "unpack-failover": Trace(4, "pack p 3; unpack p; failover; read 0 4; record h1 = recorded; read 0 5"),
    "pack-narrow": Trace(3, "pack p 2; narrow h1 50; record h1 = overfull; unpack p; record h1 = overfull"),
    "pack-expiry": Trace(3, "pack p 2; pack p 1 = pathmoved; record h1; pack p 1 = packed; unpack p; record h1"),
}
