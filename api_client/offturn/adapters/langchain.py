"""LangChain agents and LangGraph: a middleware that records the state's messages and sends the view.

    agent = create_agent(model, tools, middleware=[Compaction(open_session)], checkpointer=checkpointer)

The graph's state keeps every message as it is; only the request changes. Written for langchain 1.5.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    SystemMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config
from langgraph.runtime import Runtime

from offturn import sync
from offturn.adapters.calling import Opened, done
from offturn.adapters.originals import restored
from offturn.errors import Refused
from offturn.overflow import is_overflow
from offturn.usage import Usage
from offturn.view import View
from offturn_engine.messages import RawMessage

SESSIONS = 1_024  # handles kept; another one of the same session is as good
BLOCKS = "the agent was called with invoke or stream: open sessions of offturn.sync, or use ainvoke and astream"


class Compaction(AgentMiddleware[AgentState[Any], Any, Any]):
    """Before each model call the state is mirrored into a session and its view is sent; after the run, what is new is recorded.

    opened: gives the session of a thread id (`configurable.thread_id`), in format `openai-chat`, as in
    `lambda thread: client.session(f"langgraph:{thread}", format="openai-chat", window=200_000)`. Sessions of
    `offturn.sync` serve `invoke` and `ainvoke`, those of `offturn` `ainvoke` only.
    A request that its provider finds too long is sent again with a smaller view, three times at most.
    """

    def __init__(self, opened: Callable[[str], Opened]) -> None:
        super().__init__()
        self._opened = lru_cache(maxsize=SESSIONS)(opened)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Send the view."""
        session, given = self._blocking(), _Given(request.messages)
        view = session.mirror(given.raws, ids=given.ids, **_options(request))
        while True:
            try:
                response = handler(_shown(request, view, given))
            except Exception as error:
                if not is_overflow(error):
                    raise
                view = session.overflow(error, sent=view)
            else:
                session.record([], usage=_usage(response), view=view)
                return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Send the view."""
        session, given = self._session(), _Given(request.messages)
        view = await done(session.mirror, given.raws, ids=given.ids, **_options(request))
        while True:
            try:
                response = await handler(_shown(request, view, given))
            except Exception as error:
                if not is_overflow(error):
                    raise
                view = await done(session.overflow, error, sent=view)
            else:
                await done(session.record, [], usage=_usage(response), view=view)
                return response

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002 -- LangChain's signature
        """Record the answer, so that it is compacted off the turn."""
        given = _Given(state["messages"])
        self._blocking().mirror(given.raws, ids=given.ids)

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:  # noqa: ARG002 -- LangChain's signature
        """Record the answer, so that it is compacted off the turn."""
        given = _Given(state["messages"])
        await done(self._session().mirror, given.raws, ids=given.ids)

    def _session(self) -> Opened:
        thread = get_config().get("configurable", {}).get("thread_id")
        if thread is None:
            raise Refused('no thread id: call the agent with config={"configurable": {"thread_id": ...}}')
        return self._opened(str(thread))

    def _blocking(self) -> sync.Session:
        session = self._session()
        if not isinstance(session, sync.Session):
            raise Refused(BLOCKS)
        return session


class _Given:
    """A state's messages as raw ones: `openai-chat` has several for a message that holds several results."""

    def __init__(self, messages: Sequence[AnyMessage]) -> None:
        self.raws: list[RawMessage] = []
        self.ids: list[str | None] = []
        self.originals: list[tuple[RawMessage, AnyMessage]] = []
        for message in messages:
            made = convert_to_openai_messages([message])
            for place, raw in enumerate(made):
                self.raws.append(raw)
                self.ids.append(f"{message.id}/{place}" if place and message.id else message.id)
            if len(made) == 1:
                self.originals.append((made[0], message))


def _options(request: ModelRequest[Any]) -> dict[str, Any]:
    system = request.system_message
    return {
        "system": None if system is None else system.content,
        "tools": [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in request.tools] or None,
    }


def _shown(request: ModelRequest[Any], view: View, given: _Given) -> ModelRequest[Any]:
    messages = restored(view.messages, given.originals, _made)
    told = request.system_message
    if told is None or view.system == told.content:
        return request.override(messages=messages)
    return request.override(messages=messages, system_message=SystemMessage(content=view.system))


def _made(raw: RawMessage) -> AnyMessage:
    return cast("AnyMessage", convert_to_messages([dict(raw)])[0])


def _usage(response: ModelResponse[Any] | AIMessage) -> Usage | None:
    """Of a model's answer, in LangChain's own terms: its input includes what came from the cache."""
    answers = response.result if isinstance(response, ModelResponse) else [response]
    told = next((one.usage_metadata for one in answers if isinstance(one, AIMessage) and one.usage_metadata), None)
    if told is None:
        return None
    cached = told.get("input_token_details", {}).get("cache_read", 0)
    return Usage.told(told["input_tokens"], told["output_tokens"], cached)
