"""A provider of model APIs that fails by script and keeps its books: `python -m tests.faults.kit.provider BOOK`.

Both wire formats are those of the fake model. Each call is a line in the book: the hash of what was asked, what the
script made of it, and how it ended: `paid` (a complete answer was produced and delivered), `scripted` (it failed, or
answered badly, on purpose), `gone` (the client went away first).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, TextIO

from aiohttp import web

from offturn_engine.tokens import estimate_text
from offturn_worker.fake_model.answer import compose
from offturn_worker.fake_model.behaviour import Behaviour, behaviour
from offturn_worker.fake_model.chat_completions import ChatCompletions
from offturn_worker.fake_model.messages import Messages
from offturn_worker.fake_model.wire import Answer, Asked, Problem, Wire
from tests.faults.kit.channel import commands, say

LONGER = "longer"  # a text longer than what it is about
RETRY_AFTER = 0.5  # seconds, with 429
STEPS = 6  # pieces of a stream
BROKEN_OFF = {"drop", "end", "stall", "error_event"}

FAILURES: tuple[str, ...] = (
    "429", "529", "500", "503", "hang", "cut", "refusal", "empty", "too_long", "too_long_late", "drop", "end",
    "stall", "error_event", "garbage", "garbled", "error_text", LONGER,
)  # fmt: skip
"""What the driver may script."""


class Provider:
    """`delay`: seconds before an answer; `script`: what the next calls become; `gate`: cleared, answers wait."""

    def __init__(self, book: TextIO) -> None:
        self.delay = 0.0
        self.script: deque[str] = deque()
        self.gate = asyncio.Event()
        self.gate.set()
        self._book = book

    async def serve(self) -> str:
        """Listen; the base URL."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        for wire in (ChatCompletions(), Messages()):
            app.router.add_post(wire.path, self._route(wire))
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        return f"http://{host}:{port}"

    def _route(self, wire: Wire) -> Any:
        async def serve(request: web.Request) -> web.StreamResponse:
            body = await request.json()
            asked = wire.asked(body)
            scripted = self.script.popleft() if self.script else "ok"
            digest = hashlib.sha256(f"{asked.system}\n{asked.content}".encode()).hexdigest()[:24]
            ending = "gone"
            try:
                await asyncio.sleep(self.delay)
                await self.gate.wait()
                response = await self._answer(request, wire, asked, scripted)
                ending = "paid" if scripted == "ok" else "scripted"
            finally:
                if scripted != "ok":
                    ending = "scripted"
                self._write(digest, scripted, ending, asked)
            return response

        return serve

    def _write(self, digest: str, scripted: str, ending: str, asked: Asked) -> None:
        line = {"t": time.monotonic(), "hash": digest, "script": scripted, "ending": ending}
        self._book.write(json.dumps({**line, "size": len(asked.content)}) + "\n")
        self._book.flush()

    async def _answer(self, request: web.Request, wire: Wire, asked: Asked, scripted: str) -> web.StreamResponse:
        tokens = estimate_text(asked.system) + estimate_text(asked.content)
        if scripted == "too_long_late" and isinstance(wire, ChatCompletions):
            return _error(wire, Problem(status=413))
        match scripted:
            case "hang":
                await asyncio.Event().wait()
            case "garbled":
                return web.Response(text="<html><body>Bad gateway</body></html>", content_type="text/html")
            case "too_long":
                return _error(wire, Problem(status=400, kind="too_long", tokens=tokens, limit=tokens // 2))
            case number if number.isdigit():
                return _error(wire, Problem(status=int(number)))
        answer = await asyncio.to_thread(_composed, asked, scripted, tokens)
        if not asked.stream:
            return web.json_response(wire.whole(asked, answer))
        return await self._stream(request, wire, asked, answer, scripted)

    async def _stream(
        self, request: web.Request, wire: Wire, asked: Asked, answer: Answer, scripted: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        events = wire.events(asked, answer)
        size = max(1, len(events) // STEPS)
        for start in range(0, len(events), size):
            if scripted in BROKEN_OFF and start >= len(events) // 2:
                return await _broken_off(request, response, wire, scripted)
            await response.write(b"".join(events[start : start + size]))
            await asyncio.sleep(self.delay / STEPS)
        await response.write_eof()
        return response


async def _broken_off(
    request: web.Request, response: web.StreamResponse, wire: Wire, scripted: str
) -> web.StreamResponse:
    match scripted:
        case "stall":
            await asyncio.Event().wait()
        case "drop" if request.transport is not None:
            request.transport.abort()
        case "error_event":
            await response.write(wire.error_event())
    return response


def _composed(asked: Asked, scripted: str, tokens: int) -> Answer:
    if scripted != LONGER:
        known = behaviour(scripted) if scripted in {*BROKEN_OFF, *SHAPES} else Behaviour(name="ok")  # type: ignore[arg-type]
        return compose(asked, known, tokens=tokens, cached=0)
    text = f"## Goal\n- {asked.content}\n{asked.content}"
    return Answer(text=text, ending="stop", input_tokens=tokens, cached_tokens=0, output_tokens=2 * tokens)


SHAPES = {"cut", "refusal", "empty", "garbage", "error_text", "too_long_late"}


def _error(wire: Wire, problem: Problem) -> web.Response:
    headers = {"retry-after": f"{RETRY_AFTER:g}"} if problem.status == 429 else {}
    return web.json_response(wire.error(problem), status=problem.status, headers=headers)


async def main(book: Path) -> None:
    with book.open("a", encoding="utf-8") as file:
        provider = Provider(file)
        say(ready=True, url=await provider.serve())
        async for command in commands():
            if "delay" in command:
                provider.delay = command["delay"]
            provider.script.extend(command.get("script", ()))
            if command.get("clear"):
                provider.script.clear()
            if "gate" in command:
                (provider.gate.set if command["gate"] else provider.gate.clear)()
            if "id" in command:
                say(id=command["id"])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
