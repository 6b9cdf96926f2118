"""Planted facts in generated and recorded transcripts, compacted by every preset to equal tokens: what survives, by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from random import Random

from benchmarks.peers.histories import history
from benchmarks.retention.engine_run import within_each
from benchmarks.retention.plants import RECENT, Plant, plants
from benchmarks.retention.transcripts import conversation

from offturn_config.presets import load, names
from offturn_engine.crossing import convert
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
    """The first conversation of a recorded file with planted facts; None where it is not there."""
    found = conversation(file)
    if found is None:
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
            written = convert(fact.messages, get(FORMAT), get(form))
            messages += written.messages
            told += [_ORIGINS[fact.messages[source]["role"]] for source in written.sources]
        if i < len(raw):
            messages.append(raw[i])
            told.append(parsed[i].origin)
    messages.append(get(form).user("And what now?"))
    told.append("human")
    path = parse_all(get(form), messages, dict(enumerate(told)))
    return Case(name, tuple(m.placed(i) for i, m in enumerate(path)), tuple(f for f in facts if f.kind), form)


_ORIGINS: Mapping[str, Origin] = {"user": "human", "assistant": "assistant", "tool": "tool", "system": "system"}


def scored(cases: Sequence[Case], shares: Sequence[float], rounds: int) -> list[dict[str, Score]]:
    """For each share of a case's tokens as its cap: every preset over all cases. On all cores."""
    with ProcessPoolExecutor() as pool:
        made = list(pool.map(one_case, cases, repeat(tuple(shares)), repeat(rounds)))
    return [{name: total(by_cap[i][name] for by_cap in made) for name in names()} for i in range(len(shares))]


def one_case(case: Case, shares: Sequence[float], rounds: int) -> list[dict[str, Score]]:
    """For each share: every preset over this case."""
    caps = [int(case.tokens * share) for share in shares]
    scores: list[dict[str, Score]] = [{} for _ in caps]
    for name in names():
        views = within_each(case.path, get(case.format), load(name), caps, rounds)
        for view, by_name in zip(views, scores, strict=True):
            score = Score() if view is None else Score(tokens=view.tokens, forced=int(view.forced))
            score.failed = int(view is None)
            count(score, case, "" if view is None else view.text)
            by_name[name] = score
    return scores


def total(scores: Iterable[Score]) -> Score:
    """Of several cases."""
    made = Score()
    for one in scores:
        made.kept.update(one.kept)
        made.planted.update(one.planted)
        made.stale += one.stale
        made.tokens += one.tokens
        made.forced += one.forced
        made.failed += one.failed
    return made


def count(score: Score, case: Case, text: str) -> None:
    """Add what one text holds."""
    for fact in case.planted:
        score.planted[fact.kind] += 1
        score.kept[fact.kind] += all(needle in text for needle in fact.needles)
        score.stale += bool(fact.stale) and fact.stale in text and f"{fact.stale} until" not in text


def said(case: Case) -> list[dict[str, str]]:
    """The case as turns of plain text, for peers that know no tool calls."""
    return [{"role": m.role, "text": text_behind(m)} for m in case.path]
