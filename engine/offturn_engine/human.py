"""What humans wrote inside the covered ranges, carried into the view by code, word for word.

Rule (invariant 3): all of it verbatim where the budget allows; else the largest, then the oldest, are cut in their
middle, sentences that state a constraint staying; else the oldest are listed by handle with their first characters,
and where thousands of handles do not fit, the oldest of all as one span of handles. Where room is short, words that were
said several times stand once, where they were said last, and the others' room is for facts. Every message is there in
one of the three forms, oldest first, and each form is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from html import escape
from typing import Literal

from offturn_engine.compaction import HumanItem
from offturn_engine.constraints import constraints
from offturn_engine.handles import handle
from offturn_engine.media import without_encoded
from offturn_engine.messages import MediaPart, Message
from offturn_engine.path import Path
from offturn_engine.ranges import Ranges, contains, normalise, ranges_of, union
from offturn_engine.tokens import estimate_text
from offturn_engine.turns import humans, speaks

Order = Literal["largest-first", "newest-kept"]
Measure = Callable[[str], int]

EXCERPT = 80  # characters shown of a message listed by handle
LEAST = 80  # tokens a message keeps when its middle is cut
CONSTRAINTS_SHARE = 0.6  # of a cut message's room, for the constraints in its middle
BARE = "By handle only:"
MIDDLE_CUT = "middle cut"
LISTED = 40  # messages that each keep their handle, whatever the budget
FENCE = "~"
SHORTEST_FENCE = 3

_RUNS = re.compile(f"{FENCE}+")
_HANDLE = re.compile(r"\[m(\d{1,12})\]")
_SPAN = re.compile(r"\[m(\d{1,12})\] to \[m(\d{1,12})\] \([\d,]{1,12} messages\)")


class Form(Enum):
    """How one message is shown."""

    VERBATIM = "verbatim"
    CUT = "cut"
    HANDLE = "handle"
    BARE = "bare"  # by handle, without an excerpt: all such share one line
    SPAN = "span"  # one of the oldest, between the first and the last handle of that line


@dataclass(frozen=True, slots=True)
class HumanBlock:
    """The text for the view, and how many messages are in it verbatim, cut in the middle, and by handle only.

    `quoted`: what the text quotes, by seq, of the messages that are in it verbatim or cut. `freed`: tokens of the budget
    that repetitions would have taken; nothing else of the block has them.
    """

    text: str
    verbatim: int = 0
    cut: int = 0
    by_handle: int = 0
    quoted: Mapping[int, str] = field(default_factory=dict[int, str])
    freed: int = 0


@dataclass(frozen=True)
class Shown:
    """One message in one form, and its tokens. `by_handle`, `bare`: the same in these forms."""

    item: HumanItem
    form: Form
    text: str
    tokens: int
    measure: Measure

    @cached_property
    def by_handle(self) -> Shown:
        if self.form is Form.HANDLE:
            return self
        item = self.item
        first = " ".join(item.text[: EXCERPT * 4].split())
        excerpt = first if len(first) <= EXCERPT and len(item.text) <= EXCERPT * 4 else first[:EXCERPT] + "…"
        told = f"{_head(item, f'{len(item.text):,} characters')} {excerpt}".rstrip()
        return _shown(item, Form.HANDLE, told, self.measure)

    @cached_property
    def bare(self) -> Shown:
        return _shown(self.item, Form.BARE, f"[{handle(self.item.seq)}]", self.measure)


def human_items(messages: Sequence[Message], covered: Ranges | None = None) -> tuple[HumanItem, ...]:
    """One item per human message, in order. `answered`: an assistant message with visible text comes later in the list.

    covered: only of messages with these seqs.
    """
    path = Path.of(messages)
    said = next((i for i in range(len(path) - 1, -1, -1) if path[i].role == "assistant" and speaks(path[i])), -1)
    wanted = (i for i in humans(path) if covered is None or contains(covered, path[i].seq))
    return tuple(_item(path[i], answered=i < said) for i in wanted)


def _item(message: Message, *, answered: bool) -> HumanItem:
    media = sum(isinstance(part, MediaPart) for part in message.parts)
    return HumanItem(seq=message.seq, text=message.text, answered=answered, media=media)


def render(
    items: Sequence[HumanItem],
    *,
    budget: int,
    skip: Collection[int] = (),
    order: Order = "largest-first",
    measure: Measure = estimate_text,
    known: dict[int, Shown] | None = None,
) -> HumanBlock:
    """The items as quotations headed by their handles, oldest first, within `budget` tokens as `measure` counts them.

    Each quotation stands between two lines of `~` longer than any run of `~` inside it, so that no text can end its
    own quotation. `order`: who gives way, the largest and then the oldest, or (`newest-kept`) all but the newest that fit,
    the one at the edge cut in its middle. Budget 0 lists all by handle, the newest `LISTED` with an excerpt. `skip` are seqs that the view
    shows elsewhere; they are not counted. `known`: by seq, what a call for these very items has measured before; it is filled.
    """
    left_out = frozenset(skip)
    kept = {} if known is None else known
    for item in items:
        if item.seq not in kept:
            kept[item.seq] = _verbatim(item, measure)
    shown = [kept[seq] for seq in sorted(item.seq for item in items) if seq not in left_out]
    if budget <= 0:
        old = max(0, len(shown) - LISTED)
        return _block([*map(_spanned, shown[:old]), *(entry.by_handle for entry in shown[old:])])
    whole = _block(shown)
    if measure(whole.text) <= budget:
        return whole
    total = sum(s.tokens for s in shown)
    gives_way = (_list_hopeless, _cut_middles, _list_oldest) if order == "largest-first" else (_list_before_edge,)
    for narrower in (*gives_way, _drop_excerpts, _join_oldest):
        if total <= budget:
            break
        total = narrower(shown, total, budget)
    if order == "newest-kept":
        return _block(shown)
    once = list(shown)
    freed = total - _list_repeated(once, total)
    return _block(once, freed) if freed > 0 else _block(shown)


def accounted(text: str) -> Ranges:
    """The seqs whose handles stand in a rendered text, those inside a span included."""
    named = ranges_of(int(seq) for seq in _HANDLE.findall(text))
    return union(named, normalise((int(low), int(high) + 1) for low, high in _SPAN.findall(text)))


def form_in(summary: str, item: HumanItem) -> Form:
    """How a summary that `render` wrote shows one message: `VERBATIM`, `CUT`, or in whatever way by its `HANDLE`.

    Where the human words are a section of a template they are escaped there, see `draft`.
    """
    whole = _quoted(item, item.text, "")
    if whole in summary or escape(whole, quote=False) in summary:
        return Form.VERBATIM
    return Form.CUT if f"{_head(item, MIDDLE_CUT)}\n{FENCE}" in summary else Form.HANDLE


def _list_hopeless(shown: list[Shown], total: int, budget: int) -> int:
    """List the oldest by handle while not even half of them could be cut into the budget. Returns the new total."""
    least = sum(min(LEAST, s.tokens) for s in shown)
    for i, entry in enumerate(shown):
        if least <= 2 * budget:
            break
        smaller = entry.by_handle
        if smaller.tokens < entry.tokens:
            total += smaller.tokens - entry.tokens
            least += min(LEAST, smaller.tokens) - min(LEAST, entry.tokens)
            shown[i] = smaller
    return total


def _cut_middles(shown: list[Shown], total: int, budget: int) -> int:
    """Cut the largest first, of equals the oldest, each no more than needed. Returns the new total."""
    for i in sorted(range(len(shown)), key=lambda i: (-shown[i].tokens, i)):
        room = max(LEAST, shown[i].tokens - (total - budget))
        if total <= budget or room >= shown[i].tokens:
            break
        smaller = _cut(shown[i], room)
        if smaller.tokens < shown[i].tokens:
            total += smaller.tokens - shown[i].tokens
            shown[i] = smaller
    return total


def _list_oldest(shown: list[Shown], total: int, budget: int) -> int:
    """List by handle, the oldest of the cut ones first, then the oldest of the others. Returns the new total."""
    for i in sorted(range(len(shown)), key=lambda i: (shown[i].form is not Form.CUT, i)):
        if total <= budget:
            break
        smaller = shown[i].by_handle
        if smaller.tokens < shown[i].tokens:
            total += smaller.tokens - shown[i].tokens
            shown[i] = smaller
    return total


def _list_before_edge(shown: list[Shown], _: int, budget: int) -> int:
    """Keep the newest whole, cut the one at the edge in its middle, list those before it. Returns the new total."""
    listed = [entry.by_handle for entry in shown]
    rest = sum(s.tokens for s in listed)
    for i in reversed(range(len(shown))):
        rest -= listed[i].tokens
        room = budget - rest - sum(s.tokens for s in shown[i + 1 :])
        if shown[i].tokens > room:
            shown[i] = _cut(shown[i], room) if room >= LEAST else listed[i]
            shown[:i] = listed[:i]
            break
    return sum(s.tokens for s in shown)


def _drop_excerpts(shown: list[Shown], total: int, budget: int) -> int:
    """Leave only the handles of the oldest. Returns the new total."""
    for i in range(len(shown)):
        if total <= budget:
            break
        total = _leave_handle(shown, i, total)
    return total


def _leave_handle(shown: list[Shown], i: int, total: int) -> int:
    """Leave nothing but its handle of one, where that is smaller. Returns the new total."""
    smaller = shown[i].bare
    if smaller.tokens >= shown[i].tokens:
        return total
    total += smaller.tokens - shown[i].tokens
    if not any(entry.form is Form.BARE for entry in shown):
        total += smaller.measure(BARE + " ")
    shown[i] = smaller
    return total


def _join_oldest(shown: list[Shown], total: int, budget: int) -> int:
    """Leave of the oldest of many nothing but the first and the last handle. Returns the new total."""
    if len(shown) <= LISTED:
        return total
    total += shown[0].measure(_span(["[m999999999]"] * 1_000))
    for i, entry in enumerate(shown):
        if total <= budget:
            break
        total -= entry.tokens
        shown[i] = _spanned(entry)
    return total


def _list_repeated(shown: list[Shown], total: int) -> int:
    """Leave only the handles of what is quoted again later in the same words. Returns the new total."""
    words = {
        i: " ".join(entry.item.text.split())
        for i, entry in enumerate(shown)
        if entry.form is Form.VERBATIM and not entry.item.media
    }
    last = {said: i for i, said in words.items()}
    for i, said in words.items():
        if i < last[said]:
            total = _leave_handle(shown, i, total)
    return total


def _block(shown: Sequence[Shown], freed: int = 0) -> HumanBlock:
    forms = [s.form for s in shown]
    spanned = [s.text for s in shown if s.form is Form.SPAN]
    bare = [_span(spanned)] if spanned else []
    bare += [s.text for s in shown if s.form is Form.BARE]
    texts = [f"{BARE} {' '.join(bare)}"] if bare else []
    texts += [s.text for s in shown if s.form not in (Form.BARE, Form.SPAN)]
    listed = len(forms) - forms.count(Form.VERBATIM) - forms.count(Form.CUT)
    quoted = {s.item.seq: s.text for s in shown if s.form in (Form.VERBATIM, Form.CUT)}
    return HumanBlock("\n".join(texts), forms.count(Form.VERBATIM), forms.count(Form.CUT), listed, quoted, freed)


def _span(handles: Sequence[str]) -> str:
    return f"{handles[0]} to {handles[-1]} ({len(handles):,} messages)"


def _shown(item: HumanItem, form: Form, text: str, measure: Measure) -> Shown:
    return Shown(item, form, text, measure(text + "\n"), measure)


def _verbatim(item: HumanItem, measure: Measure) -> Shown:
    return _shown(item, Form.VERBATIM, _quoted(item, item.text, ""), measure)


def _spanned(entry: Shown) -> Shown:
    return Shown(entry.item, Form.SPAN, f"[{handle(entry.item.seq)}]", 0, entry.measure)


def _head(item: HumanItem, note: str) -> str:
    notes = [note] if note else []
    notes += ["answered"] if item.answered else []
    notes += [f"{item.media} attached"] if item.media else []
    return f"[{handle(item.seq)}]" + (f" ({', '.join(notes)})" if notes else "")


def _quoted(item: HumanItem, text: str, note: str) -> str:
    if not text:
        return _head(item, note)
    fence = fence_for(text)
    return f"{_head(item, note)}\n{fence}\n{text}\n{fence}"


def fence_for(text: str) -> str:
    """A line of `~` longer than any run of `~` in the text."""
    longest = max((len(run) for run in _RUNS.findall(text)), default=0) if FENCE in text else 0
    return FENCE * max(SHORTEST_FENCE, longest + 1)


def _cut(entry: Shown, room: int) -> Shown:
    """The item without base64 where that is enough, else with as much of its head and tail as fits into `room` tokens,
    found by halving."""
    item, measure = entry.item, entry.measure
    words = without_encoded(item.text)
    if words != item.text:
        left = f"{words}\n[base64 left out · recall {handle(item.seq)}]"
        if (bare := _shown(item, Form.CUT, _quoted(item, left, MIDDLE_CUT), measure)).tokens <= room:
            return bare
    pinned = _pinned(item, room, measure)
    low, high = 0, len(item.text)
    best = _shown(item, Form.CUT, _without_middle(item, 0, pinned), measure)
    while high - low > 8:
        keep = (low + high) // 2
        tried = _shown(item, Form.CUT, _without_middle(item, keep, pinned), measure)
        if tried.tokens <= room:
            low, best = keep, tried
        else:
            high = keep
    return best


def _pinned(item: HumanItem, room: int, measure: Measure) -> list[tuple[int, str]]:
    """(position, sentence) of the constraints that may take part of the room, first come first served."""
    left = int(room * CONSTRAINTS_SHARE)
    found: list[tuple[int, str]] = []
    position = 0
    for sentence in constraints(item.text):
        cost = measure(sentence + "\n")
        position = max(item.text.find(sentence, position), 0)
        if cost <= left:
            left -= cost
            found.append((position, sentence))
    return found


def _without_middle(item: HumanItem, keep: int, pinned: Sequence[tuple[int, str]]) -> str:
    text = item.text
    head, tail = text[: keep - keep // 2], text[len(text) - keep // 2 :]
    inside = [s for at, s in pinned if at + len(s) > len(head) and at < len(text) - len(tail)]
    missing = len(text) - len(head) - len(tail)
    marker = f"[… {missing:,} characters omitted · recall {handle(item.seq)}{' · kept from them:' if inside else ''}]"
    lines = [head, marker, *inside, *(["[…]"] if inside else []), tail]
    return _quoted(item, "\n".join(line for line in lines if line), MIDDLE_CUT)
