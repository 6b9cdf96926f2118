"""Fates: what became of each part of each message, by which rule of which generation, and since when.

`fates(path, lineage)` says it for the view of the lineage's first record: that record, the one it was made from, and so
on down to the raw transcript, or to the oldest that is kept. A fate is the same as long as its rule is; the generation
it names is the oldest from which it has been so without a break.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

from offturn_engine.compaction import NOTHING, Compaction, Restore
from offturn_engine.fact_fates import FactFate
from offturn_engine.groups import Pairs, pair
from offturn_engine.handles import handle
from offturn_engine.human import Form, form_in
from offturn_engine.messages import (
    Edit,
    MediaPart,
    Message,
    OpaquePart,
    Origin,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from offturn_engine.notes import with_note
from offturn_engine.plan import HEAD_TRIMMED
from offturn_engine.ranges import contains
from offturn_engine.render import is_system, late_results

Name = Literal["verbatim", "edited", "cleared", "summarised", "omitted", "redacted"]
"""`cleared`: a line with its handle stands for it. `summarised`: what a summary or its facts tell of it is all there is.
`omitted`: no summary tells of it; a fact or its handle may."""

Reason = Literal[
    "kept",
    "quoted",
    "replayed",
    "pinned",
    "restored",
    "restored-part",
    "stub",
    "duplicate",
    "image",
    "images",
    "arguments",
    "middle-cut",
    "reasoning",
    "late",
    "system-note",
    "model",
    "imported",
    "ledger",
    "provider",
    "human-cut",
    "human-by-handle",
    "hidden",
    "head-trimmed",
    "not-text",
    "off-path",
    "redact",
]

RULES: Mapping[Reason, tuple[Name, str]] = MappingProxyType(
    {
        "kept": ("verbatim", "in the view as it was recorded"),
        "quoted": ("verbatim", "a human's words, quoted in the summary"),
        "replayed": ("verbatim", "an open request, shown again after the summary"),
        "pinned": ("verbatim", "pinned by the host, shown again after the summary"),
        "restored": ("verbatim", "shown again as a whole after the summary"),
        "restored-part": ("edited", "a part of it is shown again after the summary"),
        "stub": ("cleared", "a line stands for the result"),
        "duplicate": ("cleared", "a later result says the same"),
        "image": ("cleared", "newer images took its place"),
        "images": ("edited", "its images left: newer ones took their place"),
        "arguments": ("edited", "long arguments of the call were shortened"),
        "middle-cut": ("edited", "its middle was cut so that the view fits"),
        "reasoning": ("omitted", "reasoning is not carried on"),
        "late": ("edited", "told as text, because the view does not hold its call"),
        "system-note": ("edited", "a note on the compaction was added"),
        "model": ("summarised", "by a model"),
        "imported": ("summarised", "by the host that kept the conversation before"),
        "ledger": ("summarised", "by the facts that code took from it"),
        "provider": ("summarised", "by the provider's own compaction"),
        "human-cut": ("edited", "a human's words, cut in the middle: the budget for them was full"),
        "human-by-handle": (
            "omitted",
            "a human's words, listed by handle with the first of them: the budget for them was full",
        ),
        "hidden": ("omitted", "an old tool group that left the view without a summary"),
        "head-trimmed": ("omitted", "among the oldest messages, which the summarizer had no room for"),
        "not-text": ("omitted", "a summary holds neither media nor opaque parts"),
        "off-path": ("omitted", "the session no longer shows it: it was rewound, amended or replaced"),
        "redact": ("redacted", "what it said was deleted on request"),
    }
)
"""By rule: the fate it makes, and the rule in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """One part of one message. `generation` made it so; 0: nothing ever did.

    kind: `text`, `reasoning`, `call`, `result`, `opaque`, or of media what they are, as in `image`.
    earlier: or a generation before that, which is no longer kept. covered: the range (half-open) of the summary that
    accounts for it. gave_way: what had to give way in that generation so that its view fits, counted. facts: what the
    ledger took from the message, a call's and its results' together, and what became of that in the newest generation;
    filled by `Session.explain`, with the first part it gives of each message.
    """

    seq: int
    part: int
    handle: str
    kind: str
    origin: Origin
    fate: Name
    rule: Reason
    generation: int = 0
    earlier: bool = False
    covered: tuple[int, int] | None = None
    gave_way: Mapping[str, int] = field(default_factory=dict)
    facts: tuple[FactFate, ...] = ()

    @property
    def why(self) -> str:
        """The rule in words."""
        return RULES[self.rule][1]


def lineage(record: Compaction, kept: Mapping[int, Compaction]) -> tuple[Compaction, ...]:
    """The record, what it was made from, and so on, as far as that is kept (`kept` by number)."""
    found = [record]
    while (last := found[-1]).number and (base := NOTHING if last.base == 0 else kept.get(last.base)) is not None:
        found.append(base)
    return tuple(found)


def fates(
    path: Sequence[Message],
    line: Sequence[Compaction],
    *,
    redacted: Collection[int] = (),
    wanted: Collection[int] | None = None,
) -> list[Fate]:
    """One for each part of each message of the path, in its order. `line`: of `lineage`. `redacted`, `wanted`: seqs."""
    pairs = pair(path)
    generations: list[_Generation] = []
    for record in reversed(line):
        generations.append(_Generation(path, pairs, record, generations[-1] if generations else None))
    newest = generations[-1]
    return [
        _fate(message, part, "redact") if message.seq in redacted else newest.fate(index, part)
        for index, message in enumerate(path)
        if wanted is None or message.seq in wanted
        for part in range(len(message.parts))
    ]


def off_path(message: Message, *, redacted: bool) -> list[Fate]:
    """Those of a message that the session does not show."""
    rule: Reason = "redact" if redacted else "off-path"
    return [_fate(message, part, rule) for part in range(len(message.parts))]


class _Since(NamedTuple):
    rule: Reason
    generation: _Generation


class _Generation:
    """One record of a lineage, over the path as it is now; `base` is None for the oldest that is known."""

    def __init__(self, path: Sequence[Message], pairs: Pairs, record: Compaction, base: _Generation | None) -> None:
        self.path = path
        self.pairs = pairs
        self.record = record
        self.base = base
        self.edits: dict[tuple[int, int], Edit] = {(e.seq, e.part): e for e in record.edits}
        self.restores: dict[tuple[int, int], Restore] = {(r.seq, r.part): r for r in record.restores}

    def fate(self, index: int, part: int) -> Fate:
        message, (rule, since) = self.path[index], self._since(index, part)
        covered = next((pair for pair in self.record.covered if pair[0] <= message.seq < pair[1]), None)
        number = since.record.number
        return replace(
            _fate(message, part, rule),
            generation=number,
            earlier=bool(number) and since.base is None,
            covered=covered,
            gave_way=since.record.concessions,
        )

    def _since(self, index: int, part: int) -> _Since:
        """The rule, and the oldest generation from which it has held without a break."""
        rule, oldest = self.rule(index, part), self
        while oldest.base is not None and oldest.base.rule(index, part) == rule:
            oldest = oldest.base
        return _Since(rule, oldest)

    def rule(self, index: int, part: int) -> Reason:
        """What makes of this part what the generation's view shows of it."""
        message = self.path[index]
        covered = contains(self.record.covered, message.seq)
        if covered and not self._is_replayed(message, part):
            return self._covered(message, part)
        edit = self.edits.get((message.seq, part))
        if edit is not None:
            lost_media_alone = edit.rule == "image" and isinstance(message.parts[part], ToolResultPart)
            return "images" if lost_media_alone else edit.rule
        if covered:
            return "replayed"
        if part in late_results(self.path, index, self.pairs, self._shown):
            return "late"
        return "system-note" if index == 0 and part == 0 and self._noted else "kept"

    def _covered(self, message: Message, part: int) -> Reason:
        body, place = message.parts[part], (message.seq, part)
        if message.seq in self.record.pinned and (
            message.role == "user" or not isinstance(body, MediaPart | OpaquePart)
        ):
            return "pinned"
        if place in self.restores:
            return "restored" if _as_a_whole(body, self.restores[place]) else "restored-part"
        if isinstance(body, TextPart) and message.seq in self._human:
            return self._human[message.seq]
        if isinstance(body, MediaPart | OpaquePart):
            return "not-text"
        if isinstance(body, ThinkingPart):
            return "reasoning"
        first = self.first(message.seq)
        if first.record.method == "prune":
            return "hidden"
        if message.seq in first.trimmed:
            return "head-trimmed"
        if first.record.method == "remote" and self.record.opaque:
            return "provider"
        return first.record.method if first.record.method in ("model", "imported") else "ledger"

    def first(self, seq: int) -> _Generation:
        """The generation that covered this message first."""
        covered = self.base is not None and contains(self.base.record.covered, seq)
        return self.base.first(seq) if self.base is not None and covered else self

    def _is_replayed(self, message: Message, part: int) -> bool:
        return message.seq == self.record.replay and not isinstance(message.parts[part], ToolResultPart)

    @cached_property
    def _shown(self) -> frozenset[int]:
        return frozenset(i for i, m in enumerate(self.path) if not contains(self.record.covered, m.seq))

    @cached_property
    def _human(self) -> dict[int, Reason]:
        rules: dict[Form, Reason] = {Form.VERBATIM: "quoted", Form.CUT: "human-cut", Form.HANDLE: "human-by-handle"}
        return {item.seq: rules[form_in(self.record.summary, item)] for item in self.record.human}

    @cached_property
    def trimmed(self) -> frozenset[int]:
        """The oldest of what this generation is the first to cover."""
        before = self.base.record.covered if self.base else ()
        fresh = [m.seq for m in self.path if contains(self.record.covered, m.seq) and not contains(before, m.seq)]
        return frozenset(fresh[: self.record.concessions.get(HEAD_TRIMMED, 0)])

    @cached_property
    def _noted(self) -> bool:
        """Did the note change the text of the first message?"""
        raw = self.path[0].raw
        content = raw.get("content")
        return is_system(raw) and isinstance(content, str) and with_note(content, self.record.system_note) != content


def _as_a_whole(body: Part, restore: Restore) -> bool:
    if isinstance(body, ToolResultPart) and body.media:
        return False
    return isinstance(body, TextPart | ToolResultPart) and restore.characters == len(body.text)


def _fate(message: Message, part: int, rule: Reason) -> Fate:
    return Fate(
        seq=message.seq,
        part=part,
        handle=handle(message.seq, part if len(message.parts) > 1 else None),
        kind=_kind(message.parts[part]),
        origin=message.origin,
        fate=RULES[rule][0],
        rule=rule,
    )


def _kind(part: Part) -> str:
    match part:
        case TextPart():
            return "text"
        case ThinkingPart():
            return "reasoning"
        case ToolCallPart():
            return "call"
        case ToolResultPart():
            return "result"
        case MediaPart(kind=kind):
            return kind
        case OpaquePart():
            return "opaque"
