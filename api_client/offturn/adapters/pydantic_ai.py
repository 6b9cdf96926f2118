"""pydantic-ai: a capability that records an agent's history and puts the view in its place.

    agent = Agent(model, capabilities=[Compaction(open_session)])

As with pydantic-ai's own `ProcessHistory`, the run goes on with what it is given: `result.all_messages()` is the view
and what came after it. Keep that as your history; the whole transcript is in the session. Written for pydantic-ai 2.68.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pydantic_ai import AgentRunResult, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import InstructionPart, ModelResponse
from pydantic_ai.models import ModelRequestContext

from offturn.adapters.calling import Opened, done
from offturn.adapters.pydantic_ai_messages import flat, rebuilt
from offturn.errors import Refused
from offturn.usage import Usage
from offturn_engine.messages import Json

SESSIONS = 1_024  # handles kept; another one of the same session is as good


class Compaction(AbstractCapability[Any]):
    """Before each model request the history is mirrored into a session; the request and the run go on with its view.

    opened: gives the session of a conversation id, in format `openai-chat`, whatever the model, as in
    `lambda conversation: client.session(f"bot:{conversation}", format="openai-chat", window=200_000)`; of `offturn`, or
    of `offturn.sync` for `run_sync`. The id is that of the run's `conversation_id`, which a history carries on.
    """

    def __init__(self, opened: Callable[[str], Opened]) -> None:
        self._opened = lru_cache(maxsize=SESSIONS)(opened)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Send the view."""
        given, parameters = flat(request_context.messages), request_context.model_request_parameters
        system = "\n\n".join(part.content for part in parameters.instruction_parts or ()) or None
        tools: list[Json] = [
            {"type": "function", "function": {"name": tool.name, "parameters": tool.parameters_json_schema}}
            for tool in parameters.function_tools
        ]
        view = await done(self._session(ctx).mirror, [raw for raw, _ in given], system=system, tools=tools or None)
        messages = rebuilt(view.messages, given)
        request_context.messages = list(messages)
        ctx.messages[:] = messages
        if system is not None and view.system != system:
            note = InstructionPart(view.system.removeprefix(system).strip())
            parts = [*(parameters.instruction_parts or ()), note]
            request_context.model_request_parameters = replace(parameters, instruction_parts=parts)
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,  # noqa: ARG002 -- pydantic-ai's signature
        response: ModelResponse,
    ) -> ModelResponse:
        """What the request measured teaches the estimate."""
        told = response.usage
        if told.input_tokens:
            usage = Usage.told(told.input_tokens, told.output_tokens, told.cache_read_tokens)
            await done(self._session(ctx).record, [], usage=usage)
        return response

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Record the answer, so that it is compacted off the turn."""
        await done(self._session(ctx).mirror, [raw for raw, _ in flat(result.all_messages())])
        return result

    def _session(self, ctx: RunContext[Any]) -> Opened:
        if ctx.conversation_id is None:
            raise Refused("the run has no conversation id: pass conversation_id= to Agent.run")
        return self._opened(ctx.conversation_id)
