"""Hermes Agent: a context engine, which Hermes finds by itself where offturn is installed beside it.

    plugins: {enabled: [offturn]}       # in Hermes's config.yaml
    context: {engine: offturn}

`OFFTURN_STORE_URL` names the store, and `offturn worker` runs where you like. Hermes goes on while a worker compacts:
its turn takes over what is ready, and waits only near the end of the window, a few seconds at most, for what is coming.
A session keeps its id (Hermes's `in_place`, its default). Written for hermes-agent 0.19.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from agent.context_engine import ContextEngine

from offturn.adapters.originals import restored
from offturn.config import ANY_WINDOW
from offturn.errors import OffturnError, Refused
from offturn.sync import CompactionClient, Session
from offturn.usage import Usage
from offturn_config.presets import load
from offturn_config.settings import load_client_settings
from offturn_engine import recall_tool
from offturn_engine.messages import Origin, RawMessage

POLICY = "hermes"
HOLD_SECONDS = 10.0  # at most, for a compaction that is asked for
LARGEST_OUTPUT = 8_192
STEPS = 16  # the list is recorded again after so much of the window; Hermes tells its user each time
WIRE_FORMAT = "openai-chat"
WIRE = ("role", "content", "tool_calls", "tool_call_id", "name")  # of a message; the rest is Hermes's own bookkeeping
BETWEEN = "\n\n"  # texts of the user that Hermes joins
TASKS = "[Your active task list was preserved"  # how a message begins that Hermes itself writes after a compaction

RECALL = recall_tool.definition(WIRE_FORMAT)["function"]


@cache
def _client() -> CompactionClient:
    settings = load_client_settings()
    return CompactionClient.from_url(
        settings.store_url, queue=settings.queue_url, tenant=settings.tenant, timeout=settings.timeout
    )


class Engine(ContextEngine):
    """Hermes's view of a session: when to look for a compaction, and the list to go on with."""

    def __init__(self) -> None:
        self._name = ""
        self._session: Session | None = None
        self._hard = 0
        self._recorded = 0  # tokens at which the list was recorded last
        self._usage: Usage | None = None
        self._last_compress_aborted = False  # Hermes reads both, and tells the user
        self._last_summary_error: str | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Engine:
        """Hermes copies the engine for each agent; each has a session of its own."""
        return Engine()

    @property
    def name(self) -> str:
        """As in `context.engine`."""
        return "offturn"

    def update_model(self, model: str, context_length: int, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 -- Hermes's signature
        """The levels of the policy for this window. Raises InvalidPolicy for a window too small for it."""
        limits = load(POLICY).limits(context_length, min(context_length // 8, LARGEST_OUTPUT))
        self.context_length, self.threshold_tokens, self._hard = context_length, limits.soft, limits.hard
        self.threshold_percent = limits.soft / context_length

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        """Of the request that was just answered."""
        self.last_prompt_tokens = usage.get("prompt_tokens", 0)
        self.last_completion_tokens = usage.get("completion_tokens", 0)
        self.last_total_tokens = usage.get("total_tokens", 0)
        if self.last_prompt_tokens:
            cached = usage.get("cache_read_tokens", 0)
            self._usage = Usage.told(self.last_prompt_tokens, self.last_completion_tokens, cached)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """From the soft level on: where there is something to record, a compaction that is ready, or no more time."""
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        if tokens < self.threshold_tokens or self._session is None:
            return False
        if tokens >= min(self._recorded + self.context_length // STEPS, self._hard):
            return True
        with suppress(OffturnError):
            status = self._session.status()
            return status.current != status.generation
        return False

    def compress(
        self,
        messages: list[dict[str, Any]],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,
        memory_context: str = "",
    ) -> list[dict[str, Any]]:
        """The list to go on with: the view of what is ready, or the list as it is. It never waits for a model, but with
        `force` and near the end of the window, for HOLD_SECONDS at most."""
        self._last_compress_aborted, self._last_summary_error = False, None
        tokens = self.last_prompt_tokens if current_tokens is None else current_tokens
        try:
            shown = self._shown(messages, tokens, focus_topic or memory_context or None, force)
        except OffturnError as error:
            self._last_compress_aborted, self._last_summary_error = True, str(error)
            return messages
        self._recorded = tokens
        if shown != messages:
            self.compression_count += 1
            self._recorded = 0
        return shown

    def on_session_start(self, session_id: str, **kwargs: Any) -> None:
        """Hermes tells of its own compactions in the same way: then the session goes on."""
        if self._session is None or kwargs.get("boundary_reason") != "compression":
            self._name, self._recorded = session_id, 0
            self._session = _client().session(
                f"hermes:{session_id}",
                format=WIRE_FORMAT,
                policy=POLICY,
                window=self.context_length or None,
                origin=_who_wrote,
            )

    def on_session_end(self, session_id: str, messages: Sequence[dict[str, Any]]) -> None:  # noqa: ARG002 -- Hermes's signature
        """Record what is new."""
        if self._session is not None and messages:
            with suppress(OffturnError):
                self._session.mirror([_wire(message) for message in messages])

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """One tool: what a compaction has left out, by handle or by words."""
        return [RECALL]

    def handle_tool_call(self, name: str, args: Mapping[str, Any], **kwargs: Any) -> str:  # noqa: ARG002 -- Hermes's signature
        """A JSON object with `text` or `error`."""
        if self._session is None or name != RECALL["name"]:
            return json.dumps({"error": f"unknown tool {name}"})
        told = self._session.recall_tool(WIRE_FORMAT).run({"function": {"name": name, "arguments": dict(args)}})
        return json.dumps({"text": told["content"]})

    def _shown(
        self, messages: list[dict[str, Any]], tokens: int, focus: str | None, force: bool
    ) -> list[dict[str, Any]]:
        session = self._session
        if session is None or not messages:
            return messages
        raws, usage, self._usage = _parted(messages, self._in_force(session)), self._usage, None
        hold = HOLD_SECONDS if tokens >= self._hard else 0.0
        view = session.mirror(raws, usage=usage, window=self.context_length or None, hold=hold)
        if force:
            ticket = session.request(focus=focus)
            with suppress(TimeoutError):
                ticket.wait(HOLD_SECONDS)
            view = session.mirror(raws, window=self.context_length or None)
        own = ((_wire(message), message) for message in messages)
        return [dict(message) for message in restored(_joined(view.messages), own, dict)]

    def _in_force(self, session: Session) -> Sequence[RawMessage]:
        """What Hermes was given last, also by an earlier process; nothing is adopted."""
        try:
            generation = session.status().generation
        except Refused:  # nothing is recorded yet
            return ()
        return session.view(generation=generation, window=ANY_WINDOW).messages if generation else ()


def _joined(shown: Sequence[RawMessage]) -> list[RawMessage]:
    """As Hermes sends them: texts of the user that follow one another are one message."""
    joined: list[RawMessage] = []
    for raw in shown:
        if joined and _is_said(joined[-1]) and _is_said(raw):
            joined[-1] = {**joined[-1], "content": f"{joined[-1]['content']}{BETWEEN}{raw['content']}"}
        else:
            joined.append(raw)
    return joined


def _parted(messages: Sequence[dict[str, Any]], shown: Sequence[RawMessage]) -> list[RawMessage]:
    """The messages as raw ones, as they were before they were joined, where `shown` has them."""
    parts: dict[str, list[RawMessage]] = {}
    run: list[RawMessage] = []
    for raw in shown:
        run = [*run, raw] if _is_said(raw) else []
        if len(run) > 1:
            parts[BETWEEN.join(one["content"] for one in run)] = run
    parted: list[RawMessage] = []
    for message in messages:
        found = parts.get(message["content"]) if _is_said(message) else None
        parted += found or [_wire(message)]
    return parted


def _is_said(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user" and isinstance(message.get("content"), str)


def _wire(message: Mapping[str, Any]) -> RawMessage:
    return {name: message[name] for name in WIRE if message.get(name) is not None}


def _who_wrote(raw: RawMessage) -> Origin | None:
    return "host" if str(raw.get("content")).startswith(TASKS) else None


def register(context: Any) -> None:
    """What Hermes calls when it loads the plug-in."""
    context.register_context_engine(Engine())
