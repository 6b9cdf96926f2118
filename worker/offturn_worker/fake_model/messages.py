"""The wire format of Anthropic's messages."""

from __future__ import annotations

from typing import Any

from offturn_worker.fake_model.wire import Answer, Asked, Ending, Problem, content_of, event, opaque, others_of, text_of

_STOP: dict[Ending, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "refused": "refusal",
    "window": "model_context_window_exceeded",
}
_ERRORS: dict[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Messages:
    """`POST /v1/messages`."""

    path = "/v1/messages"

    def asked(self, body: dict[str, Any]) -> Asked:
        return Asked(
            model=str(body["model"]),
            system=text_of(body.get("system") or ""),
            content=content_of(body["messages"]),
            max_tokens=int(body["max_tokens"]),
            stream=bool(body.get("stream")),
            compact=bool(body.get("compaction")),
            others=others_of(body["messages"]),
        )

    def whole(self, asked: Asked, answer: Answer) -> dict[str, Any]:
        if asked.compact:
            return _compaction(asked, answer)
        content = [{"type": "text", "text": answer.text}] if answer.text else []
        return {
            **_message(asked, answer, answer.output_tokens),
            "content": content,
            "stop_reason": _STOP[answer.ending],
        }

    def events(self, asked: Asked, answer: Answer) -> list[bytes]:
        return [
            _event("message_start", message=_message(asked, answer, 1)),
            _event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            _event("ping"),
            *(_event("content_block_delta", index=0, delta=_delta(piece)) for piece in answer.pieces),
            _event("content_block_stop", index=0),
            _event(
                "message_delta",
                delta={"stop_reason": _STOP[answer.ending], "stop_sequence": None},
                usage={"output_tokens": answer.output_tokens},
            ),
            _event("message_stop"),
        ]

    def error(self, problem: Problem) -> dict[str, Any]:
        if problem.kind == "too_long_llama":
            return {"error": problem.llama}
        kind = _ERRORS.get(problem.status, "api_error" if problem.status >= 500 else "invalid_request_error")
        message = f"scripted status {problem.status}"
        if problem.kind == "too_long":
            message = f"prompt is too long: {problem.tokens} tokens > {problem.limit} maximum"
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}

    def error_event(self) -> bytes:
        return _event("error", error={"type": "overloaded_error", "message": "scripted"})


def _compaction(asked: Asked, answer: Answer) -> dict[str, Any]:
    """One block; what it cost stands in `iterations`, and not in the usage at the top."""
    text = answer.text or None  # null: no summary came of it
    block: dict[str, Any] = {
        "type": "compaction",
        "content": text,
        "encrypted_content": text and opaque(answer),
        "signature": "sig",
    }
    message = _message(asked, answer, answer.output_tokens)
    spent = {**message["usage"], "type": "compaction"}
    top = dict.fromkeys(message["usage"], 0)
    block["tool_changes"] = []
    return {**message, "content": [block], "stop_reason": "compaction", "usage": {**top, "iterations": [spent]}}


def _event(name: str, **fields: Any) -> bytes:
    return event({"type": name, **fields}, name)


def _delta(piece: str) -> dict[str, str]:
    return {"type": "text_delta", "text": piece}


def _message(asked: Asked, answer: Answer, output_tokens: int) -> dict[str, Any]:
    """Its `input_tokens` leave out what came from the cache."""
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.input_tokens - answer.cached_tokens,
            "cache_read_input_tokens": answer.cached_tokens,
            "cache_creation_input_tokens": 0,
            "output_tokens": output_tokens,
        },
    }
