"""Compactions that another host made, as generations: its summary, and beside it what code says of the same messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_engine.accept import accept
from offturn_engine.boundaries import at
from offturn_engine.compaction import NOTHING, Compaction, Sections
from offturn_engine.draft import Candidate, assemble
from offturn_engine.files import Earlier
from offturn_engine.formats.base import Format
from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Message
from offturn_engine.plan import draft_of
from offturn_engine.templates import IMPORTED
from offturn_engine.transcript_text import clean

Why: TypeAlias = Literal["opaque", "covers_nothing", "covers_less", "broken_invariant"]
WHY: Mapping[str, str] = MappingProxyType(
    {
        "opaque": "only the provider can read the summary",
        "covers_nothing": "nothing comes before what they kept",
        "covers_less": "the one before covers as much",
        "broken_invariant": "the view would not be one a provider takes",
    }
)
ANY_GAIN = float("-inf")


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Why a compaction of another host cannot be a generation. `opaque`: only its provider can read it."""

    why: Why


def imported(
    path: Sequence[Message],
    base: Compaction,
    fmt: Format,
    *,
    policy: Policy,
    limits: Limits,
    covered: int,
    summary: str,
) -> Candidate | NotTaken:
    """The generation that says of `path[:covered]` what the other host's `summary` said; `limits` in estimate units.

    Where the first message it does not cover cannot begin a tail, it covers up to the last one before that can: what the
    host had split stays whole. It is as large as it was: nothing gives way, the next compaction will.
    """
    text = clean(summary).strip()
    if not text:
        return NotTaken("opaque")
    draft = draft_of(path, base, fmt, policy, limits, "manual", base.phases)
    start = max(i for i in legal_cut_points(path) if i <= covered)
    parts = at(path, base.covered, start, system=limits.tail, human=draft.keep_human)
    if not parts.cover:
        return NotTaken("covers_less" if base.covered else "covers_nothing")
    sections = Sections(titles=IMPORTED.titles, bodies=(text,), template=IMPORTED.name)
    made = assemble(replace(draft, split=parts, sections=sections, method="imported", restores=()))
    return NotTaken("broken_invariant") if accept(made, minimum_gain=ANY_GAIN) else made


def ripe(earlier: Earlier, messages: int) -> int:
    """How many of the conversation's messages must be there before it can be a generation: one that it leaves visible."""
    return min(max(earlier.at, earlier.covered + 1), messages)


def taken_over(
    path: Sequence[Message], earlier: Sequence[Earlier], fmt: Format, *, policy: Policy, limits: Limits
) -> tuple[list[Compaction], list[Why]]:
    """All of a conversation's earlier compactions as generations, oldest first and numbered, and why some are none."""
    made: list[Compaction] = []
    refused: list[Why] = []
    for one in earlier:
        base = made[-1] if made else NOTHING
        upto = path[: ripe(one, len(path))]
        found = imported(upto, base, fmt, policy=policy, limits=limits, covered=one.covered, summary=one.summary)
        if isinstance(found, NotTaken):
            refused.append(found.why)
        else:
            given = {"number": base.number + 1, "replaces": base.number}
            made.append(found.compaction.model_copy(update=given))
    return made, refused


def left_out(refused: Sequence[str]) -> tuple[str, ...]:
    """Notes about compactions that are no generations, with counts. A reason that is none of WHY stands as it is."""
    counted = Counter(WHY.get(why, why) for why in refused)
    return tuple(f"{number} earlier compactions not taken over: {why}" for why, number in counted.items())
