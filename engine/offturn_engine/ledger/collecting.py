"""Collecting: the facts of a list of messages, each with the message it was last seen in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from offturn_engine.compaction import LedgerItem
from offturn_engine.groups import pair
from offturn_engine.handles import handle
from offturn_engine.ledger.identifiers import identifiers
from offturn_engine.ledger.joining import settled
from offturn_engine.ledger.ranking import SEPARATOR
from offturn_engine.ledger.stated import statements
from offturn_engine.ledger.todos import todos
from offturn_engine.messages import Message, ToolCallPart, ToolResultPart
from offturn_engine.operations import operations
from offturn_engine.results import exit_code, failed, first_error_line, run_counts
from offturn_engine.stubs import UNKNOWN
from offturn_engine.tools import arguments_of, command_of, family_of, line_range, normalised, one_line, target

HUNKS_LOOKED = 20_000  # characters of an argument or a result that are searched for the lines of a change

_SED = re.compile(r"\bsed -n ['\"]?(\d{1,7}),(\d{1,7})p")
_HUNK = re.compile(r"^@@ -\d{1,7}(?:,\d{1,7})? \+(\d{1,7})(?:,(\d{1,7}))? @@", re.MULTILINE)
_CHANGES = ("edited", "written", "created")


@dataclass(slots=True)
class _Found:
    """Facts in the order they are found; the errors of each source nobody has seen gone; the last change of a file."""

    facts: list[LedgerItem] = field(default_factory=list)
    waiting: dict[str, list[int]] = field(default_factory=dict)
    change: LedgerItem | None = None

    def add(self, facts: Sequence[LedgerItem], source: str) -> None:
        """What one call and its result tell."""
        if all(fact.kind != "error" for fact in facts):
            for at in self.waiting.pop(source, []):
                self.facts[at] = self._gone(self.facts[at], source)
        for fact in facts:
            if fact.kind == "error":
                self.waiting.setdefault(source, []).append(len(self.facts))
            elif fact.kind == "file" and fact.text.split(" ", 1)[0] != "read":
                self.change = fact
            self.facts.append(fact)

    def _gone(self, error: LedgerItem, source: str) -> LedgerItem:
        """The same call works now; what was changed last since the error is told as what resolved it."""
        told = f"gone{SEPARATOR}{source}"
        if self.change and self.change.seq > error.seq:
            told += (
                f"{SEPARATOR}after {self.change.key} was {self.change.text.split(' ', 1)[0]}, {handle(self.change.seq)}"
            )
        return error.model_copy(update={"text": told})


def ledger(messages: Sequence[Message]) -> tuple[LedgerItem, ...]:
    """The facts of these messages, ordered by where they were last seen. Same messages, same ledger."""
    pairs = pair(messages)
    found = _Found()
    for i, message in enumerate(messages):
        found.facts += statements(message)
        found.facts += identifiers(message)
        for part, result in message.results:
            place = pairs.call_of.get((i, part))
            call = messages[place[0]].parts[place[1]] if place else UNKNOWN
            if isinstance(call, ToolCallPart):
                asked = messages[place[0]].seq if place else message.seq
                found.add(list(_facts(call, result, asked, message.seq)), _source(call))
    asked_at = max((i for i, m in enumerate(messages) if m.origin == "human"), default=-1)
    for i, part in pairs.open_calls:
        open_call = messages[i].parts[part]
        # A call that a human spoke after was given up, not open.
        if i > asked_at and isinstance(open_call, ToolCallPart):
            found.facts.append(_open(open_call, messages[i].seq))
    return settled(found.facts)


def _facts(call: ToolCallPart, result: ToolResultPart, asked: int, answered: int) -> Iterator[LedgerItem]:
    bad = failed(result, call)
    error = first_error_line(result.text) if bad else None
    if not bad:
        for path, done in operations(call):
            seq = answered if done == "read" else asked
            text = done + _lines(call, result, done)
            yield LedgerItem(kind="file", key=" ".join(path.splitlines()), text=text, seq=seq)
        yield from todos(call, asked)
    if command := _command(call):
        yield LedgerItem(kind="command", key=command, text=_outcome(result, error, bad), seq=answered)
    if error:
        seen = f"seen{SEPARATOR}{_source(call)}"
        yield LedgerItem(kind="error", key=one_line(error, 200), text=seen, seq=answered)


def _lines(call: ToolCallPart, result: ToolResultPart, done: str) -> str:
    """The lines a call has read or changed, after a blank; "" where it is not known or was all."""
    if done == "read":
        shell = _SED.search(command_of(call)[:HUNKS_LOOKED]) if family_of(call) == "shell" else None
        lines = f"{shell[1]}-{shell[2]}" if shell else line_range(call)
        return f" {lines}" if lines else ""
    if done not in _CHANGES:
        return ""
    texts = [v for v in arguments_of(call).values() if isinstance(v, str)]
    hunk = next((h for text in (*texts, result.text) if (h := _HUNK.search(text[:HUNKS_LOOKED]))), None)
    if hunk is None:
        return ""
    start, count = int(hunk[1]), int(hunk[2] or 1)
    return f" {start}-{max(start, start + count - 1)}"


def _command(call: ToolCallPart) -> str:
    return normalised(command_of(call)) if family_of(call) == "shell" else ""


def _source(call: ToolCallPart) -> str:
    """What raised an error, by a name that a later run of the same has too."""
    return _command(call) or one_line(f"{call.name} {target(call)}", 160)


def _outcome(result: ToolResultPart, error: str | None, bad: bool) -> str:
    code = exit_code(result.text)
    facts = [f"exit {code}" if code is not None and (code or not bad) else "failed" if bad else "ok"]
    facts += [counts] if (counts := run_counts(result.text)) else []
    facts += [one_line(error, 120)] if error else []
    return SEPARATOR.join(facts)


def _open(call: ToolCallPart, seq: int) -> LedgerItem:
    return LedgerItem(
        kind="call", key=f"{one_line(call.name, 60) or 'tool'} {target(call)}".strip(), text="pending", seq=seq
    )
