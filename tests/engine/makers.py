"""Makers of raw messages, one a format, for the strategies of transcripts."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

from hypothesis import strategies as st

Raw = dict[str, Any]

Result = tuple[str, str, str, bool]
"""(call id, tool, text, is an error)."""

Call = tuple[str, tuple[str, Raw]]
"""(call id, (tool, arguments))."""

PNG = "iVBORw0KGgo="

FLIP = st.booleans()
ONE_IN_FOUR = st.integers(0, 3)
ONE_IN_FIVE = st.integers(0, 4)
ONE_IN_SEVEN = st.integers(0, 6)
ONE_IN_TEN = st.integers(0, 9)
ONE_IN_TWENTY = st.integers(0, 19)
CALL_KEY = st.sampled_from(["functionCall", "function_call"])
RESPONSE_KEY = st.sampled_from(["functionResponse", "function_response"])
FENCE = st.sampled_from(["", "bash", "mswea_bash_command"])


class Maker(ABC):
    """Builds raw messages of one format. `opened` counts unanswered calls so far."""

    blank = False  # does the format take blank text?
    system = False  # may a list start with a system message?
    most_calls = 3

    def __init__(self) -> None:
        self.opened = 0

    @abstractmethod
    def human(self, draw: st.DrawFn, text: str) -> Raw:
        """A human's message."""

    @abstractmethod
    def reply(self, draw: st.DrawFn, text: str) -> list[Raw]:
        """An assistant's text."""

    @abstractmethod
    def calls(self, draw: st.DrawFn, calls: list[Call], text: str) -> list[Raw]:
        """What an assistant says with calls."""

    @abstractmethod
    def results(self, draw: st.DrawFn, results: list[Result]) -> list[Raw]:
        """The messages that answer."""


class OpenAIMaker(Maker):
    """openai-chat, which accepts blank text."""

    blank = system = True

    def human(self, draw: st.DrawFn, text: str) -> Raw:
        if draw(ONE_IN_FIVE):
            return {"role": "user", "content": text}
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
        return {"role": "user", "content": [{"type": "text", "text": text}, image]}

    def reply(self, draw: st.DrawFn, text: str) -> list[Raw]:
        message: Raw = {"role": "assistant", "content": text}
        if draw(ONE_IN_FIVE) == 0:
            message["reasoning_content"] = "the user wants it fixed"
        return [message]

    def calls(self, draw: st.DrawFn, calls: list[Call], text: str) -> list[Raw]:
        made: list[Raw] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id_, (name, arguments) in calls
        ]
        if draw(ONE_IN_TWENTY) == 0:
            made[0]["function"]["arguments"] = '{"command": "cut of'
        return [{"role": "assistant", "content": text or None, "tool_calls": made}]

    def results(self, draw: st.DrawFn, results: list[Result]) -> list[Raw]:
        return [{"role": "tool", "tool_call_id": id_, "content": text} for id_, _, text, _ in results]


class ResponsesMaker(Maker):
    """openai-responses: a reply is several items; custom tools; what offturn does not know."""

    blank = system = True

    def human(self, draw: st.DrawFn, text: str) -> Raw:
        if draw(FLIP):
            return {"role": "user", "content": text}
        parts: list[Raw] = [{"type": "input_text", "text": text}]
        if draw(ONE_IN_FIVE) == 0:
            parts.append({"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"})
        return {"type": "message", "role": "user", "content": parts}

    def reply(self, draw: st.DrawFn, text: str) -> list[Raw]:
        said = {"type": "output_text", "text": text, "annotations": []}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [said]}
        return [*self._before(draw), item]

    def calls(self, draw: st.DrawFn, calls: list[Call], text: str) -> list[Raw]:
        said = [{"role": "assistant", "content": text}] if text else []
        return [*self._before(draw), *said, *(self._call(draw, *call) for call in calls)]

    def results(self, draw: st.DrawFn, results: list[Result]) -> list[Raw]:
        return [self._result(draw, *result) for result in results]

    def _call(self, draw: st.DrawFn, id_: str, tool: tuple[str, Raw]) -> Raw:
        name, arguments = tool
        if name == "search":
            return {"type": "custom_tool_call", "call_id": id_, "name": name, "input": "compare_digest"}
        return {"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps(arguments)}

    def _result(self, draw: st.DrawFn, id_: str, name: str, text: str, _: bool) -> Raw:
        kind = "custom_tool_call_output" if name == "search" else "function_call_output"
        output = [{"type": "input_text", "text": text}] if draw(ONE_IN_FIVE) == 0 else text
        return {"type": kind, "call_id": id_, "output": output}

    def _before(self, draw: st.DrawFn) -> list[Raw]:
        match draw(ONE_IN_SEVEN):
            case 0:
                return [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAAB"}]
            case 1:
                return [{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}]
        return []


class AnthropicMaker(Maker):
    """anthropic: no blank text, results in user messages, one or several."""

    def human(self, draw: st.DrawFn, text: str) -> Raw:
        if draw(FLIP):
            return {"role": "user", "content": text}
        blocks: list[Raw] = [{"type": "text", "text": text}]
        if draw(ONE_IN_FIVE) == 0:
            source = {"type": "base64", "media_type": "image/png", "data": PNG}
            blocks.append({"type": "image", "source": source})
        return {"role": "user", "content": blocks}

    def reply(self, draw: st.DrawFn, text: str) -> list[Raw]:
        return [{"role": "assistant", "content": [*self._thinking(draw), {"type": "text", "text": text}]}]

    def calls(self, draw: st.DrawFn, calls: list[Call], text: str) -> list[Raw]:
        blocks = [*self._thinking(draw), *([{"type": "text", "text": text}] if text else [])]
        blocks += [{"type": "tool_use", "id": i, "name": name, "input": arguments} for i, (name, arguments) in calls]
        return [{"role": "assistant", "content": blocks}]

    def results(self, draw: st.DrawFn, results: list[Result]) -> list[Raw]:
        blocks = [self._result(draw, *result) for result in results]
        if not blocks:
            return []
        if draw(FLIP):
            return [{"role": "user", "content": blocks}]
        return [{"role": "user", "content": [block]} for block in blocks]

    def _result(self, draw: st.DrawFn, id_: str, _: str, text: str, is_error: bool) -> Raw:
        content = [{"type": "text", "text": text}] if text and draw(FLIP) else text
        block: Raw = {"type": "tool_result", "tool_use_id": id_, "content": content}
        return {**block, "is_error": True} if is_error else block

    def _thinking(self, draw: st.DrawFn) -> list[Raw]:
        if draw(ONE_IN_FOUR):
            return []
        return [{"type": "thinking", "thinking": "compare the tokens first", "signature": "EqQBCkYICxgC"}]


class GeminiMaker(Maker):
    """gemini: both spellings of field names, results with and without ids, signatures on thoughts and calls."""

    def human(self, draw: st.DrawFn, text: str) -> Raw:
        parts: list[Raw] = [{"text": text}]
        if draw(ONE_IN_FIVE) == 0:
            parts.append({"inlineData": {"mimeType": "image/png", "data": PNG}})
        return {"role": "user", "parts": parts} if draw(ONE_IN_FIVE) else {"parts": parts}

    def reply(self, draw: st.DrawFn, text: str) -> list[Raw]:
        return [{"role": "model", "parts": [*self._thought(draw), {"text": text}]}]

    def calls(self, draw: st.DrawFn, calls: list[Call], text: str) -> list[Raw]:
        parts: list[Raw] = [*self._thought(draw), *([{"text": text}] if text else [])]
        key = draw(CALL_KEY)
        signed = {"thoughtSignature": "AAEC"} if draw(FLIP) else {}
        for id_, (name, arguments) in calls:
            parts.append({key: {"id": id_, "name": name, "args": arguments}, **signed})
            signed = {}
        return [{"role": "model", "parts": parts}]

    def results(self, draw: st.DrawFn, results: list[Result]) -> list[Raw]:
        parts = [self._result(draw, *result) for result in results]
        if not parts:
            return []
        if draw(FLIP):
            return [{"role": "user", "parts": parts}]
        return [{"role": "user", "parts": [part]} for part in parts]

    def _result(self, draw: st.DrawFn, id_: str, name: str, text: str, is_error: bool) -> Raw:
        key = draw(RESPONSE_KEY)
        answer: Raw = {"name": name, "response": {"error" if is_error else "output": text}}
        return {key: {"id": id_, **answer} if draw(FLIP) else answer}

    def _thought(self, draw: st.DrawFn) -> list[Raw]:
        if draw(ONE_IN_FOUR):
            return []
        return [{"text": "compare the tokens first", "thought": True, "thoughtSignature": "AAEC"}]


class TextMaker(Maker):
    """text-observation: one call at the end of a text, in either notation; results are user messages."""

    blank = system = True
    most_calls = 1

    def human(self, draw: st.DrawFn, text: str) -> Raw:
        return {"role": "user", "content": text}

    def reply(self, draw: st.DrawFn, text: str) -> list[Raw]:
        return [{"role": "assistant", "content": text}]

    def calls(self, draw: st.DrawFn, calls: list[Call], text: str) -> list[Raw]:
        [(_, (name, arguments))] = calls
        if name == "bash":
            label = draw(FENCE)
            action = f"```{label}\n{arguments['command']}\n```"
        else:
            told = [f"<parameter={key}>{value}</parameter>" for key, value in arguments.items()]
            action = "\n".join([f"<function={name}>", *told, "</function>"])
        return [{"role": "assistant", "content": f"{text}\n\n{action}" if text else action}]

    def results(self, draw: st.DrawFn, results: list[Result]) -> list[Raw]:
        return [{"role": "user", "content": text} for _, _, text, _ in results]


MAKERS: dict[str, type[Maker]] = {
    "openai-chat": OpenAIMaker,
    "openai-responses": ResponsesMaker,
    "anthropic": AnthropicMaker,
    "gemini": GeminiMaker,
    "text-observation": TextMaker,
}
