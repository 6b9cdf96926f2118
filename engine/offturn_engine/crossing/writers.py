"""Spoken messages as raw messages of a format; each comes with the index of the message it is from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from offturn_engine.crossing.media import Media, written
from offturn_engine.crossing.spoken import LEFT_OUT, Call, Spoken
from offturn_engine.formats._actions import function
from offturn_engine.formats._arguments import write_arguments
from offturn_engine.formats.responses import grouped
from offturn_engine.messages import Json, RawMessage

Written: TypeAlias = list[tuple[RawMessage, int]]

NOT_AN_OBJECT = "arguments that are no JSON object"


class Writer:
    """Chat completions, and what all formats do alike."""

    target = "openai-chat"

    def __init__(self, lost: Counter[str]) -> None:
        self.lost = lost

    def write(self, said: Sequence[Spoken]) -> Written:
        """The messages, in order."""
        return [(raw, at) for one in said for raw, at in self.message(one)]

    def message(self, one: Spoken) -> Iterator[tuple[RawMessage, int]]:
        """The messages of one."""
        if one.kind == "results":
            for answer in one.answers:
                yield {"role": "tool", "tool_call_id": answer.call.id, "content": answer.text}, one.at
        elif one.kind == "reply":
            calls = {"tool_calls": [_tool_call(call) for call in one.calls]} if one.calls else {}
            text = self.told(one)
            if text or calls:
                yield {"role": "assistant", "content": text or None, **calls}, one.at
        elif one.kind == "system":
            yield {"role": "system", "content": self.told(one)}, one.at
        else:
            parts = [self.part(part) for part in one.body]
            yield {"role": "user", "content": parts[0]["text"] if _is_text(parts) else parts}, one.at

    def told(self, one: Spoken) -> str:
        """The text of what can hold nothing else."""
        for part in one.body:
            if isinstance(part, Media):
                self.lost[part.kind] += 1
        return one.text

    def part(self, part: str | Media) -> dict[str, Any]:
        """A part of chat completions."""
        return (
            {"type": "text", "text": part} if isinstance(part, str) else self.media(part) or self.part(self.gone(part))
        )

    def media(self, media: Media) -> dict[str, Any] | None:
        """The part that holds it, if the format has one."""
        return written(media, self.target)

    def gone(self, media: Media) -> str:
        """What stands in its place."""
        self.lost[media.kind] += 1
        return LEFT_OUT.format(media.kind)

    def object(self, call: Call) -> Mapping[str, Json]:
        """Arguments for an API that takes an object only."""
        if isinstance(call.arguments, dict):
            return call.arguments
        self.lost[NOT_AN_OBJECT] += 1
        return {"input": call.source if call.arguments is None else call.arguments}


class Responses(Writer):
    """Items, made of chat completions' messages."""

    target = "openai-responses"

    def write(self, said: Sequence[Spoken]) -> Written:
        chat = super().write(said)
        made = grouped([raw for raw, _ in chat])
        return [(item, at) for group, (_, at) in zip(made, chat, strict=True) for item in group]


class Texts(Writer):
    """Actions at the end of texts, one a message, each followed by its observation."""

    target = "text-observation"

    def write(self, said: Sequence[Spoken]) -> Written:
        made: Written = []
        results = {answer.call.id: (answer.text, one.at) for one in said for answer in one.answers}
        for one in said:
            if one.kind == "results":
                continue
            if not one.calls:
                made += self.message(one)
            for n, call in enumerate(one.calls):
                action = function(call.name, self.object(call))
                text = self.told(one) if n == 0 else ""
                made.append(({"role": "assistant", "content": f"{text}\n\n{action}" if text else action}, one.at))
                if call.id in results:
                    observed, at = results[call.id]
                    made.append(({"role": "user", "content": observed}, at))
        return made


class Anthropic(Writer):
    """Blocks; nothing is blank."""

    target = "anthropic"

    def message(self, one: Spoken) -> Iterator[tuple[RawMessage, int]]:
        blocks = [self._result(answer.call.id, answer.text, answer.is_error) for answer in one.answers]
        blocks += [self._block(part) for part in one.body if not isinstance(part, str) or part.strip()]
        blocks += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": self.object(call)} for call in one.calls
        ]
        if blocks:
            role = "assistant" if one.kind == "reply" else "user"
            yield {"role": role, "content": blocks[0]["text"] if _is_text(blocks) else blocks}, one.at

    def _block(self, part: str | Media) -> dict[str, Any]:
        return self.part(part)

    def _result(self, id_: str, text: str, is_error: bool | None) -> dict[str, Any]:
        failed = {"is_error": True} if is_error else {}
        return {"type": "tool_result", "tool_use_id": id_, "content": text, **failed}


class Gemini(Writer):
    """Parts; no text is empty."""

    target = "gemini"

    def message(self, one: Spoken) -> Iterator[tuple[RawMessage, int]]:
        parts = [
            {
                "functionResponse": {
                    "id": answer.call.id,
                    "name": answer.call.name,
                    "response": {"error" if answer.is_error else "output": answer.text},
                }
            }
            for answer in one.answers
        ]
        parts += [self._part(part) for part in one.body if not isinstance(part, str) or part.strip()]
        parts += [{"functionCall": {"id": c.id, "name": c.name, "args": self.object(c)}} for c in one.calls]
        if parts:
            yield {"role": "model" if one.kind == "reply" else "user", "parts": parts}, one.at

    def _part(self, part: str | Media) -> dict[str, Any]:
        return {"text": part} if isinstance(part, str) else self.media(part) or {"text": self.gone(part)}


WRITERS: Mapping[str, type[Writer]] = {one.target: one for one in (Writer, Responses, Anthropic, Gemini, Texts)}


def _is_text(parts: Sequence[Mapping[str, Any]]) -> bool:
    return len(parts) == 1 and parts[0].get("type") == "text"


def _tool_call(call: Call) -> dict[str, Json]:
    if call.custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.source}}
    source = call.source if call.arguments is None else write_arguments(call.arguments)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": source}}
