"""A model server on this machine that remembers what it was sent and makes tool calls, and the examples as modules."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from offturn_worker.fake_model import FakeModel
from offturn_worker.fake_model.chat_completions import ChatCompletions
from offturn_worker.fake_model.messages import Messages
from offturn_worker.fake_model.responses import Responses

EXAMPLES = Path(__file__).parents[2] / "examples"


class Model:
    """`sent`: the body of each request, in order. `url`: of the OpenAI API; `anthropic_url`: of Anthropic's.

    It calls the tool at index `tool` with `arguments` once for each human message that says "look".
    """

    def __init__(self, server: FakeModel) -> None:
        self.sent: list[dict[str, Any]] = []
        self.tool = 0
        self.arguments: dict[str, Any] = {"topic": "parser"}
        self.server = server

    @property
    def url(self) -> str:
        return self.server.openai_url

    @property
    def anthropic_url(self) -> str:
        return self.server.url

    def texts(self, number: int = -1) -> str:
        """One request, to search in."""
        return json.dumps(self.sent[number], ensure_ascii=False)


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Model]:
    async with FakeModel() as server:
        made = Model(server)
        for wire in (ChatCompletions, Messages, Responses):
            monkeypatch.setattr(wire, "asked", _remembering(wire.asked, made.sent))
        for wire in (ChatCompletions, Messages, Responses):
            monkeypatch.setattr(wire, "whole", _calling(wire.whole, made))
        yield made


def _remembering(asked: Callable[..., Any], sent: list[dict[str, Any]]) -> Callable[..., Any]:
    def remember(self: Any, body: dict[str, Any]) -> Any:
        sent.append(body)
        return asked(self, body)

    return remember


def _calling(whole: Callable[..., Any], model: Model) -> Callable[..., Any]:
    def call(self: Any, asked: Any, answer: Any) -> Any:
        sent, body, response = model.sent, model.sent[-1], whole(self, asked, answer)
        last = (body.get("messages") or body["input"])[-1]
        if not body.get("tools") or last.get("role") != "user" or "look" not in json.dumps(last["content"]):
            return response
        call_id, arguments, tool = f"call_{len(sent)}", json.dumps(model.arguments), body["tools"][model.tool]
        if "stop_reason" in response:
            block = {"type": "tool_use", "id": call_id, "name": tool["name"], "input": model.arguments}
            return {**response, "content": [block], "stop_reason": "tool_use"}
        if "output" in response:
            made = {"type": "function_call", "id": f"fc_{len(sent)}", "status": "completed", "call_id": call_id}
            return {**response, "output": [{**made, "name": tool["name"], "arguments": arguments}]}
        function = {"name": tool["function"]["name"], "arguments": arguments}
        calls = [{"id": call_id, "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        return {**response, "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}

    return call


@pytest.fixture
def example(request: pytest.FixtureRequest) -> ModuleType:
    """The example that the test module names in EXAMPLE."""
    return load(request.module.EXAMPLE)


def load(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
