"""What both wire formats have in common: the request as read, the answer to send, and pieces of a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from aiohttp import web

from offturn_engine.transcript_text import fence

Ending = Literal["stop", "length", "refused", "window"]

_PIECE = re.compile(r"\S*\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. `others`: what assistant and tools said in it, which is counted and not summed up."""

    model: str
    system: str
    content: str
    max_tokens: int
    stream: bool
    usage: bool = True  # the client wants usage in the stream
    compact: bool = False  # the request is a compaction
    others: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer; input includes cached tokens."""

    text: str
    ending: Ending
    input_tokens: int
    cached_tokens: int
    output_tokens: int

    @property
    def pieces(self) -> list[str]:
        """The text, a few words at a time."""
        words = _PIECE.findall(self.text)[:-1]
        return ["".join(words[i : i + 4]) for i in range(0, len(words), 4)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error to answer with; `kind` names it where the status does not."""

    status: int
    kind: Literal["", "too_long", "too_long_llama"] = ""
    tokens: int = 0
    limit: int = 0

    @property
    def llama(self) -> dict[str, Any]:
        """llama.cpp's error object, the same on both routes."""
        return {
            "code": self.status,
            "message": f"request ({self.tokens} tokens) exceeds the available context size ({self.limit} tokens), "
            "try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": self.tokens,
            "n_ctx": self.limit,
        }


class Wire(Protocol):
    """One wire format; `events` are server-sent events, one piece of text in most of them."""

    path: str

    def asked(self, body: dict[str, Any]) -> Asked: ...

    def whole(self, asked: Asked, answer: Answer) -> dict[str, Any]: ...

    def events(self, asked: Asked, answer: Answer) -> list[bytes]: ...

    def error(self, problem: Problem) -> dict[str, Any]: ...

    def error_event(self) -> bytes: ...


def opaque(answer: Answer) -> str:
    """The unreadable content of a compaction item: nothing of the answer, but its length."""
    return f"opaque-{len(answer.text)}-éß=="


def event(data: dict[str, Any] | str, name: str | None = None) -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()


def text_of(content: Any) -> str:
    """The text of a content value: a string, or parts of which the text ones count."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def content_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """What a request asks to be done, and with what: its last message, and the conversation before that, as a prompt of
    ours has it.
    """
    said = _said(messages)
    if not _asks(said):
        return "\n".join(text for role, text in said if role == "user")
    origins = {"user": "human", "assistant": "assistant"}
    records = "\n\n".join(
        f"[m{i} {origins.get(role, 'tool')}]\n{text}" for i, (role, text) in enumerate(said[:-1]) if text
    )
    return f"{fence('transcript', records)}\n\n{said[-1][1]}"


def others_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """What assistant and tools said in a request, where `content_of` leaves it out."""
    said = _said(messages)
    return "" if _asks(said) else "\n".join(text for role, text in said if role != "user")


def _said(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(m["role"], _told(m.get("content"))) for m in messages if m["role"] not in ("system", "developer")]


def _asks(said: Sequence[tuple[str, str]]) -> bool:
    """Does a request end with what is to be done with the conversation before it?"""
    return len(said) > 1 and said[-1][0] == "user"


def _told(content: Any) -> str:
    """Its text, and that of results in it."""
    results = [part.get("content") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return "\n".join(filter(None, [text_of(content), *map(text_of, results)]))


def key_of(request: web.Request) -> tuple[str, str]:
    """The header a key came in, and the key."""
    if "x-api-key" in request.headers:
        return "x-api-key", request.headers["x-api-key"]
    return "authorization", request.headers.get("authorization", "").removeprefix("Bearer ")
