"""What became of the facts that code took from a message: the ledger's side of `fates`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from offturn_engine.audit import judge
from offturn_engine.compaction import Compaction, FactKind, LedgerItem, Verdict
from offturn_engine.formats import parse_all
from offturn_engine.formats.base import Format
from offturn_engine.groups import spans
from offturn_engine.ledger import ledger
from offturn_engine.messages import Message
from offturn_engine.ranges import contains
from offturn_engine.render import render

FactName = Literal[Verdict, "folded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFate:
    """One fact of the ledger that a message told, `kind`, `key` and `text` as they were taken from it.

    fate: `kept` in the view, `recoverable` by handle, `lost`, `mutated` by the summary's prose; or `folded` into the same
    fact as another message told it, that of the seq `into`. verdict: what became of the fact, folded or not.
    """

    kind: str
    key: str
    text: str
    fate: FactName
    verdict: Verdict
    into: int | None = None


def fact_fates(
    path: Sequence[Message], record: Compaction, fmt: Format, wanted: Collection[int]
) -> Mapping[int, tuple[FactFate, ...]]:
    """By seq, of the wanted messages that the record covers; a call and its results share what they told together.

    Over the view that the record makes of this path now. A message that is not covered has told the ledger nothing.
    """
    told = {seq: items for seq, items in _told(path, wanted).items() if contains(record.covered, seq)}
    known = {(item.kind, item.key): item for item in record.facts}
    fresh = {(item.kind, item.key): item for items in told.values() for item, _ in items}
    if not fresh:
        return {}
    items = [*record.facts, *(item for name, item in fresh.items() if name not in known)]
    verdicts = judge(items, parse_all(fmt, render(path, record, fmt).messages), record, path)
    became = {(item.kind, item.key): verdict for item, verdict in zip(items, verdicts, strict=True)}
    return {
        seq: tuple(_fate(item, group, known.get((item.kind, item.key)), became) for item, group in found)
        for seq, found in told.items()
    }


def _told(path: Sequence[Message], wanted: Collection[int]) -> dict[int, list[tuple[LedgerItem, range]]]:
    """What each wanted message and its group told, with the seqs of the group."""
    found: dict[int, list[tuple[LedgerItem, range]]] = {}
    for start, end in spans(path):
        group = path[start:end]
        asked = [message.seq for message in group if message.seq in wanted]
        if asked:
            seqs = range(group[0].seq, group[-1].seq + 1)
            items = [(item, seqs) for item in ledger(group)]
            found.update(dict.fromkeys(asked, items))
    return found


def _fate(
    item: LedgerItem, group: range, known: LedgerItem | None, became: Mapping[tuple[FactKind, str], Verdict]
) -> FactFate:
    verdict = became[item.kind, item.key]
    folded = known is not None and known.seq not in group
    return FactFate(
        kind=item.kind,
        key=item.key,
        text=item.text,
        fate="folded" if folded else verdict,
        verdict=verdict,
        into=known.seq if known is not None and folded else None,
    )
