"""The server: one aiohttp application on a local port."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from aiohttp import web

from offturn_engine.messages import Json
from offturn_engine.tokens import estimate_text
from offturn_worker.fake_model.answer import compose
from offturn_worker.fake_model.behaviour import Behaviour, Scripted, behaviour
from offturn_worker.fake_model.catalogue import Catalogue
from offturn_worker.fake_model.chat_completions import ChatCompletions
from offturn_worker.fake_model.messages import Messages
from offturn_worker.fake_model.responses import Compactions, Responses
from offturn_worker.fake_model.wire import Answer, Asked, Problem, Wire, key_of

OK = Behaviour(name="ok")
LARGEST = 64 * 1024 * 1024  # bytes of one request


@dataclass(slots=True, kw_only=True)
class Call:
    """One call as the server saw it: sizes, and content only where the server keeps it. `disconnected` is set when the
    client went away early; `seconds` pass until the answer ends.
    """

    path: str
    size: int
    model: str = ""
    max_tokens: int = 0
    stream: bool = False
    auth: str = ""  # the header the key came in
    behaviour: Behaviour = OK
    betas: str = ""  # the beta header
    body: Json = field(default=None, repr=False)
    seconds: float = 0.0
    disconnected: asyncio.Event = field(default_factory=asyncio.Event, repr=False)


class FakeModel:
    """`async with FakeModel() as server:` listens on `server.url`; `/v1` belongs to OpenAI's base URL only.

    `delay` before an answer in seconds; `tokens_per_second` paces a stream (0: at once); `window` in tokens makes longer
    prompts too long; `cached_tokens` are reported as read from the cache; `key`, where given, is the only one accepted.
    `keep_bodies`: calls hold what was sent. `models` are those its list names; None: it has no list. `look_ups` are requests for it, which `looking_up` scripts.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        delay: float = 0.0,
        tokens_per_second: float = 0.0,
        window: int | None = None,
        cached_tokens: int = 0,
        key: str | None = None,
        models: Sequence[str] | None = ("fake",),
        looking_up: Scripted = "ok",
        keep_bodies: bool = False,
    ) -> None:
        self.keep_bodies = keep_bodies
        self.look_ups: list[str] = []
        self._models = models
        self._looking_up = behaviour(looking_up)
        self.calls: list[Call] = []
        self.called = asyncio.Event()  # set by the first call
        self.delay = delay
        self.tokens_per_second = tokens_per_second
        self.window = window
        self.cached_tokens = cached_tokens
        self._key = key
        self._address = (host, port)
        self._script: deque[Behaviour] = deque()
        self._runner: web.AppRunner | None = None

    def script(self, behaviours: Iterable[Scripted]) -> None:
        """The behaviours of the next calls, in order; after them every call is answered."""
        self._script.extend(behaviour(scripted) for scripted in behaviours)

    @property
    def url(self) -> str:
        """Anthropic's base URL."""
        if self._runner is None:
            raise RuntimeError("the server is not running: use `async with`")
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    @property
    def openai_url(self) -> str:
        """OpenAI's base URL."""
        return f"{self.url}/v1"

    async def __aenter__(self) -> Self:
        # A handler is cancelled when its client goes away, which is how a call learns that it did.
        app = web.Application(client_max_size=LARGEST)
        wires = (ChatCompletions(), Messages())
        for wire in (*wires, Responses(), Compactions()):
            app.router.add_post(wire.path, _Route(self, wire).serve)
        catalogue = Catalogue(wires, models=self._models, window=self.window, key=self._key)

        async def look_up(request: web.Request) -> web.Response:
            self.look_ups.append(request.path)
            return await catalogue.answer(request, self._looking_up)

        app.router.add_get("/v1/models", look_up)
        app.router.add_get("/v1/models/{model:.+}", look_up)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, *self._address).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def next_behaviour(self) -> Behaviour:
        """The next of the script."""
        return self._script.popleft() if self._script else OK

    def accepts(self, key: str) -> bool:
        """Any key, or the one given."""
        return self._key is None or key == self._key


class _Route:
    """One wire format served."""

    def __init__(self, server: FakeModel, wire: Wire) -> None:
        self._server = server
        self._wire = wire

    async def serve(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        call = Call(path=request.path, size=len(raw), behaviour=self._server.next_behaviour())
        self._server.calls.append(call)
        self._server.called.set()
        began = time.monotonic()
        try:
            return await self._answer(request, call)
        except (asyncio.CancelledError, ConnectionError):
            call.disconnected.set()
            raise
        finally:
            call.seconds = time.monotonic() - began

    async def _answer(self, request: web.Request, call: Call) -> web.StreamResponse:
        call.auth, key = key_of(request)
        call.betas = request.headers.get("anthropic-beta", "")
        if not self._server.accepts(key):
            return self._error(Problem(status=401))
        try:
            body = await request.json()
            call.body = body if self._server.keep_bodies else None
            asked = self._wire.asked(body)
        except (KeyError, TypeError, ValueError):
            return self._error(Problem(status=400))
        call.model, call.max_tokens, call.stream = asked.model, asked.max_tokens, asked.stream
        await asyncio.sleep(self._server.delay)
        return await self._behave(request, asked, call.behaviour)

    async def _behave(self, request: web.Request, asked: Asked, wanted: Behaviour) -> web.StreamResponse:
        tokens = sum(estimate_text(text) for text in (asked.system, asked.content, asked.others))
        window = self._server.window
        if window is not None and tokens > window:
            return self._error(Problem(status=400, kind="too_long", tokens=tokens, limit=window))
        match wanted.name:
            case "status":
                return self._error(Problem(status=wanted.status), wanted.retry_after)
            case "hang":
                await asyncio.Event().wait()
            case "garbled":
                return web.Response(text="<html><body>Bad gateway</body></html>", content_type="text/html")
            case "too_long" | "too_long_llama" as kind:
                return self._error(Problem(status=400, kind=kind, tokens=tokens, limit=tokens // 2))
            case "too_long_late" if isinstance(self._wire, ChatCompletions):
                return self._error(Problem(status=413))
        answer = await asyncio.to_thread(
            compose, asked, wanted, tokens=tokens, cached=min(self._server.cached_tokens, tokens)
        )
        if not asked.stream:
            return web.json_response(self._wire.whole(asked, answer))
        return await self._stream(request, asked, answer, wanted)

    def _error(self, problem: Problem, retry_after: float | None = None) -> web.Response:
        headers = {"request-id": "req_fake", "x-request-id": "req_fake"}
        if retry_after is not None:
            headers["retry-after"] = f"{retry_after:g}"
        return web.json_response(self._wire.error(problem), status=problem.status, headers=headers)

    async def _stream(
        self, request: web.Request, asked: Asked, answer: Answer, wanted: Behaviour
    ) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream", "request-id": "req_fake", "x-request-id": "req_fake"}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        events = self._wire.events(asked, answer)
        pace = self._server.tokens_per_second
        pause = answer.output_tokens / pace / len(events) if pace > 0 else 0.0
        if wanted.name in {"endless", "trickle"}:
            await _go_on(response, events[len(events) // 2], slowly=wanted.name == "trickle")
        for index, event in enumerate(events):
            if index == len(events) // 2 and wanted.name in {"drop", "end", "stall", "error_event"}:
                return await self._break_off(request, response, wanted)
            await response.write(event)
            await asyncio.sleep(pause)
        await response.write_eof()
        return response

    async def _break_off(
        self, request: web.Request, response: web.StreamResponse, wanted: Behaviour
    ) -> web.StreamResponse:
        match wanted.name:
            case "stall":
                await asyncio.Event().wait()
            case "drop" if request.transport is not None:
                request.transport.abort()
            case "error_event":
                await response.write(self._wire.error_event())
        return response


async def _go_on(response: web.StreamResponse, event: bytes, *, slowly: bool) -> None:
    """Until the client goes away."""
    while True:
        for piece in (event[i : i + 1] for i in range(len(event))) if slowly else (event,):
            await response.write(piece)
            await asyncio.sleep(1 if slowly else 0)
