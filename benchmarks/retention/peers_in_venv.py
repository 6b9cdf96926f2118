"""Runs inside a peer's own environment: its compaction of openai-chat messages, without a model, at a size that is asked for.

    python peers_in_venv.py NAME

One JSON object per line. {"slices": [[message, ...], ...]} sets a conversation as it grew; then {"size": tokens} is
answered with {"messages": [...], "raised": [...], "seconds": CPU}: what the peer shows at the end, each round given its own
result of the one before, and what that took, a form of messages of its own not counted. Where it raises an error the conversation stays what it was, as for a host, and the error's name is told.
Nothing of offturn is imported here. Counts (messages, calls) stay each package's defaults; its sizes follow `size`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

Messages = list[dict[str, Any]]

SUMMARY = "The work goes on as it was asked for; see the messages that follow. " * 70


def hermes_agent() -> Callable[[Messages, int, dict[str, Any]], Messages]:
    """ContextCompressor; the auxiliary model is refused, so that it writes its deterministic fallback."""
    os.environ["HOME"] = os.environ["HERMES_HOME"] = tempfile.mkdtemp(prefix="hermes-peer-")
    from agent import auxiliary_client, context_compressor

    def refused(**_: Any) -> Any:
        raise ValueError("no model is asked here")

    context_compressor.call_llm = auxiliary_client.call_llm = refused

    def compact(messages: Messages, size: int, kept: dict[str, Any]) -> Messages:
        one = kept.setdefault(
            "compressor",
            context_compressor.ContextCompressor(model="none", config_context_length=200_000, quiet_mode=True),
        )
        share = size / one.threshold_tokens
        one.tail_token_budget, before = int(one.tail_token_budget * share), one.tail_token_budget
        made = one.compress(messages, current_tokens=None, force=True)
        one.tail_token_budget = before
        return list(made)

    return compact


def langchain() -> Callable[[Messages, int, dict[str, Any]], Messages]:
    """SummarizationMiddleware as an agent runs it before a model call; it keeps 20 messages. The summary is a fixed text."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import RemoveMessage, convert_to_messages, convert_to_openai_messages

    def compact(messages: Messages, _: int, kept: dict[str, Any]) -> Messages:
        one = SummarizationMiddleware(FakeListChatModel(responses=[SUMMARY]), trigger=("tokens", 1))
        given = convert_to_messages(messages)
        system, rest = [m for m in given if m.type == "system"], [m for m in given if m.type != "system"]
        began = time.process_time()
        made = one.before_model({"messages": rest}, None)
        kept["seconds"] = kept.get("seconds", 0.0) + time.process_time() - began
        shown = [m for m in made["messages"] if not isinstance(m, RemoveMessage)] if made else rest
        return list(convert_to_openai_messages([*system, *shown]))

    return compact


def headroom_ai() -> Callable[[Messages, int, dict[str, Any]], Messages]:
    """`compress` with its defaults, without the model that it would load from a hub."""
    from headroom import compress

    def compact(messages: Messages, size: int, _: dict[str, Any]) -> Messages:
        return list(compress(messages, model="gpt-4o", model_limit=size, kompress_model="disabled").messages)

    return compact


def openhands_sdk() -> Callable[[Messages, int, dict[str, Any]], Messages]:
    """The condenser of its default agent: above 80 events it keeps 4 and the newest 36. The summary is a fixed text."""
    os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"
    from openhands_events import condensed

    return lambda messages, _, kept: condensed(messages, SUMMARY, kept)


def langchain_core() -> Callable[[Messages, int, dict[str, Any]], Messages]:
    """`trim_messages` as its documentation has it for chats: the newest that fit, from a human message on."""
    from langchain_core.messages import convert_to_openai_messages, trim_messages

    def compact(messages: Messages, size: int, _: dict[str, Any]) -> Messages:
        kept = trim_messages(
            messages,
            max_tokens=size,
            token_counter="approximate",
            strategy="last",
            start_on="human",
            include_system=True,
        )
        return list(convert_to_openai_messages(kept))

    return compact


def agent_framework_core() -> Callable[[Messages, int, dict[str, Any]], Messages]:
    """ContextWindowCompactionStrategy: older tool groups as one line each, then the oldest groups go."""
    from agent_framework import Content, ContextWindowCompactionStrategy, Message
    from agent_framework._compaction import apply_compaction

    def theirs(message: dict[str, Any]) -> Any:
        if message["role"] == "tool":
            said = [Content.from_function_result(message["tool_call_id"], result=_text(message))]
            return Message(role="tool", contents=said)
        calls = [
            Content.from_function_call(c["id"], c["function"]["name"], arguments=c["function"]["arguments"])
            for c in message.get("tool_calls") or []
        ]
        return Message(role=message["role"], contents=[*([_text(message)] if _text(message) else []), *calls])

    def ours(message: Any) -> Messages:
        results = [c for c in message.contents if c.type == "function_result"]
        if results:
            return [{"role": "tool", "tool_call_id": c.call_id, "content": c.result} for c in results]
        calls = [
            {"id": c.call_id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in message.contents
            if c.type == "function_call"
        ]
        text = "\n".join(c.text for c in message.contents if c.type == "text")
        return [{"role": str(message.role), "content": text or None, **({"tool_calls": calls} if calls else {})}]

    def compact(messages: Messages, size: int, _: dict[str, Any]) -> Messages:
        strategy = ContextWindowCompactionStrategy(max_context_window_tokens=max(2, size), max_output_tokens=0)
        kept = asyncio.run(apply_compaction([theirs(m) for m in messages], strategy=strategy))
        return [m for message in kept for m in ours(message)]

    return compact


def tessera_transcript() -> Callable[[Messages, int, dict[str, Any]], Messages]:
    """`compact`: the newest messages that fit, never a result without its call; it refuses where that cannot be."""
    from tessera import compact as cut

    return lambda messages, size, _: list(cut(messages, max_tokens=size, adapter="openai").transcript)


def cutctx() -> Callable[[Messages, int, dict[str, Any]], Messages]:
    """Its default chain without the summarizing policy, which only plans what a model is to do."""
    from cutctx import (
        CharRatioEstimator,
        CompactionBudget,
        CompactionExecutor,
        DropOldestPolicy,
        ObservationMaskingPolicy,
        PolicyChain,
        Role,
        Transcript,
        TranscriptTurn,
    )

    ruler = CharRatioEstimator()
    chain = PolicyChain((ObservationMaskingPolicy(), DropOldestPolicy()))

    def compact(messages: Messages, size: int, _: dict[str, Any]) -> Messages:
        exchange = ""
        turns = []
        for i, message in enumerate(messages):
            calls = message.get("tool_calls")
            exchange = calls[0]["id"] if calls else exchange
            belongs = exchange if calls or message["role"] == "tool" else None
            tokens = ruler.estimate_tokens(json.dumps(message, ensure_ascii=False))
            turns.append(TranscriptTurn(str(i), Role(message["role"]), _text(message), tokens, tool_call_id=belongs))
        transcript = Transcript(tuple(turns))
        view = CompactionExecutor().apply(transcript, chain.decide(transcript, CompactionBudget(size))).transcript
        kept = []
        for turn in view.turns:
            before = messages[int(turn.turn_id)]
            kept.append(before if turn.content == _text(before) else {**before, "content": turn.content})
        return kept

    return compact


def tracegc() -> Callable[[Messages, int, dict[str, Any]], Messages]:
    """`compact` with its defaults; it has no size that could be asked for."""
    from tracegc import compact as prune

    return lambda messages, _, __: list(prune(messages).messages)


PEERS = {
    "hermes-agent": hermes_agent,
    "langchain": langchain,
    "headroom-ai": headroom_ai,
    "openhands-sdk": openhands_sdk,
    "langchain-core": langchain_core,
    "agent-framework-core": agent_framework_core,
    "tessera-transcript": tessera_transcript,
    "cutctx": cutctx,
    "tracegc": tracegc,
}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def main(name: str) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # some of them print
    compact = PEERS[name]()
    slices: list[Messages] = []
    for line in sys.stdin:
        asked = json.loads(line)
        slices = asked.get("slices", slices)
        if "size" not in asked:
            continue
        messages: Messages = []
        kept: dict[str, Any] = {}
        raised: list[str] = []
        began = time.process_time()
        for grown in slices:
            messages = [*messages, *grown]
            try:
                messages = compact(messages, asked["size"], kept)
            except Exception as error:  # noqa: BLE001 -- whatever a package raises is what there is to tell of it
                raised.append(type(error).__name__)
        seconds = kept.get("seconds", time.process_time() - began)
        answers.write(json.dumps({"messages": messages, "raised": raised, "seconds": seconds}) + "\n")
        answers.flush()


main(*sys.argv[1:])
