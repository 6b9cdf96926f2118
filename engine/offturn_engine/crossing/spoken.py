"""What a list of messages says, without the format it says it in: replies with their calls, results, words of others.

A reply that is several messages becomes one, results stand in the order of their calls, and each call has an id that any
provider takes, once in the list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from offturn_engine.crossing.media import Media, media_of
from offturn_engine.formats import parse_all
from offturn_engine.formats.base import Format
from offturn_engine.groups import Place, pair
from offturn_engine.messages import (
    Json,
    MediaPart,
    Message,
    OpaquePart,
    RawMessage,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from offturn_engine.render import LATE_RESULT

REASONING = "reasoning"
RESULT_MEDIA = "media in tool results"
LEFT_OUT = "[{} left out]"

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_KIND = re.compile(r"[a-zA-Z_]{1,40}\Z")

Body: TypeAlias = list[str | Media]


@dataclass(frozen=True, slots=True)
class Call:
    """`arguments` is None where `source` is no JSON. `custom`: a tool that takes text."""

    id: str
    name: str
    arguments: Json
    source: str
    custom: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call."""

    call: Call
    text: str
    is_error: bool | None


@dataclass(slots=True)
class Spoken:
    """One message of no format. `at`: index of the message it comes from, of several the first.

    A `reply` has calls, `results` have answers; the others have a body only.
    """

    kind: Literal["system", "user", "reply", "results"]
    at: int
    body: Body = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its texts that are not blank, joined by blank lines."""
        return "\n\n".join(part for part in self.body if isinstance(part, str) and part.strip())


def spoken(raws: Sequence[RawMessage], fmt: Format, lost: Counter[str]) -> list[Spoken]:
    """What the list says; `lost` counts what cannot be said in another format, by kind."""
    messages = parse_all(fmt, raws)
    return _Reader(messages, fmt, lost).read()


class _Reader:
    def __init__(self, messages: Sequence[Message], fmt: Format, lost: Counter[str]) -> None:
        self.messages = messages
        self.fmt = fmt
        self.lost = lost
        self.call_of = pair(messages).call_of
        self.calls = self._named()
        self.said: list[Spoken] = []

    def read(self) -> list[Spoken]:
        for at, message in enumerate(self.messages):
            if message.role == "assistant":
                self._reply(at, message)
            else:
                self._results(at, message)
                body = self._body(at, message)
                if body:
                    self.said.append(Spoken("system" if message.role == "system" else "user", at, body))
        return self.said

    def _reply(self, at: int, message: Message) -> None:
        body, calls = self._body(at, message), [self.calls[at, part] for part, _ in message.calls]
        if not body and not calls:
            return
        if not self.said or self.said[-1].kind != "reply":
            self.said.append(Spoken("reply", at))
        self.said[-1].body += body
        self.said[-1].calls += calls

    def _results(self, at: int, message: Message) -> None:
        for part, result in message.results:
            self.lost[RESULT_MEDIA] += result.media
            place = self.call_of.get((at, part))
            if place is None:
                self.said.append(Spoken("user", at, [f"{LATE_RESULT}]\n{result.text}"]))
                continue
            told, order = self._answering(at)
            told.answers.append(Answer(self.calls[place], result.text, result.is_error))
            told.answers.sort(key=lambda one: order.index(one.call.id) if one.call.id in order else len(order))

    def _answering(self, at: int) -> tuple[Spoken, list[str]]:
        """Where a result goes, and the calls that are answered there: all results of a reply stand before what else came
        with one of them, as no provider takes another message between a call and its result.
        """
        place = len(self.said)
        while place and self.said[place - 1].kind != "reply":
            place -= 1
        told = next((one for one in self.said[place:] if one.kind == "results"), None)
        if told is None:
            told = Spoken("results", at)
            self.said.append(told)
        return told, [call.id for call in self.said[place - 1].calls] if place else []

    def _body(self, at: int, message: Message) -> Body:
        body: Body = []
        for part, value in enumerate(message.parts):
            match value:
                case TextPart(text=text):
                    body.append(text)
                case ThinkingPart():
                    self.lost[REASONING] += 1
                case OpaquePart(kind=kind):
                    self.lost[kind if _KIND.match(kind) else "other"] += 1
                case MediaPart(kind=kind):
                    media = media_of(self.fmt.block(self.messages[at], part))
                    self.lost[kind] += media is None
                    body.append(media or LEFT_OUT.format(kind))
                case ToolCallPart() | ToolResultPart():
                    pass
        return body

    def _named(self) -> Mapping[Place, Call]:
        """Every call under an id of its own."""
        found: dict[Place, Call] = {}
        taken: set[str] = set()
        for at, message in enumerate(self.messages):
            for part, call in message.calls:
                name = call.id.rpartition(":")[2] if self.fmt.name in _WITH_IDS else ""
                if not _ID.match(name) or name in taken:
                    name = next(
                        f"call_{n}" for n in range(len(taken) + 1, len(taken) * 2 + 2) if f"call_{n}" not in taken
                    )
                taken.add(name)
                custom = _is_custom(self.fmt.block(message, part)) and call.arguments is None
                found[at, part] = Call(name, call.name, call.arguments, call.source, custom)
        return found


_WITH_IDS = frozenset({"openai-chat", "openai-responses", "anthropic"})


def _is_custom(block: Json) -> bool:
    return isinstance(block, Mapping) and (
        "custom" in block or (block.get("type") not in ("function", "function_call", None) and "function" not in block)
    )
