"""Planted facts in generated and recorded transcripts, compacted by every preset to equal tokens: what survives, by kind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from benchmarks.peers.histories import history
from benchmarks.retention.engine_run import within
from benchmarks.retention.plants import RECENT, Plant, plants
from benchmarks.retention.transcripts import conversation

from offturn_config.presets import load, names
from offturn_engine.formats import get, parse_all
from offturn_engine.handles import text_behind
from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Message, Origin, RawMessage

FORMAT = "openai-chat"
LAST = 0.85  # of a transcript: what is planted lies before
MESSAGES = 120


@dataclass(frozen=True, slots=True)
class Case:
    """A transcript with facts in it. `name` tells where it is from."""

    name: str
    path: tuple[Message, ...]
    planted: tuple[Plant, ...]
    format: str = FORMAT

    @property
    def tokens(self) -> int:
        return sum(m.tokens for m in self.path)


@dataclass(slots=True)
class Score:
    """What survived of what was planted, by kind; `stale`: replaced values that nothing marks."""

    kept: Counter[str] = field(default_factory=Counter)
    planted: Counter[str] = field(default_factory=Counter)
    stale: int = 0
    tokens: int = 0
    forced: int = 0
    failed: int = 0

    @property
    def share(self) -> float:
        """The mean of the kinds: many facts of one kind count no more than few of another."""
        return sum(self.kept[kind] / n for kind, n in self.planted.items()) / max(1, len(self.planted))


def generated(seed: int) -> Case:
    """A made-up session of an agent with planted facts."""
    raw = history(MESSAGES, seed)
    return planted(f"generated {seed}", raw, {}, seed)


def recorded(file: str, seed: int) -> Case | None:
    """The first conversation of a recorded file with planted facts; None where it is not there or holds another format."""
    found = conversation(file)
    if found is None or found.format not in (FORMAT, "anthropic"):
        return None
    return planted(f"{file} {seed}", found.messages, found.origins, seed, found.format)


def planted(name: str, raw: Sequence[RawMessage], origins: Mapping[int, Origin], seed: int, form: str = FORMAT) -> Case:
    """The transcript with the facts of a seed, each before a human message, in their order."""
    facts = plants(seed)
    random = Random(seed + 1)
    parsed = parse_all(get(form), raw, origins)
    places = [i for i in legal_cut_points([m.placed(i) for i, m in enumerate(parsed)]) if 1 < i <= LAST * len(raw)]
    early = [fact for fact in facts if fact.kind != RECENT]
    chosen = sorted(places[int(random.random() * len(places))] for _ in early)
    late = [fact for fact in facts if fact.kind == RECENT]
    at: dict[int, list[Plant]] = {len(raw): late}
    for place, fact in zip(chosen, early, strict=True):
        at.setdefault(place, []).append(fact)
    messages: list[RawMessage] = []
    told: list[Origin] = []
    for i in range(len(raw) + 1):
        for fact in at.get(i, []):
            messages += [_written(m, form) for m in fact.messages]
            told += [_ORIGINS[m["role"]] for m in fact.messages]
        if i < len(raw):
            messages.append(raw[i])
            told.append(parsed[i].origin)
    messages.append({"role": "user", "content": "And what now?"})
    told.append("human")
    path = parse_all(get(form), messages, dict(enumerate(told)))
    return Case(name, tuple(m.placed(i) for i, m in enumerate(path)), tuple(f for f in facts if f.kind), form)


_ORIGINS: Mapping[str, Origin] = {"user": "human", "assistant": "assistant", "tool": "tool", "system": "system"}


def _written(raw: RawMessage, form: str) -> RawMessage:
    """A planted message as the format has it."""
    if form == FORMAT:
        return raw
    if raw["role"] == "tool":
        answer = {"type": "tool_result", "tool_use_id": raw["tool_call_id"], "content": raw["content"]}
        return {"role": "user", "content": [answer]}
    asked = [
        {
            "type": "tool_use",
            "id": c["id"],
            "name": c["function"]["name"],
            "input": json.loads(c["function"]["arguments"]),
        }
        for c in raw.get("tool_calls", [])
    ]
    return {"role": raw["role"], "content": asked or raw["content"]}


def scored(cases: Sequence[Case], share: float, rounds: int) -> Iterator[tuple[str, Score]]:
    """Every preset over every case, at a cap of so large a share of the case's tokens."""
    for name in names():
        score = Score()
        for case in cases:
            made = within(case.path, get(case.format), load(name), int(case.tokens * share), rounds)
            score.failed += made is None
            score.forced += made is not None and made.forced
            score.tokens += 0 if made is None else made.tokens
            count(score, case, "" if made is None else made.text)
        yield name, score


def count(score: Score, case: Case, text: str) -> None:
    """Add what one text holds."""
    for fact in case.planted:
        score.planted[fact.kind] += 1
        score.kept[fact.kind] += all(needle in text for needle in fact.needles)
        score.stale += bool(fact.stale) and fact.stale in text and f"{fact.stale} until" not in text


def said(case: Case) -> list[dict[str, str]]:
    """The case as turns of plain text, for peers that know no tool calls."""
    return [{"role": m.role, "text": text_behind(m)} for m in case.path]
