"""The wire format of OpenAI's chat completions."""

from __future__ import annotations

from typing import Any

from offturn_worker.fake_model.wire import Answer, Asked, Ending, Problem, content_of, event, others_of, text_of

_FINISH: dict[Ending, str] = {"stop": "stop", "length": "length", "refused": "content_filter", "window": "length"}
_ERRORS: dict[int, tuple[str, str | None]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", None),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}


class ChatCompletions:
    """`POST /v1/chat/completions`."""

    path = "/v1/chat/completions"

    def asked(self, body: dict[str, Any]) -> Asked:
        messages = body["messages"]
        return Asked(
            model=str(body["model"]),
            system="\n".join(text_of(m["content"]) for m in messages if m["role"] in {"system", "developer"}),
            content=content_of(messages),
            max_tokens=int(body.get("max_completion_tokens") or body.get("max_tokens") or 4096),
            stream=bool(body.get("stream")),
            usage=bool((body.get("stream_options") or {}).get("include_usage")),
            others=others_of(messages),
        )

    def whole(self, asked: Asked, answer: Answer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.text, "refusal": _refusal(answer)}
        choice = {"index": 0, "message": message, "finish_reason": _FINISH[answer.ending]}
        return {**_base(asked, "chat.completion"), "choices": [choice], "usage": _usage(answer)}

    def events(self, asked: Asked, answer: Answer) -> list[bytes]:
        refusal = _refusal(answer)
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", "refusal": None}]
        deltas += [{"content": piece} for piece in answer.pieces]
        deltas += [{"refusal": refusal}] if refusal else []
        usage = {**_base(asked, "chat.completion.chunk"), "choices": [], "usage": _usage(answer)}
        return [
            *(_chunk(asked, delta) for delta in deltas),
            _chunk(asked, {}, _FINISH[answer.ending]),
            *([event(usage)] if asked.usage else []),
            event("[DONE]"),
        ]

    def error(self, problem: Problem) -> dict[str, Any]:
        if problem.kind == "too_long_llama":
            return {"error": problem.llama}
        kind, code = _ERRORS.get(
            problem.status, ("server_error" if problem.status >= 500 else "invalid_request_error", None)
        )
        message = f"scripted status {problem.status}"
        if problem.kind == "too_long":
            code = "context_length_exceeded"
            message = (
                f"This model's maximum context length is {problem.limit} tokens. However, your messages resulted in "
                f"{problem.tokens} tokens. Please reduce the length of the messages."
            )
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def error_event(self) -> bytes:
        return event({"error": {"message": "scripted", "type": "server_error", "param": None, "code": "slow_down"}})


def _base(asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-fake", "object": kind, "created": 1_790_000_000, "model": asked.model}


def _chunk(asked: Asked, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return event({**_base(asked, "chat.completion.chunk"), "choices": [choice], "usage": None})


def _refusal(answer: Answer) -> str | None:
    return "I cannot help with that." if answer.ending == "refused" else None


def _usage(answer: Answer) -> dict[str, Any]:
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
    }
