"""Close what a broken-off file left open, so that the conversation is one a provider would take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from offturn_engine.errors import InvalidMessage
from offturn_engine.files.conversation import Notes, Said, UnreadableFile
from offturn_engine.formats import Format
from offturn_engine.groups import Pairs, pair
from offturn_engine.messages import Message, RawMessage, ToolCallPart, ToolResultPart

NO_RESULT = "[no result was recorded: the call was interrupted]"
UNKNOWN_TOOL = "unrecorded_call"


class Numbered(NamedTuple):
    """A message and its index among what the reader found; what is made for it bears the same one."""

    number: int
    said: Said


MakeCall: TypeAlias = Callable[[str, str], RawMessage]
"""(call id, tool name) -> an assistant message with one call without arguments."""


def parsed(numbered: Sequence[Numbered], format_: Format) -> list[Message]:
    """The messages by the strict format. Raises UnreadableFile for what no repair covers."""
    known = []
    for _, said in numbered:
        try:
            known.append(format_.parse(said.raw, origin=said.origin))
        except InvalidMessage as error:
            field = f", field {error.field!r}" if error.field else ""
            raise UnreadableFile(f"{said.place}{field}: {error.problem}") from None
    return known


def closed(numbered: Sequence[Numbered], format_: Format, make_call: MakeCall, notes: Notes) -> list[Numbered]:
    """Give interrupted calls a synthetic result and results without a call one; calls that end the file stay open."""
    known = parsed(numbered, format_)
    pairs = pair(known)
    results = _synthetic_results(known, pairs, format_)
    calls = [(i, known[i].parts[part]) for i, part in pairs.orphans]
    notes.count("interrupted calls closed with a synthetic result", sum(map(len, results.values())))
    notes.count("results without a call given one", len(calls))
    closed_: list[Numbered] = []
    for i, (number, said) in enumerate(numbered):
        before = [make_call(p.call_id, UNKNOWN_TOOL) for at, p in calls if at == i and isinstance(p, ToolResultPart)]
        closed_ += [Numbered(number, Said(raw=raw, place=said.place)) for raw in before]
        closed_.append(Numbered(number, said))
        closed_ += [Numbered(number, Said(raw=raw, place=said.place)) for raw in results.get(i, ())]
    return closed_


def _synthetic_results(messages: Sequence[Message], pairs: Pairs, format_: Format) -> dict[int, list[RawMessage]]:
    """Synthetic results by the index of the message they follow: the last result beside the call."""
    found: dict[int, list[RawMessage]] = {}
    orphaned = {i for i, _ in pairs.orphans}
    for i, part in pairs.open_calls:
        last = i
        while last + 1 < len(messages) and messages[last + 1].origin == "tool" and last + 1 not in orphaned:
            last += 1
        call = messages[i].parts[part]
        if last + 1 < len(messages) and isinstance(call, ToolCallPart):
            found.setdefault(last, []).append(format_.result(call.id, call.name, NO_RESULT))
    return found
