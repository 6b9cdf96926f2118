"""The wire formats of OpenAI's responses and of their compaction. Errors are those of chat completions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from offturn_worker.fake_model.chat_completions import ChatCompletions
from offturn_worker.fake_model.wire import Answer, Asked, Problem, event, opaque, text_of


class Responses:
    """`POST /v1/responses`, whole answers only."""

    path = "/v1/responses"

    def asked(self, body: dict[str, Any]) -> Asked:
        given = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
        said = [item for item in given if item.get("type", "message") == "message"]
        return Asked(
            model=str(body["model"]),
            system="\n".join(text_of(m["content"]) for m in said if m["role"] in {"system", "developer"}),
            content="\n".join(text_of(m["content"]) for m in said if m["role"] == "user"),
            max_tokens=int(body.get("max_output_tokens") or 4096),
            stream=False,
            others="\n".join(
                text_of(item.get("output") or item.get("content"))
                for item in given
                if "output" in item or item.get("role") == "assistant"
            ),
        )

    def whole(self, asked: Asked, answer: Answer) -> dict[str, Any]:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        said = {"type": "message", "id": "msg_fake", "role": "assistant", "status": "completed", "content": [part]}
        return {
            "id": "resp_fake",
            "object": "response",
            "created_at": 1_790_000_000,
            "model": asked.model,
            "status": "completed",
            "output": [said],
            "usage": _usage(answer),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }

    def events(self, asked: Asked, answer: Answer) -> list[bytes]:
        return [event({"type": "response.completed", "response": self.whole(asked, answer)})]

    def error(self, problem: Problem) -> dict[str, Any]:
        return ChatCompletions().error(problem)

    def error_event(self) -> bytes:
        return ChatCompletions().error_event()


class Compactions(Responses):
    """`POST /v1/responses/compact`: the user's messages, then one item."""

    path = "/v1/responses/compact"

    def asked(self, body: dict[str, Any]) -> Asked:
        return replace(super().asked(body), compact=True)

    def whole(self, asked: Asked, answer: Answer) -> dict[str, Any]:
        kept = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked.content}]}
        item = {"type": "compaction", "id": "cmp_fake", "encrypted_content": opaque(answer), "of_the_future": [1, None]}
        return {
            "id": "resp_fake",
            "object": "response.compaction",
            "created_at": 1_790_000_000,
            "output": [kept, *([item] if answer.text else [])],
            "usage": _usage(answer),
        }


def _usage(answer: Answer) -> dict[str, Any]:
    return {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": answer.cached_tokens},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }
