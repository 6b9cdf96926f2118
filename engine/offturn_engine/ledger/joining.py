"""Joining: facts of earlier and of later messages become one ledger. Associative, whatever the order of joining."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from offturn_engine.compaction import LedgerItem
from offturn_engine.handles import handle
from offturn_engine.ledger.found import Fact, Found, item, times, told
from offturn_engine.ledger.ranking import PLACE, SEPARATOR, Name, name_of, passes, ranked
from offturn_engine.ledger.superseding import superseded
from offturn_engine.ledger.todos import OPEN, number_of

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


def settled(items: Iterable[Found]) -> tuple[LedgerItem, ...]:
    """One item per kind and key, later ones over earlier ones; errors told gone, to-do items dropped; ordered by seq."""
    joined: dict[Name, Found] = {}
    numbered: dict[str, Name] = {}  # a to-do item's number: who was last created under it
    for fact in items:
        name = name_of(fact)
        if fact.kind == "todo" and (number := number_of(fact.key)):
            if number[1]:
                numbered[number[0]] = name
            elif number[0] in numbered:
                name = numbered[number[0]]
        joined[name] = _joined(joined[name], fact) if name in joined else fact
    passed = {i.key: _last_ok(i) for i in joined.values() if i.kind == "command"}
    listed = joined[("todo", "")].seq if ("todo", "") in joined else -1
    now = [_told(fact, passed, listed) for fact in joined.values()]
    now.sort(key=lambda i: (i.seq, PLACE[i.kind], i.key))
    return tuple([item(fact) for fact in now])


def _joined(old: Found, new: Found) -> Fact:
    text = new.text
    if new.kind == "file" and _reads(new):
        text = f"read{_union(old.text[4:], new.text[4:])}" if _reads(old) else old.text
    elif new.kind == "command" and not passes(new) and not _LAST_OK.search(new.text):
        last = _last_ok(old)
        text = f"{new.text}{SEPARATOR}last ok {handle(last)}" if last >= 0 else new.text
    elif new.kind == "todo" and new.key != old.key:
        return Fact(old.kind, old.key, text, old.seq, times(old) + times(new))
    return Fact(new.kind, new.key, text, new.seq, times(old) + times(new))


def _reads(file: Found) -> bool:
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


def _last_ok(command: Found) -> int:
    """Where the command last succeeded; -1 where it never did."""
    if passes(command):
        return command.seq
    match = _LAST_OK.search(command.text)
    return int(match.group(1)) if match else -1


def _told(fact: Found, passed: Mapping[str, int], listed: int) -> Found:
    if fact.kind == "todo" and fact.seq < listed and fact.text in OPEN and number_of(fact.key) is None:
        return told(fact, "dropped")
    if fact.kind != "error":
        return fact
    state, _, source = fact.text.partition(SEPARATOR)
    if state != "seen" or passed.get(source, -1) <= fact.seq:
        return fact
    return told(fact, f"gone{SEPARATOR}{source}")
