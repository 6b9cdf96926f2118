"""Others' judges beside ours, on the same views: `tessera` for calls and results, `compaction-guard` for what a view says.

Each is asked where it is right. tessera: openai-chat and anthropic. compaction-guard: English sentences that stand in a
text word for word, with another amount, or not at all; what else it does not judge ("unverifiable") is no disagreement.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.retention.engine_run import generations, scaled, text_of
from benchmarks.retention.environments import python_of
from benchmarks.retention.plants import SAID
from benchmarks.retention.presets import Case

from offturn_config.presets import load, names
from offturn_engine.audit import judge
from offturn_engine.compaction import NOTHING, Compaction, LedgerItem, Sections
from offturn_engine.formats import get, parse_all
from offturn_engine.ledger import ledger
from offturn_engine.messages import Message, RawMessage
from offturn_engine.plan import Summarise, apply, plan
from offturn_engine.render import render
from offturn_engine.templates import TEMPLATES

TESSERA, GUARD = "tessera-transcript==0.1.0", "compaction-guard==0.1.0"
SCALE = 0.1  # of the limits for 200,000 tokens
ROUNDS = 3
SENTENCES = frozenset({"constraint", "preference", "value", "decision", "next"})
LONGEST = 200  # characters of a sentence both are asked about
AMOUNT = re.compile(r"(?<![\w.-])\$?\d+(?![\w-]|\.\d)")
Told = Literal["held", "changed", "gone", "unsure"]

OF_GUARD: dict[str, Told] = {
    "preserved": "held",
    "paraphrased": "held",
    "weakened": "changed",
    "mutated": "changed",
    "contradicted": "changed",
    "dropped": "gone",
}
OF_OURS: dict[str, Told] = {"kept": "held", "mutated": "changed", "recoverable": "gone", "lost": "gone"}


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of messages and what we say of it. where: of which view; done: what was done to it."""

    where: str
    done: str
    format: str
    messages: list[RawMessage]
    valid: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence in a text. truth: what was done to it there, "" where nobody but the judges knows."""

    where: str
    truth: Told | Literal[""]
    fact: str
    ours: Told
    theirs: Told = "unsure"


def lists(cases: Sequence[Case]) -> Iterator[Listed]:
    """Each preset's view of each case; and the same without its first result, and without its first call."""
    for case in cases:
        fmt = get(case.format)
        for name in names():
            policy, limits = scaled(load(name), SCALE)
            [*_, (path, record)] = generations(case.path, fmt, policy, limits, ROUNDS)
            shown = render(path, record, fmt).messages
            parsed = parse_all(fmt, shown)
            without = {
                "as it is": None,
                "without a result": next((i for i, m in enumerate(parsed) if m.results), None),
                "without a call": next((i for i, m in enumerate(parsed) if m.calls), None),
            }
            for done, at in without.items():
                if at is None and done != "as it is":
                    continue
                messages = [raw for i, raw in enumerate(shown) if i != at]
                valid = all(problem.rule == "pending" for problem in fmt.problems(messages))
                yield Listed(f"{case.name}, {name}", done, case.format, messages, valid)


def said_valid(found: Sequence[Listed]) -> list[bool | None]:
    """What tessera says of each; None: it does not know the list. Raises NotInstalled."""
    asked = [{"format": one.format, "messages": one.messages} for one in found]
    return [None if defects is None else not defects for defects in _asked(TESSERA, asked)]


def judged(cases: Sequence[Case]) -> Iterator[Judged]:
    """Every sentence of every pair of a source and a view, ours beside compaction-guard's. Raises NotInstalled."""
    made = [pair for case in cases for pair in (*_views(case), *prose(case))]
    asked = [{"text": text, "facts": [one.fact for one in ours]} for text, ours in made]
    for (_, ours), verdicts in zip(made, _asked(GUARD, asked), strict=True):
        for one, verdict in zip(ours, verdicts, strict=True):
            yield Judged(one.where, one.truth, one.fact, one.ours, OF_GUARD.get(verdict, "unsure"))


def _views(case: Case) -> Iterator[tuple[str, list[Judged]]]:
    """The last view of `balanced`, as it is."""
    fmt = get(case.format)
    policy, limits = scaled(load("balanced"), SCALE)
    [*_, (path, record)] = generations(case.path, fmt, policy, limits, ROUNDS)
    shown = render(path, record, fmt).messages
    facts = sentences(path)
    yield (
        text_of(shown),
        _judged(f"{case.name}, view", [""] * len(facts), facts, parse_all(fmt, shown), record, path),
    )


def prose(case: Case) -> Iterator[tuple[str, list[Judged]]]:
    """A summary of the sentences alone, in turns word for word, with another amount, and left out."""
    fmt = get(case.format)
    policy, limits = scaled(load("balanced"), SCALE)
    planned = plan(case.path, NOTHING, fmt, policy=policy, limits=limits, reason="manual")
    if not isinstance(planned, Summarise):
        return
    covered = {item.seq for item in apply(planned, Sections()).compaction.human}
    # Of a value that was changed two sentences tell: what of them is gone and what is changed has no one answer.
    named = [needle for plant in case.planted if plant.kind in SAID for needle in plant.needles]
    facts = [f for f in sentences(case.path) if f.seq in covered and any(needle in f.text for needle in named)]
    truths: list[Told | Literal[""]] = []
    lines: list[str] = []
    for i, fact in enumerate(facts):
        truth: Told = "gone" if i % 2 else "changed" if AMOUNT.search(fact.text) else "held"
        truths.append(truth)
        if truth != "gone":
            lines.append("- " + (AMOUNT.sub(r"\g<0>0", fact.text) if truth == "changed" else fact.text))
    text = "\n".join(lines)
    template = policy.summary.template
    sections = Sections(template=template, titles=(TEMPLATES[template].titles[0],), bodies=(text,))
    record = apply(planned, sections).compaction
    view = parse_all(fmt, [fmt.user(text)])
    yield text, _judged(f"{case.name}, prose", truths, facts, view, record, case.path)


def sentences(path: Sequence[Message]) -> list[LedgerItem]:
    """The facts both can be asked about, each sentence once."""
    found = {fact.text: fact for fact in ledger(path) if fact.kind in SENTENCES}
    return [fact for text, fact in found.items() if text.isascii() and len(text) <= LONGEST]


def _judged(
    where: str,
    truths: Sequence[Told | Literal[""]],
    facts: Sequence[LedgerItem],
    view: Sequence[Message],
    record: Compaction,
    path: Sequence[Message],
) -> list[Judged]:
    ours = judge(facts, view, record, path)
    return [Judged(where, t, f.text, OF_OURS[v]) for t, f, v in zip(truths, facts, ours, strict=True)]


def _asked(package: str, value: list[dict[str, Any]]) -> list[Any]:
    script = Path(__file__).with_name("oracles_in_venv.py")
    command = [str(python_of([package])), str(script), package.partition("==")[0]]
    told = subprocess.run(command, input=json.dumps(value), check=True, capture_output=True, text=True)
    return list(json.loads(told.stdout))
