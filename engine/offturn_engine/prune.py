"""Prune: what can be cut from a view without a model.

Reasoning of turns that are over and images that newer ones have replaced leave it; equal results become a reference to
the newest; long results a fixed text, one line or their telling lines; long strings in call arguments a head. With
order `late-half` the late half of what may be edited is cut first and the early half only where that is not enough:
every edit breaks the provider's cache of all that follows it, and the early half is what the next requests share.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from offturn_config.groups import Prune as Policy
from offturn_engine.groups import Pairs, Place, pair
from offturn_engine.handles import handle
from offturn_engine.leave_out import Gain, old_images, old_reasoning
from offturn_engine.messages import Edit, Json, Message, ToolCallPart, ToolResultPart
from offturn_engine.protect import may_clear, newest_results
from offturn_engine.results import failed
from offturn_engine.stubs import UNKNOWN, duplicate, failure, is_stub, stub
from offturn_engine.telling import telling
from offturn_engine.tokens import estimate_text
from offturn_engine.tool_line import CUT, DUPLICATE, tool_line

_ENCODER = json.JSONEncoder(ensure_ascii=False)
DEEPEST = 50  # nesting levels of arguments that are looked into
PRESSED_ARGUMENTS = 500  # characters of a string in a call's arguments that stay where a view must fit


@dataclass(frozen=True, slots=True)
class Pruning:
    """The edits in the order they were chosen, and the tokens (estimated) they take out of the view."""

    edits: tuple[Edit, ...]
    freed: int


Rule: TypeAlias = tuple[Callable[[int], Iterator[Gain]], Collection[int]]
"""What it would do to the message at an index, and the indexes at which it would do anything at all."""


def prune(
    messages: Sequence[Message],
    *,
    policy: Policy,
    protected: Collection[int],
    edited: Mapping[tuple[int, int], Edit],
    goal: int | None = None,
    estimate: Callable[[str], int] = estimate_text,
    untouched: Collection[int] = (),
) -> Pruning:
    """Cut in the policy's order until `goal` tokens are freed. Each edit makes its part smaller.

    `protected` are seqs that must stay as they are, as pinned messages do; a policy may take duplicates from all of them but those `untouched`.
    Parts named by `edited` (seq, part) are skipped, but a result that only lost its images may still be cleared. Without
    a goal everything that may be cut is cut. `estimate`: of a text.
    """
    pinned = {m.seq for m in messages if m.pinned}
    off_limits = frozenset(protected) | pinned
    cutter = _Cutter(messages, policy, off_limits, edited, estimate)
    open_to_edits = [i for i, m in enumerate(messages) if m.seq not in off_limits and not cutter.keeps(i)]
    half = len(open_to_edits) // 2 if policy.order == "late-half" else 0
    edits: list[Edit] = []
    freed = 0
    rules = [*cutter.rules()]
    passes = [(rule, part) for part in (open_to_edits[half:], open_to_edits[:half]) for rule in rules]
    if policy.deduplicate and policy.deduplicate_tail:
        spared = pinned.union(untouched)
        tail = [i for i, m in enumerate(messages) if m.seq in off_limits and m.seq not in spared]
        passes.append((cutter.with_results(cutter.duplicates), tail))
    for (rule, concerned), indexes in passes:
        for together, gain in (found for i in indexes if i in concerned for found in rule(i)):
            if goal is not None and freed >= goal:
                return Pruning(merged(edits), freed)
            edits += together
            freed += gain
    return Pruning(merged(edits), freed)


def merged(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """One edit for each part, the last one."""
    return tuple({(e.seq, e.part): e for e in edits}.values())


def pressed(policy: Policy) -> Policy:
    """The rules where a view must fit (invariant 11): any result may become one line, whatever the policy spares."""
    return policy.model_copy(
        update={
            "style": "one-line",
            "only": "any",
            "side_effects": False,
            "never": (),
            "protected_results": 0,
            "argument_characters": policy.argument_characters or PRESSED_ARGUMENTS,
        }
    )


class _Cutter:
    """The rules over one list: what each would do to the parts of one message."""

    def __init__(
        self,
        messages: Sequence[Message],
        policy: Policy,
        protected: frozenset[int],
        edited: Mapping[tuple[int, int], Edit],
        estimate: Callable[[str], int],
    ) -> None:
        self._estimate = estimate
        self._messages = messages
        self._policy = policy
        self._done = {place for place, edit in edited.items() if edit.rule != "image"}
        self._without_images = {place for place, edit in edited.items() if edit.rule == "image"}
        self._pairs: Pairs = pair(messages)
        self._kept = newest_results(messages, policy, self._call)
        self._results: dict[int, list[tuple[int, ToolResultPart]]] = {}
        self._newest: dict[str, Place] = {}
        for i, message in enumerate(messages):
            if message.results and (found := [*self._open(message)]):
                self._results[i] = found
                for part, result in found if policy.deduplicate else ():
                    if len(result.text) >= policy.minimum_characters:
                        self._newest[result.text] = (i, part)
        self._reasoning = old_reasoning(messages, protected) if policy.reasoning == "drop" else {}
        self._images = {} if policy.images is None else old_images(messages, policy.images, self._may)

    def rules(self) -> Iterator[Rule]:
        """In their order, those that would do anything."""
        if self._reasoning or self._images:
            yield self._left_out, self._reasoning.keys() | self._images.keys()
        if self._policy.deduplicate:
            yield self.with_results(self.duplicates)
        if self._policy.style not in ("off", "hidden"):
            yield self.with_results(self._cleared)
        if self._policy.argument_characters > 0:
            yield self._arguments, frozenset(i for i, message in enumerate(self._messages) if message.calls)

    def with_results(self, rule: Callable[[int], Iterator[Gain]]) -> Rule:
        """A rule for results."""
        return rule, self._results.keys()

    def keeps(self, i: int) -> bool:
        """Does the message hold nothing but results that are among the newest?"""
        if not self._kept:
            return False
        results = self._messages[i].results
        return len(results) == len(self._messages[i].parts) > 0 and all((i, part) in self._kept for part, _ in results)

    def _open(self, message: Message) -> Iterator[tuple[int, ToolResultPart]]:
        """The results that no edit has replaced before."""
        for part, result in message.results:
            if (message.seq, part) not in self._done and not self._is_stub(result.text):
                yield part, result

    def _is_stub(self, text: str) -> bool:
        return is_stub(text) or (text == self._policy.placeholder and text != "")

    def _may(self, i: int, part: int) -> bool:
        return (i, part) not in self._kept and may_clear(self._call(i, part), self._policy)

    def _left_out(self, i: int) -> Iterator[Gain]:
        for edits, gain in (*self._reasoning.get(i, ()), *self._images.get(i, ())):
            places = [(e.seq, e.part) for e in edits]
            if not any(place in self._done or place in self._without_images for place in places):
                yield edits, gain

    def duplicates(self, i: int) -> Iterator[Gain]:
        """The message's results whose text a newer one has."""
        message = self._messages[i]
        for part, result in self._results[i]:
            newest = self._newest.get(result.text, (i, part))
            if newest == (i, part) or (message.seq, part) in self._done or not self._may(i, part):
                continue
            text = self._refers(self._call(i, part), result, message.seq, _part(message, part), newest)
            yield from self._replace(
                message, part, result.text, Edit(seq=message.seq, part=part, rule="duplicate", text=text)
            )

    def _cleared(self, i: int) -> Iterator[Gain]:
        message = self._messages[i]
        for part, result in self._results[i]:
            if len(result.text) <= self._policy.minimum_characters or (message.seq, part) in self._done:
                continue
            call = self._call(i, part)
            if (i, part) in self._kept or not may_clear(call, self._policy):
                continue
            text = self._stand_in(call, result, message.seq, _part(message, part))
            yield from self._replace(
                message, part, result.text, Edit(seq=message.seq, part=part, rule="stub", text=text)
            )

    def _refers(self, call: ToolCallPart, result: ToolResultPart, seq: int, part: int | None, newest: Place) -> str:
        if self._policy.style == "tool-line":
            return DUPLICATE
        return duplicate(call, result, seq, part, self._handle(newest))

    def _stand_in(self, call: ToolCallPart, result: ToolResultPart, seq: int, part: int | None) -> str:
        policy = self._policy
        if policy.style == "placeholder":
            lines = failure(result.text, policy.failure_lines) if policy.failure_lines and failed(result, call) else []
            return "\n".join([policy.placeholder, *lines])
        if policy.style == "tool-line":
            return tool_line(call, result)
        made = telling if policy.style == "head-tail" else stub
        return made(call, result, seq, part, policy)

    def _replace(self, message: Message, part: int, old: str, edit: Edit) -> Iterator[Gain]:
        gain = self._gain(old, edit.text or "")
        if gain:
            self._done.add((message.seq, part))
            yield (edit,), gain

    def _gain(self, old: str, new: str) -> int:
        """Tokens saved; 0 where the new text is not smaller by characters as well."""
        return max(0, self._estimate(old) - self._estimate(new)) if len(new) < len(old) else 0

    def _arguments(self, i: int) -> Iterator[Gain]:
        message, least = self._messages[i], max(self._policy.argument_total, self._policy.argument_characters)
        calls = message.calls
        for part, call in calls:
            if (message.seq, part) in self._done or call.arguments is None:
                continue
            if len(call.source) <= least:  # no string is longer than the JSON that it is in
                continue
            name = handle(message.seq, part if len(calls) > 1 else None)
            small = shrink(call.arguments, self._policy.argument_characters, self._cut(name))
            if small == call.arguments:
                continue
            gain = self._gain(arguments_text(call.arguments), arguments_text(small))
            if gain:
                yield (Edit(seq=message.seq, part=part, rule="arguments", arguments=small),), gain

    def _cut(self, name: str) -> Callable[[str], str]:
        """How a long string of arguments is cut; `name`: the handle of its call."""
        limit = self._policy.argument_characters
        if self._policy.style == "tool-line":
            return lambda text: _shorter(text, text[:limit], CUT)
        return lambda text: _shorter(text, text[: limit // 2], _missing(text, limit // 2, name))

    def _call(self, i: int, part: int) -> ToolCallPart:
        place = self._pairs.call_of.get((i, part))
        found = self._messages[place[0]].parts[place[1]] if place else UNKNOWN
        return found if isinstance(found, ToolCallPart) else UNKNOWN

    def _handle(self, place: Place) -> str:
        message = self._messages[place[0]]
        return handle(message.seq, _part(message, place[1]))


def _part(message: Message, part: int) -> int | None:
    return part if len(message.results) > 1 else None


def arguments_text(arguments: Json) -> str:
    """The text by which arguments are measured; "" for what JSON cannot say."""
    try:
        return _ENCODER.encode(arguments)
    except (TypeError, ValueError, RecursionError):
        return ""


def shrink(value: Json, limit: int, cut: Callable[[str], str], depth: int = 0) -> Json:
    """The same JSON value with each string above `limit` characters cut."""
    if isinstance(value, str):
        return cut(value) if len(value) > limit else value
    if depth >= DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {k: shrink(v, limit, cut, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [shrink(v, limit, cut, depth + 1) for v in value]
    return value


def _missing(text: str, kept: int, name: str) -> str:
    """The marker that says how much is missing and the handle it is recalled by."""
    return f"… [{len(text) - kept:,} of {len(text):,} characters omitted · recall {name}]"


def _shorter(text: str, head: str, marker: str) -> str:
    """Head and marker; a string they would not make shorter stays."""
    return head + marker if len(head) + len(marker) < len(text) else text
