"""Compacting with the engine alone, without a model: rounds over a growing log, and what a view then holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from offturn_config.limits import UNLIMITED, Limits
from offturn_config.policy import Policy
from offturn_engine.compaction import NO_SECTIONS, NOTHING, Compaction
from offturn_engine.errors import CannotFit
from offturn_engine.formats.base import Format
from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Message, RawMessage
from offturn_engine.plan import PruneOnly, Skip, apply, emergency, plan
from offturn_engine.render import render

WINDOW = 200_000
STEPS = 10  # halvings of the scale
WIDEST = 40  # windows in a cap at most


@dataclass(frozen=True, slots=True)
class Made:
    """The newest record, its view's text and size; scale: of the limits it was made with; forced: an emergency view."""

    record: Compaction
    text: str
    tokens: int
    scale: float
    forced: bool = False


def text_of(messages: Sequence[RawMessage]) -> str:
    """All that a model is shown, JSON without escapes for other scripts."""
    return "\n".join(json.dumps(m, ensure_ascii=False) for m in messages)


def compacted(path: Sequence[Message], base: Compaction, fmt: Format, policy: Policy, limits: Limits) -> Compaction:
    """The next generation of a manual request, extractive; the base where nothing is to be done."""
    planned = plan(path, base, fmt, policy=policy, limits=limits, reason="manual")
    if isinstance(planned, Skip):
        return base
    made = planned.candidate if isinstance(planned, PruneOnly) else apply(planned, NO_SECTIONS)
    return made.compaction.model_copy(update={"number": base.number + 1, "replaces": base.number})


def parts(path: Sequence[Message], rounds: int) -> Iterator[Sequence[Message]]:
    """The log as it was at each of so many compactions, cut where no group is open."""
    cuts = [i for i in legal_cut_points(path) if i]
    for number in range(1, rounds):
        at = len(path) * number // rounds
        yield path[: min(cuts, key=lambda i: abs(i - at), default=at)]
    yield path


def generations(
    path: Sequence[Message], fmt: Format, policy: Policy, limits: Limits, rounds: int
) -> Iterator[tuple[Sequence[Message], Compaction]]:
    """After each round: the log so far and the record."""
    record = NOTHING
    for grown in parts(path, rounds):
        record = compacted(grown, record, fmt, policy, limits)
        yield grown, record


def within(path: Sequence[Message], fmt: Format, policy: Policy, cap: int, rounds: int) -> Made | None:
    """The fullest last view of at most `cap` tokens (measured by `fmt`), by halving the scale of the policy's limits.

    A policy that makes no such view has its emergency view, which fits any window; None: not even that.
    """
    [made] = within_each(path, fmt, policy, [cap], rounds)
    return made


def within_each(
    path: Sequence[Message], fmt: Format, policy: Policy, caps: Sequence[int], rounds: int
) -> list[Made | None]:
    """As `within`, for several caps: what one of them tried is known to the others."""
    tried: dict[float, Made] = {}
    found: list[Made | None] = []
    for cap in caps:
        widest = WIDEST * cap / WINDOW
        fitting = [scale for scale, made in tried.items() if made.tokens <= cap and scale < widest]
        low = max(fitting, default=0.0)
        high = min((s for s, made in tried.items() if made.tokens > cap and s > low), default=widest)
        while high - low > widest / 2**STEPS:
            scale = (low + high) / 2
            tried[scale] = made = _made(path, fmt, policy, scale, rounds)
            low, high = (scale, high) if made.tokens <= cap else (low, scale)
        best = max((m for m in tried.values() if m.tokens <= cap), key=lambda m: m.tokens, default=None)
        found.append(best or _forced(path, fmt, policy, cap))
    return found


def scaled(policy: Policy, scale: float) -> tuple[Policy, Limits]:
    """The policy for a window of `WINDOW` tokens with all its sizes multiplied: no short history meets a minimum that is
    meant for long ones, and the proportions stay what they are."""
    limits = policy.limits(WINDOW, WINDOW // 10)
    sizes = {f.name: getattr(limits, f.name) for f in fields(limits)}
    gain = policy.prune.minimum_gain
    smaller = policy.override(
        {
            "trigger.buffer": int(policy.trigger.buffer * scale),
            "prune.minimum_gain": int(gain * scale) if isinstance(gain, int) else gain,
        }
    )
    return smaller, replace(
        limits, **{n: size if size >= UNLIMITED else int(size * scale) for n, size in sizes.items()}
    )


def _made(path: Sequence[Message], fmt: Format, policy: Policy, scale: float, rounds: int) -> Made:
    smaller, limits = scaled(policy, scale)
    [*_, (_, record)] = generations(path, fmt, smaller, limits, rounds)
    shown = render(path, record, fmt)
    return Made(record, text_of(shown.messages), shown.tokens, scale)


def _forced(path: Sequence[Message], fmt: Format, policy: Policy, cap: int) -> Made | None:
    smaller, limits = scaled(policy, cap / WINDOW)
    try:
        made = emergency(path, NOTHING, fmt, policy=smaller, limits=replace(limits, usable=cap))
    except CannotFit:
        return None
    return Made(made.compaction, text_of(made.rendering.messages), made.rendering.tokens, cap / WINDOW, forced=True)
