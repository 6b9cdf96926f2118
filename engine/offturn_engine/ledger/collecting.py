"""Collecting: the facts of a list of messages, each with the message it was last seen in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from offturn_engine.compaction import LedgerItem
from offturn_engine.groups import pair
from offturn_engine.handles import handle
from offturn_engine.ledger.found import Fact
from offturn_engine.ledger.identifiers import identifiers
from offturn_engine.ledger.joining import settled
from offturn_engine.ledger.ranking import SEPARATOR
from offturn_engine.ledger.stated import statements
from offturn_engine.ledger.todos import todos
from offturn_engine.messages import Message, ToolCallPart, ToolResultPart
from offturn_engine.operations import operations
from offturn_engine.results import exit_code_of, failed, first_error_line, run_counts
from offturn_engine.stubs import UNKNOWN
from offturn_engine.tools import Family, arguments_of, command_of, family_of, line_range, normalised, one_line, target

HUNKS_LOOKED = 20_000  # characters of an argument or a result that are searched for the lines of a change

_SED = re.compile(r"\bsed -n ['\"]?(\d{1,7}),(\d{1,7})p")
_HUNK = re.compile(r"^@@ -\d{1,7}(?:,\d{1,7})? \+(\d{1,7})(?:,(\d{1,7}))? @@", re.MULTILINE)
_CHANGES = ("edited", "written", "created")


@dataclass(slots=True)
class _Answer:
    """What one call and its result tell. `command`: of a call to a shell, as the ledger names it, else ""."""

    call: ToolCallPart
    asked: int
    command: str
    facts: tuple[Fact, ...]
    named: str = ""

    @property
    def source(self) -> str:
        """What raised an error, by a name that a later run of the same has too."""
        self.named = self.named or _source(self.call, self.command)
        return self.named


@dataclass(slots=True)
class _Found:
    """Facts in the order they are found; the errors of each source nobody has seen gone; the last change of a file."""

    facts: list[Fact] = field(default_factory=list)
    waiting: dict[str, list[int]] = field(default_factory=dict)
    change: Fact | None = None

    def add(self, answer: _Answer) -> None:
        """What one call and its result tell."""
        facts = answer.facts
        if self.waiting and all(fact.kind != "error" for fact in facts):
            for at in self.waiting.pop(answer.source, []):
                self.facts[at] = self._gone(self.facts[at], answer.source)
        for fact in facts:
            if fact.kind == "error":
                self.waiting.setdefault(answer.source, []).append(len(self.facts))
            elif fact.kind == "file" and fact.text.split(" ", 1)[0] != "read":
                self.change = fact
            self.facts.append(fact)

    def _gone(self, error: Fact, source: str) -> Fact:
        """The same call works now; what was changed last since the error is told as what resolved it."""
        told = f"gone{SEPARATOR}{source}"
        if self.change and self.change.seq > error.seq:
            told += (
                f"{SEPARATOR}after {self.change.key} was {self.change.text.split(' ', 1)[0]}, {handle(self.change.seq)}"
            )
        return error._replace(text=told)


def ledger(messages: Sequence[Message]) -> tuple[LedgerItem, ...]:
    """The facts of these messages, ordered by where they were last seen. Same messages, same ledger."""
    pairs = pair(messages)
    found = _Found()
    for i, message in enumerate(messages):
        found.facts += _by_itself(message)
        for part, result in message.results:
            place = pairs.call_of.get((i, part))
            call = messages[place[0]].parts[place[1]] if place else UNKNOWN
            if isinstance(call, ToolCallPart):
                asked = messages[place[0]].seq if place else message.seq
                found.add(_answered(message, part, result, call, asked))
    asked_at = max((i for i, m in enumerate(messages) if m.origin == "human"), default=-1)
    for i, part in pairs.open_calls:
        open_call = messages[i].parts[part]
        # A call that a human spoke after was given up, not open.
        if i > asked_at and isinstance(open_call, ToolCallPart):
            found.facts.append(_open(open_call, messages[i].seq))
    return settled(found.facts)


def _by_itself(message: Message) -> tuple[Fact, ...]:
    """What a message states and names. Kept with it: until a view fits, ledgers of much the same messages are taken."""
    found: tuple[Fact, ...] | None = message.kept.get(__name__)
    if found is None:
        found = message.kept[__name__] = (*statements(message), *identifiers(message))
    return found


def _answered(message: Message, part: int, result: ToolResultPart, call: ToolCallPart, asked: int) -> _Answer:
    """The facts of a call and its result. Kept with the result as long as it answers this call."""
    key = f"{__name__} {part}"
    told: _Answer | None = message.kept.get(key)
    if told is None or told.call is not call or told.asked != asked:
        kind = family_of(call)
        line = command_of(call) if kind == "shell" else ""
        command = normalised(line) if line else ""
        facts = tuple(_facts(call, result, asked, message.seq, kind, line, command))
        told = message.kept[key] = _Answer(call, asked, command, facts)
    return told


def _facts(
    call: ToolCallPart, result: ToolResultPart, asked: int, answered: int, kind: Family, line: str, command: str
) -> Iterator[Fact]:
    """kind, line, command: the call's family, and of a call to a shell its command as it is and as the ledger names it."""
    bad = failed(result, call)
    error = first_error_line(result) if bad else None
    if not bad:
        for path, done in operations(call):
            seq = answered if done == "read" else asked
            text = done + _lines(call, result, done, kind, line)
            yield Fact("file", " ".join(path.splitlines()), text, seq)
        yield from todos(call, result, asked, answered)
    if command:
        yield Fact("command", command, _outcome(result, error, bad), answered)
    if error:
        seen = f"seen{SEPARATOR}{_source(call, command)}"
        yield Fact("error", one_line(error, 200), seen, answered)


def _lines(call: ToolCallPart, result: ToolResultPart, done: str, kind: Family, line: str) -> str:
    """The lines a call has read or changed, after a blank; "" where it is not known or was all."""
    if done == "read":
        shell = _SED.search(line[:HUNKS_LOOKED]) if kind == "shell" and "sed -n" in line else None
        lines = f"{shell[1]}-{shell[2]}" if shell else line_range(call)
        return f" {lines}" if lines else ""
    if done not in _CHANGES:
        return ""
    texts = [v for v in arguments_of(call).values() if isinstance(v, str)]
    looked = (text[:HUNKS_LOOKED] for text in (*texts, result.text) if "@@ -" in text)
    hunk = next((h for text in looked if (h := _HUNK.search(text))), None)
    if hunk is None:
        return ""
    start, count = int(hunk[1]), int(hunk[2] or 1)
    return f" {start}-{max(start, start + count - 1)}"


def command_key(call: ToolCallPart) -> str:
    """The command of a shell call as the ledger names it; "" where the call is none."""
    return normalised(command_of(call)) if family_of(call) == "shell" else ""


def _source(call: ToolCallPart, command: str) -> str:
    return command or one_line(f"{call.name} {target(call)}", 160)


def outcome_of(call: ToolCallPart, result: ToolResultPart) -> str:
    """What the ledger tells of how a command went."""
    bad = failed(result, call)
    return _outcome(result, first_error_line(result) if bad else None, bad)


def _outcome(result: ToolResultPart, error: str | None, bad: bool) -> str:
    code = exit_code_of(result)
    facts = [f"exit {code}" if code is not None and (code or not bad) else "failed" if bad else "ok"]
    facts += [counts] if (counts := run_counts(result.text)) else []
    facts += [one_line(error, 120)] if error else []
    return SEPARATOR.join(facts)


def _open(call: ToolCallPart, seq: int) -> Fact:
    return Fact("call", f"{one_line(call.name, 60) or 'tool'} {target(call)}".strip(), "pending", seq)
