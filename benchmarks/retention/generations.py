"""Ten generations in a row over each large transcript: what the views keep, what can be recalled, what is lost.

After each generation the facts of the log so far are taken anew, from the messages alone, and looked for: in the view;
else in what the recall tool really answers, asked with the handle that the view shows of their message or with their
words; else they are lost. A range that the view says it covers is no way to a fact by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.retention.engine_run import compacted, parts
from benchmarks.retention.transcripts import conversation, path_of

from offturn.config import reserved_output
from offturn_config.limits import window_filled
from offturn_config.presets import load
from offturn_engine.audit import KEYED
from offturn_engine.compaction import NOTHING, Compaction, LedgerItem
from offturn_engine.formats import get
from offturn_engine.formats.base import Format
from offturn_engine.groups import spans
from offturn_engine.ledger import ledger
from offturn_engine.ledger.superseding import superseded
from offturn_engine.ledger.todos import LIST, OPEN
from offturn_engine.messages import Message
from offturn_engine.ranges import contains
from offturn_engine.recalling import FOUND, ROOM, Archive, Asked, answer
from offturn_engine.render import render
from offturn_engine.search import LONGEST_QUERY
from offturn_engine.visible import words

GENERATIONS = 10
HANDLES = re.compile(r"(?<![\w.])m(\d{1,12})(?:\.\d{1,6})?(?!\w)")
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
    archive = Archive(path, path=frozenset(m.seq for m in path))
    groups = {path[i].seq: [m.seq for m in path[start:stop]] for start, stop in spans(path) for i in range(start, stop)}
    handles = {int(match[1]): match[0] for match in HANDLES.finditer(plain)}
    must = [fact for fact in facts if binding(fact) and (fact.kind, fact.key) not in gone]
    names = {(fact.kind, fact.key) for fact in must}
    others = [fact for fact in facts if (fact.kind, fact.key) not in names]
    missing = [fact for fact in must if not _in_view(fact, plain)]
    rest = [fact for fact in others if not _in_view(fact, plain)]
    lost = [f for f in (*missing, *rest) if not recoverable(f, groups[f.seq], record, archive, handles)]
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


def recoverable(
    fact: LedgerItem, group: Sequence[int], record: Compaction, archive: Archive, handles: Mapping[int, str]
) -> bool:
    """Is it covered, and does the recall tool tell it: by the handle that the view shows, or as something found?

    group: of its message. A command stands in the call, and how it ended in the result.
    """
    if not contains(record.covered, fact.seq):
        return False
    needle = words(fact.key if fact.kind in KEYED else fact.text)
    if any(_tells(archive, handles[seq], needle) for seq in group if seq in handles):
        return True
    query = (fact.key if fact.kind in KEYED else fact.text)[:LONGEST_QUERY]
    hits = archive.found(query, limit=FOUND, path_only=True)
    return any(_tells(archive, hit.handle, needle) for hit in hits if hit.seq in group)


def _tells(archive: Archive, name: str, needle: Sequence[str]) -> bool:
    """Does the tool answer with these words in a row, page after page?"""
    told, start = "", 0
    while True:
        text, failed = answer(archive, Asked(handle=name, start=start), ROOM)
        told += text
        if failed or f"with start {start + ROOM}]" not in text:
            break
        start += ROOM
    return not failed and f" {' '.join(needle)} " in f" {' '.join(words(told))} "


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
