"""Ten generations in a row over each large transcript: what the views keep, what can be recalled, what is lost.

After each generation the facts of the log so far are taken anew, from the messages alone, and looked for: in the view;
else in the record or behind a handle whose message the summary covers; else they are lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.retention.engine_run import compacted, parts
from benchmarks.retention.transcripts import conversation, path_of

from offturn.config import reserved_output
from offturn_config.limits import window_filled
from offturn_config.presets import load
from offturn_engine.compaction import NOTHING, Compaction, LedgerItem
from offturn_engine.formats import get
from offturn_engine.formats.base import Format
from offturn_engine.handles import text_behind
from offturn_engine.ledger import ledger
from offturn_engine.ledger.superseding import superseded
from offturn_engine.ledger.todos import LIST, OPEN
from offturn_engine.messages import Message
from offturn_engine.ranges import contains
from offturn_engine.render import render

GENERATIONS = 10
LARGE = 40_000  # tokens from which a transcript is a large one
FILES = (
    "pi_before-compaction.jsonl",
    "cc_episodic_long.jsonl",
    "cc_share_general-tool-calls.jsonl",
    "openhands_mswe_2.json",
    "inspect_browser.json",
    "swesmith_pandas-dev__pandas.pr_53652.traj.json",
)


@dataclass(frozen=True, slots=True)
class Generation:
    """One view. must: constraints, open items and last states of changed files; kept: of them in the view."""

    number: int
    tokens: int
    target: int
    must: int
    must_kept: int
    others: int
    others_kept: int
    recoverable: int
    lost: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of all facts, those in the view itself."""
        return (self.must_kept + self.others_kept) / max(1, self.must + self.others)


def large(*, quick: bool = False) -> Iterator[tuple[str, list[Message], str]]:
    """Name, messages and format of the large transcripts that are there."""
    for file in FILES[1:] if quick else FILES:
        found = conversation(file)
        path = path_of(found) if found is not None else []
        if found is not None and sum(m.tokens for m in path) >= LARGE:
            yield file, path, found.format


def run(path: Sequence[Message], fmt: str) -> Iterator[Generation]:
    """The views of `balanced`, for the window that half of the conversation just fills."""
    form = get(fmt)
    policy = load("balanced")
    window = window_filled(
        policy, sum(m.tokens for m in path) // 2, output=lambda tokens: reserved_output(tokens, None)
    )
    limits = policy.limits(window, reserved_output(window, None))
    record = NOTHING
    for grown in parts(path, GENERATIONS):
        record = compacted(grown, record, form, policy, limits)
        yield judged(record.number, grown, record, form, limits.target)


def judged(number: int, path: Sequence[Message], record: Compaction, form: Format, target: int) -> Generation:
    """Compare a view with the facts of what it covers."""
    covered = [m for m in path if contains(record.covered, m.seq)]
    facts = [fact for fact in ledger(covered) if fact.text != LIST and fact.kind != "call"]
    gone = superseded(facts).gone
    shown = render(path, record, form)
    plain = "\n".join(_plain(value) for value in shown.messages)
    behind = {m.seq: "\n".join((text_behind(m), _plain(m.raw))) for m in covered}
    known = {(item.kind, item.key) for item in record.facts}
    must = [fact for fact in facts if binding(fact) and (fact.kind, fact.key) not in gone]
    names = {(fact.kind, fact.key) for fact in must}
    others = [fact for fact in facts if (fact.kind, fact.key) not in names]
    missing = [fact for fact in must if not _in_view(fact, plain)]
    rest = [fact for fact in others if not _in_view(fact, plain)]
    lost = [f for f in (*missing, *rest) if (f.kind, f.key) not in known and f.seq not in behind]
    restored = sum(item.tokens for item in shown.items if item.kind == "restore")  # these have a budget of their own
    return Generation(
        number,
        shown.tokens - restored,
        target,
        len(must),
        len(must) - len(missing),
        len(others),
        len(others) - len(rest),
        len(missing) + len(rest) - len(lost),
        tuple(f"{f.kind} {f.key[:60]}" for f in lost),
        tuple(f"{f.kind} {f.key[:60]}" for f in missing),
    )


def binding(fact: LedgerItem) -> bool:
    """What has to be in every view: constraints, what is open, what became of changed files."""
    if fact.kind == "todo":
        return fact.text in OPEN
    if fact.kind == "file":
        return fact.text.split(" ", 1)[0] != "read"
    return fact.kind in ("constraint", "next")


def _in_view(fact: LedgerItem, plain: str) -> bool:
    if fact.kind == "file":
        return f"{fact.key}: {fact.text}" in plain
    return (fact.text if fact.kind in ("constraint", "next", "preference", "value", "decision") else fact.key) in plain


def _plain(value: object) -> str:
    """All strings of a JSON value."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(_plain(v) for v in value.values())
    return "\n".join(_plain(v) for v in value) if isinstance(value, list | tuple) else ""
