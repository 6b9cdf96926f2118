"""The facts of a report on one generation: sizes by author, and each message with its fates and texts.

Pure: `report` makes the value, a shell draws it. Texts are as recorded, cut at `LONGEST`, base64 by its name; whoever shows them escapes them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.fates import Fate, Name, fates
from offturn_engine.formats.base import Format
from offturn_engine.handles import handle, text_behind
from offturn_engine.media import without_encoded
from offturn_engine.messages import Edit, Message
from offturn_engine.plain import Item
from offturn_engine.ranges import contains, ranges_of
from offturn_engine.ranges import label as ranges_label
from offturn_engine.render import render

LONGEST = 20_000  # characters of one text
TITLE = 120  # characters
GRAVEST: Sequence[Name] = ("redacted", "summarised", "omitted", "cleared", "edited", "verbatim")
"""A message with parts of several fates goes under the first of these."""

MADE = {"summary": "summary", "restore": "restored", "synthetic": "tool"}
"""Under which name messages of a view are counted that are not one of the path's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Estimated tokens of all messages of one author, before and after."""

    author: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One part: its fate, its text (`left_out`: characters cut off its end), and what stands in the view instead."""

    fate: Fate
    text: str
    left_out: int
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message of the path. tokens: as recorded; after: in the view, under its own place (0: not there)."""

    handle: str
    author: str
    fate: Name
    title: str
    tokens: int
    after: int
    parts: tuple[Told, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Messages in a row that the summary stands for, or that the view shows. label: their seqs."""

    covered: bool
    label: str
    entries: tuple[Entry, ...]

    @property
    def tokens(self) -> int:
        """As recorded."""
        return sum(entry.tokens for entry in self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a page shows of one generation. Sizes are estimated tokens; `shares` are of the view against the raw path."""

    record: Compaction
    shares: tuple[Share, ...]
    runs: tuple[Run, ...]
    messages_after: int

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All messages, in the order of the path."""
        return tuple(entry for run in self.runs for entry in run.entries)

    @property
    def tokens_before(self) -> int:
        """Of the raw path."""
        return sum(share.before for share in self.shares)

    @property
    def tokens_after(self) -> int:
        """Of the view."""
        return sum(share.after for share in self.shares)

    @property
    def by_fate(self) -> dict[Name, int]:
        """Messages of each fate, those that occur, the untouched ones first."""
        counted = Counter(entry.fate for entry in self.entries)
        return {name: counted[name] for name in reversed(GRAVEST) if counted[name]}

    @property
    def by_rule(self) -> dict[str, int]:
        """Parts by what was done to them, in words, the most frequent first; those that stayed are not counted."""
        rules = (told.fate for entry in self.entries for told in entry.parts)
        return dict(Counter(fate.why for fate in rules if fate.rule != "kept").most_common())


def report(
    path: Sequence[Message], line: Sequence[Compaction], fmt: Format, *, redacted: Collection[int] = ()
) -> Report:
    """The report on the lineage's first record over a path. `redacted`: seqs."""
    record = line[0]
    items = render(path, record, fmt).items
    found = {
        seq: tuple(group) for seq, group in groupby(fates(path, line, redacted=redacted), key=lambda fate: fate.seq)
    }
    own = Counter[int]()
    for item in items:
        if item.kind in ("message", "late", "replay", "pinned"):
            own[item.seq] += item.tokens
    edits = {(edit.seq, edit.part): edit for edit in record.edits}
    entries = [_entry(message, found.get(message.seq, ()), own[message.seq], edits) for message in path]
    runs = groupby(zip(path, entries, strict=True), key=lambda pair: contains(record.covered, pair[0].seq))
    return Report(
        record=record,
        shares=_shares(render(path, NOTHING, fmt).items, items, path),
        runs=tuple(_run(covered, tuple(pairs)) for covered, pairs in runs),
        messages_after=len(items),
    )


def _run(covered: bool, pairs: Sequence[tuple[Message, Entry]]) -> Run:
    label = ranges_label(ranges_of(message.seq for message, _ in pairs))
    return Run(covered=covered, label=label, entries=tuple(entry for _, entry in pairs))


def _shares(before: Iterable[Item], after: Iterable[Item], path: Sequence[Message]) -> tuple[Share, ...]:
    """In the order of a conversation's authors; what only the view has comes last."""
    authors = {message.seq: str(message.origin) for message in path}
    old, new = Counter[str](), Counter[str]()
    for items, counted in ((before, old), (after, new)):
        for item in items:
            counted[MADE.get(item.kind) or authors[item.seq]] += item.tokens
    order = [*dict.fromkeys(("system", "human", "host", "assistant", "tool", *authors.values(), *MADE.values()))]
    return tuple(Share(author=name, before=old[name], after=new[name]) for name in order if old[name] or new[name])


def _entry(message: Message, found: Sequence[Fate], after: int, edits: dict[tuple[int, int], Edit]) -> Entry:
    parts = tuple(_told(message, fate, edits.get((fate.seq, fate.part))) for fate in found)
    names = {fate.fate for fate in found} or {"verbatim"}
    return Entry(
        handle=handle(message.seq),
        author=message.origin,
        fate=next(name for name in GRAVEST if name in names),
        title=next((line for told in parts if (line := " ".join(told.text[: 4 * TITLE].split())[:TITLE])), ""),
        tokens=message.tokens,
        after=after,
        parts=parts,
    )


def _told(message: Message, fate: Fate, edit: Edit | None) -> Told:
    text = without_encoded(text_behind(message, fate.part))
    instead = "" if edit is None else _instead(edit)
    return Told(fate=fate, text=text[:LONGEST], left_out=max(0, len(text) - LONGEST), instead=instead[:LONGEST])


def _instead(edit: Edit) -> str:
    return (
        edit.text
        if edit.text is not None
        else ""
        if edit.arguments is None
        else json.dumps(edit.arguments, ensure_ascii=False)
    )
