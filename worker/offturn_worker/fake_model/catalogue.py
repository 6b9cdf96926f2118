"""The lists of models: `GET /v1/models` and `GET /v1/models/MODEL`, in the form of the API whose headers came."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from offturn_worker.fake_model.behaviour import Behaviour
from offturn_worker.fake_model.wire import Problem, Wire, key_of


class Catalogue:
    """`models` None: a server without a list, which knows no such address. `key`, where given, is the only one accepted."""

    def __init__(
        self, wires: tuple[Wire, Wire], *, models: Sequence[str] | None, window: int | None, key: str | None
    ) -> None:
        self._openai, self._anthropic = wires
        self._models = models
        self._window = window
        self._key = key

    async def answer(self, request: web.Request, wanted: Behaviour) -> web.Response:
        """The list, or one of its models."""
        anthropic = "anthropic-version" in request.headers
        wire = self._anthropic if anthropic else self._openai
        if wanted.name == "hang":
            await asyncio.Event().wait()
        if wanted.name == "garbled" or self._models is None:
            status = 404 if self._models is None else 200
            return web.Response(text="<html><body>No page</body></html>", content_type="text/html", status=status)
        if self._key is not None and key_of(request)[1] != self._key:
            return web.json_response(wire.error(Problem(status=401)), status=401)
        if wanted.name == "status":
            return web.json_response(wire.error(Problem(status=wanted.status)), status=wanted.status)
        name = request.match_info.get("model")
        if name is None:
            listed = [self._facts(one, anthropic) for one in self._models]
            return web.json_response({"object": "list", "data": listed, "has_more": False})
        if name not in self._models:
            return web.json_response(wire.error(Problem(status=404)), status=404)
        return web.json_response(self._facts(name, anthropic))

    def _facts(self, name: str, anthropic: bool) -> dict[str, Any]:
        if not anthropic:
            told = {} if self._window is None else {"max_model_len": self._window}  # as vLLM does
            return {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "fake", **told}
        return {
            "id": name,
            "type": "model",
            "display_name": name,
            "created_at": "2026-09-21T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self._window,
            "max_tokens": None,
        }
