"""What cache breakpoints are worth: a replayed 20-turn session, with and without `system_and_3`.

    python benchmarks/cache_share.py

No request is made. The views are offturn's (policy `hermes`, compactions by the ledger), the cache is a model of
Anthropic's: what stands before a breakpoint is kept, a later request reads the longest kept start it finds at one of its
own breakpoints or up to 20 blocks before it, and without breakpoints nothing is kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from offturn.view import View
from offturn_config.presets import load
from offturn_engine.compaction import NO_SECTIONS, NOTHING, Compaction
from offturn_engine.economics import PerMillion
from offturn_engine.formats import get
from offturn_engine.messages import Message, RawMessage
from offturn_engine.notes import with_note
from offturn_engine.plan import PruneOnly, Skip, apply, plan
from offturn_engine.render import render
from offturn_engine.tokens import estimate_json

TURNS = 20
WINDOW = 200_000
OUTPUT = 8_192
SYSTEM = "You are a careful engineer. " + "Follow the house rules. " * 300
LOOK_BACK = 20  # blocks
LEAST_CACHED = 1_024  # tokens
PRICE = PerMillion(input=4, cached=0.2, written=5, output=20)  # claude-opus-5-5, November 2026


@dataclass(slots=True)
class Cache:
    """Anthropic's prompt cache: hashes of the starts it keeps."""

    kept: set[str] = field(default_factory=set)

    def ask(self, arguments: dict[str, Any]) -> tuple[int, int, int]:
        """(input, read, written) tokens of a request."""
        blocks = _blocks(arguments)
        sizes = [0]
        starts, digest = [""], sha256()
        for block in blocks:
            plain = {key: value for key, value in block.items() if key != "cache_control"}
            digest.update(json.dumps(plain, sort_keys=True).encode())
            starts.append(digest.hexdigest())
            sizes.append(sizes[-1] + estimate_json(plain))
        marks = [i + 1 for i, block in enumerate(blocks) if "cache_control" in block]
        looked = {i for mark in marks for i in range(max(1, mark - LOOK_BACK), mark + 1)}
        read = max((sizes[i] for i in looked if starts[i] in self.kept), default=0)
        worth = [mark for mark in marks if sizes[mark] >= LEAST_CACHED]
        self.kept |= {starts[mark] for mark in worth}
        written = max((sizes[mark] for mark in worth), default=0) - read
        return sizes[-1], read, max(0, written)


@dataclass(frozen=True, slots=True)
class Share:
    """Input tokens of all requests, the part read from the cache, and what the input cost in US dollars."""

    requests: int
    tokens: int
    read: int
    dollars: float
    compactions: int

    @property
    def cached(self) -> float:
        """The part of the input that came from the cache, 0 to 1."""
        return self.read / self.tokens


def measure(*, breakpoints: bool, turns: int = TURNS) -> Share:
    """Replay the session; a request before each answer of the assistant."""
    policy, fmt = load("hermes"), get("anthropic")
    limits = policy.limits(WINDOW, OUTPUT)
    cache, base, path = Cache(), NOTHING, list[Message]()
    requests = tokens = read = compactions = 0
    dollars = 0.0
    for raw in session(turns):
        message = fmt.parse(raw, index=len(path)).placed(len(path))
        if message.role == "assistant":
            if render(path, base, fmt).tokens >= limits.soft:
                planned = plan(path, base, fmt, policy=policy, limits=limits)
                if not isinstance(planned, Skip):
                    made = planned.candidate if isinstance(planned, PruneOnly) else apply(planned, NO_SECTIONS)
                    compactions += 1
                    base = made.compaction.model_copy(update={"number": compactions})
            whole, cached, written = cache.ask(_request(path, base, breakpoints=breakpoints))
            requests, tokens, read = requests + 1, tokens + whole, read + cached
            dollars += PRICE(input_tokens=whole, cached=cached, written=written)
        path.append(message)
    return Share(requests, tokens, read, dollars, compactions)


def session(turns: int) -> list[RawMessage]:
    """An agent that reads, runs tests and answers; about 9,000 tokens a turn."""
    messages: list[RawMessage] = []
    for number in range(turns):
        messages.append({"role": "user", "content": f"Please repair module {number} and run its tests."})
        for step in range(3):
            call = f"call_{number}_{step}"
            command = (f"cat src/module_{number}.py", f"pytest tests/test_{number}.py", "git diff")[step]
            text = f"line of {command}: def f(x): return x + {number}\n" * 200
            use = {"type": "tool_use", "id": call, "name": "bash", "input": {"command": command}}
            messages.append({"role": "assistant", "content": [use]})
            messages.append(
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}
            )
        messages.append({"role": "assistant", "content": f"Module {number} is repaired, its tests pass."})
    return messages


def _request(path: Sequence[Message], base: Compaction, *, breakpoints: bool) -> dict[str, Any]:
    return View(
        messages=render(path, base, get("anthropic")).messages,
        system=with_note(SYSTEM, base.system_note),
        format="anthropic",
        generation=base.number,
        path=((0, len(path)),),
        kind="compacted" if base.number else "raw",
        tokens=0,
        limit=WINDOW,
        breakpoints=breakpoints,
    ).kwargs()


def _blocks(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """System and messages as one list of blocks."""
    blocks: list[dict[str, Any]] = []
    for content in (arguments["system"], *(message["content"] for message in arguments["messages"])):
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return blocks


def main() -> None:
    print(
        f"{'breakpoints':<14} {'requests':>8} {'compactions':>11} {'input tokens':>13} {'cached':>7} {'input cost':>11}"
    )
    for name, breakpoints in (("none", False), ("system_and_3", True)):
        share = measure(breakpoints=breakpoints)
        print(
            f"{name:<14} {share.requests:>8} {share.compactions:>11} {share.tokens:>13,} {share.cached:>6.0%} "
            f"{'$' + format(share.dollars, '.4f'):>11}"
        )


if __name__ == "__main__":
    main()
