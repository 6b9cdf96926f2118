"""What must hold of a conversation that was read, and of what a policy makes of it; each breach in a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from offturn_engine.compaction import Compaction
from offturn_engine.files import Conversation
from offturn_engine.formats import get
from offturn_engine.formats.base import Format
from offturn_engine.human import Form, form_in
from offturn_engine.invariants import Shown, violations
from offturn_engine.messages import Message, RawMessage
from offturn_engine.ranges import contains
from offturn_engine.render import render
from offturn_worker.offline import Result


def of_reading(conversation: Conversation) -> Iterator[str]:
    """A provider would take it as it is."""
    fmt = get(conversation.format)
    for problem in fmt.problems(conversation.messages):
        if problem.rule != "pending":
            yield f"message {problem.index}: {problem.rule}"


def of_result(result: Result, conversation: Conversation) -> Iterator[str]:
    """The invariants of each generation at its own time and at the end, and human words counted anew."""
    path, fmt = result.read.path, result.read.fmt
    if fmt is None:
        yield "nothing was read"
        return
    for record in result.lineage:
        now = render(path, record, fmt)
        for name, found in violations(Shown(path, record, now, fmt)).items():
            yield f"generation {record.number}: {name}: {found[0]}"
        yield from _covered(record, path)
    newest = result.lineage[0]
    if render(path, newest, fmt).messages != result.messages:
        yield "what is written is not the view of its record"
    yield from _human(newest, path, result.messages)
    yield from _beyond(fmt, conversation, result.messages)


def _covered(record: Compaction, path: Sequence[Message]) -> Iterator[str]:
    """Each covered human message is in the summary in the form that the audit counts."""
    forms = [form_in(record.summary, item) for item in record.human if item.seq != record.replay]
    told = (record.audit.human_verbatim, record.audit.human_cut, record.audit.human_by_handle)
    found = (forms.count(Form.VERBATIM), forms.count(Form.CUT), forms.count(Form.HANDLE))
    if record.covered and found != told:
        yield f"generation {record.number}: human words are {found}, the audit says {told}"
    recorded = {m.seq: m.text for m in path}
    for item in record.human:
        if item.text not in recorded[item.seq]:
            yield f"generation {record.number}: m{item.seq} is quoted in other words"


def _human(record: Compaction, path: Sequence[Message], view: Sequence[RawMessage]) -> Iterator[str]:
    """Not by the record but by the view itself: the words of a human stand in it, unless the record counts them as cut."""
    said = json.dumps(view, ensure_ascii=False)
    given_up = {item.seq for item in record.human if form_in(record.summary, item) is not Form.VERBATIM}
    edited = {edit.seq for edit in record.edits}
    for message in path:
        if message.origin != "human" or message.seq in given_up or message.seq in edited:
            continue
        words = message.text if not contains(record.covered, message.seq) else _quoted(record, message)
        if any(json.dumps(line, ensure_ascii=False)[1:-1] not in said for line in words.split("\n")):
            yield f"m{message.seq}: a human's words are not in the view"


def _quoted(record: Compaction, message: Message) -> str:
    return next((item.text for item in record.human if item.seq == message.seq), message.text)


def _beyond(fmt: Format, conversation: Conversation, view: Sequence[RawMessage]) -> Iterator[str]:
    """The view has no fault that the conversation did not have."""
    own = {problem.rule for problem in fmt.problems(conversation.messages)}
    for problem in fmt.problems(view):
        if problem.rule not in own | {"pending"}:
            yield f"item {problem.index} of the view: {problem.rule}"
