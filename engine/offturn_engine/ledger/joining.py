"""Joining: facts of earlier and of later messages become one ledger. Associative, whatever the order of joining."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from offturn_engine.compaction import LedgerItem
from offturn_engine.handles import handle
from offturn_engine.ledger.ranking import KINDS, SEPARATOR, name_of, passes, ranked
from offturn_engine.ledger.superseding import superseded
from offturn_engine.ledger.todos import OPEN

MOST = 2_000
"""Facts a generation keeps: what a session learns grows without end, a record must not."""

RANGES = 8
"""Ranges of lines that a bounded ledger keeps of one file; of more, only where they begin and end."""

_LAST_OK = re.compile(r"last ok m(\d{1,12})$")


def merge(base: Sequence[LedgerItem], new: Sequence[LedgerItem]) -> tuple[LedgerItem, ...]:
    """The facts of `base` updated by those of later messages. Associative.

    Same kind and key: the newer replaces, counts add up; a file read after it was changed stays changed; a command
    keeps when it last succeeded, and with that the errors it once raised are known to be gone. Calls still open are
    those of `new`.
    """
    if not new:
        return tuple(base)
    return settled([*(item for item in base if item.kind != "call"), *new])


def bounded(items: Sequence[LedgerItem]) -> tuple[LedgerItem, ...]:
    """The `MOST` facts that a view would show first, ordered as before; the messages that hold the others can be recalled."""
    short = tuple(_hull(item) if item.kind == "file" else item for item in items)
    if len(short) <= MOST:
        return short
    kept = {name_of(i) for i in ranked(short, superseded(short).gone, frozenset())[:MOST]}
    return tuple(item for item in short if name_of(item) in kept)


def settled(items: Iterable[LedgerItem]) -> tuple[LedgerItem, ...]:
    """One item per kind and key, later ones over earlier ones; errors told gone, to-do items dropped; ordered by seq."""
    joined: dict[tuple[str, str], LedgerItem] = {}
    for item in items:
        name = (item.kind, item.key)
        joined[name] = _joined(joined[name], item) if name in joined else item
    passed = {i.key: _last_ok(i) for i in joined.values() if i.kind == "command"}
    listed = joined[("todo", "")].seq if ("todo", "") in joined else -1
    told = (_told(item, passed, listed) for item in joined.values())
    return tuple(sorted(told, key=lambda i: (i.seq, KINDS.index(i.kind), i.key)))


def _joined(old: LedgerItem, new: LedgerItem) -> LedgerItem:
    text = new.text
    if new.kind == "file" and _reads(new):
        text = f"read{_union(old.text[4:], new.text[4:])}" if _reads(old) else old.text
    elif new.kind == "command" and not passes(new) and not _LAST_OK.search(new.text):
        last = _last_ok(old)
        text = f"{new.text}{SEPARATOR}last ok {handle(last)}" if last >= 0 else new.text
    return new.model_copy(update={"text": text, "count": old.count + new.count})


def _reads(file: LedgerItem) -> bool:
    return file.text == "read" or file.text.startswith("read ")


def _union(one: str, other: str) -> str:
    """Ranges of lines as ` 1-40,60-80`, joined where they touch; "" stands for the whole file."""
    if not one or not other:
        return ""
    joined: list[list[int]] = []
    endless = 10**9
    for text in sorted(f"{one.strip()},{other.strip()}".split(","), key=lambda r: int(r.split("-")[0])):
        low, _, high = text.partition("-")
        start, end = int(low), int(high) if high else endless
        if joined and start <= joined[-1][1] + 1:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return " " + ",".join(f"{start}-{'' if end == endless else end}" for start, end in joined)


def _hull(file: LedgerItem) -> LedgerItem:
    ranges = file.text.removeprefix("read ").split(",")
    if not _reads(file) or len(ranges) <= RANGES:
        return file
    return file.model_copy(update={"text": f"read {ranges[0].split('-')[0]}-{ranges[-1].split('-')[1]}"})


def _last_ok(command: LedgerItem) -> int:
    """Where the command last succeeded; -1 where it never did."""
    if passes(command):
        return command.seq
    match = _LAST_OK.search(command.text)
    return int(match.group(1)) if match else -1


def _told(item: LedgerItem, passed: Mapping[str, int], listed: int) -> LedgerItem:
    if item.kind == "todo" and item.seq < listed and item.text in OPEN:
        return item.model_copy(update={"text": "dropped"})
    state, _, source = item.text.partition(SEPARATOR)
    if item.kind != "error" or state != "seen" or passed.get(source, -1) <= item.seq:
        return item
    return item.model_copy(update={"text": f"gone{SEPARATOR}{source}"})
