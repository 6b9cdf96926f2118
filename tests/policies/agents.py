"""Conversations of agents that read files, for tests of what stands around a summary. `compacted` asks no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn_config.presets import load
from offturn_engine.accept import accept
from offturn_engine.compaction import NO_SECTIONS, NOTHING, Compaction
from offturn_engine.draft import Candidate
from offturn_engine.formats import get, parse_all
from offturn_engine.messages import Message, RawMessage
from offturn_engine.plan import PruneOnly, Summarise, apply, plan
from tests.integration.host import calls, human, long_text, result, says

WINDOW = 200_000

ASKED = {
    "English": "Please look at the file with the number {n} and tell me what you think about it.",
    "Spanish": "Por favor, mira el archivo con el número {n} y dime qué hay que hacer con esto.",
    "Chinese": "请你看一下第 {n} 个文件, 然后告诉我你觉得应该怎么修改它。",
}


def reading(fmt: str, count: int, *, size: int = 24_000, asked: str = ASKED["English"]) -> list[RawMessage]:
    """Turns that read a file each, `size` characters long: a request, a call, its result, an answer."""
    return [message for n in range(count) for message in turn(fmt, n, size=size, asked=asked)]


def turn(fmt: str, n: int, *, size: int = 24_000, asked: str = ASKED["English"]) -> list[RawMessage]:
    """One of them."""
    return [
        human(asked.format(n=n)),
        calls(fmt, f"call_{n}", command=f"cat src/module_{n}.py"),
        result(fmt, f"call_{n}", long_text(size, f"# module {n}")),
        says(f"Module {n} is fine."),
    ]


def path_of(fmt: str, raws: Sequence[RawMessage]) -> list[Message]:
    """As they would be recorded."""
    return parse_all(get(fmt), raws)


def compacted(
    policy: str,
    fmt: str,
    raws: Sequence[RawMessage],
    *,
    base: Compaction = NOTHING,
    window: int = WINDOW,
    overrides: Mapping[str, Any] | None = None,
) -> Candidate:
    """What a manual request comes to, with the ledger as the summary; it must be good enough to be published."""
    rules = load(policy, overrides)
    planned = plan(
        path_of(fmt, raws), base, get(fmt), policy=rules, limits=rules.limits(window, 8_192), reason="manual"
    )
    assert isinstance(planned, PruneOnly | Summarise), planned
    candidate = planned.candidate if isinstance(planned, PruneOnly) else apply(planned, NO_SECTIONS)
    assert accept(candidate, minimum_gain=rules.size.minimum_gain) is None
    return candidate


def shown(candidate: Candidate, kind: str) -> list[str]:
    """The texts of a view's messages of one kind."""
    return [text_of(item.raw) for item in candidate.rendering.items if item.kind == kind]


def text_of(raw: RawMessage) -> str:
    """A message's text."""
    content = raw["content"]
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)
