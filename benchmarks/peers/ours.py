"""What offturn makes of a history under a preset that follows a peer, in the terms a peer is compared in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from offturn_config.presets import load
from offturn_engine.compaction import NOTHING, Compaction, Sections
from offturn_engine.draft import Candidate
from offturn_engine.formats import get
from offturn_engine.messages import Message
from offturn_engine.plan import Summarise, apply, plan
from offturn_engine.templates import TEMPLATES

TOLERANCE = 0.05  # of the peer's tokens (rule B1)
BRIDGE = {"role": "assistant", "content": "Done; next."}
"""What the peer's driver puts between a compacted history and what follows it."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Indices of the first covered message and of the first of the tail; tokens after, by `rough`."""

    head: int
    tail: int
    after: int


def rough(messages: Sequence[Mapping[str, Any]]) -> int:
    """Tokens as the peer measures a list without images: characters of the messages' Python text / 4."""
    return (sum(len(str(dict(m))) for m in messages) + 3) // 4


def compacted(
    history: Sequence[Any], *, preset: str, window: int, summary: int, more: Sequence[Any] = ()
) -> tuple[Cut | None, int | None]:
    """The first cut, and the tokens after a second compaction once `more` has followed; None where there is none.

    summary: characters of each summary.
    """
    first = _made(history, NOTHING, preset, window, summary)
    if first is None or first.draft.split is None:
        return None, None
    path, cover = first.draft.path, first.draft.split.cover
    head = next(i for i, m in enumerate(path) if m.seq == cover[0][0])
    cut = Cut(head, first.draft.split.tail, rough(first.rendering.messages))
    if not more:
        return cut, None
    base = first.compaction.model_copy(update={"number": 1})
    second = _made([*history, BRIDGE, *more], base, preset, window, summary)
    return cut, None if second is None else rough(second.rendering.messages)


def _made(history: Sequence[Any], base: Compaction, preset: str, window: int, summary: int) -> Candidate | None:
    policy = load(preset)
    fmt = get("openai-chat", policy.trigger.estimator)
    path: list[Message] = [fmt.parse(raw, index=i).placed(i) for i, raw in enumerate(history)]
    found = plan(path, base, fmt, policy=policy, limits=policy.limits(window), reason="manual")
    if not isinstance(found, Summarise):
        return None
    template = policy.summary.template
    title = TEMPLATES[template].titles[0]
    return apply(found, Sections(template=template, titles=(title,), bodies=("word " * (summary // 5),)))
