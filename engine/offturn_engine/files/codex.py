"""Reader of Codex rollouts (JSON lines), as items of openai-responses: it carries what the provider has encrypted.

What the model was shown are the response items; events repeat it for the screen and are read only for usage and
rollbacks. The replacement history of a compaction repeats kept messages: the file still has them where they were said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from offturn_engine.files import openai_responses
from offturn_engine.files.conversation import Boundary, Conversation, Item, Notes, Said, UnreadableFile
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Source
from offturn_engine.files.values import count, fields, listed, name, text
from offturn_engine.messages import Json, Origin

SUMMARY = "Another language model started to solve this problem"
"""How the message begins that carries a summary; its first line is the host's."""
WRITTEN_BY_HOST = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|instructions|skills?|user_shell_command"
    r"|turn_aborted|subagent_notification|hook_prompt|permissions|collaboration_mode|apps_instructions)\b)",
    re.IGNORECASE,
)
"""How texts begin that the host writes in the user's role."""
BESIDE = ("internal_chat_message_metadata_passthrough", "metadata")
OPAQUE = ("compaction", "compaction_summary")
CALLS = frozenset({"function_call", "custom_tool_call", "web_search_call", "image_generation_call", "tool_search_call"})
TEXT_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
OUTPUTS = TEXT_OUTPUTS | {"tool_search_output"}
ITEMS = frozenset({"message", "reasoning"}) | CALLS | OUTPUTS
"""Kinds of items that are sent to the model as they stand."""
LINES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})


@dataclass(slots=True)
class _Thread:
    notes: Notes
    items: list[Item] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)  # of the file's own session; forks hold those of others, too
    sealed: Boundary | None = None  # the provider's item, until the line that says what the host made of it

    @property
    def is_agents(self) -> bool:
        """Is it another agent that speaks in the user's role?"""
        return "subagent" in fields(self.meta.get("source"))


def _conversations(source: Source) -> list[Conversation]:
    thread = _Thread(source.notes)
    for value, place in source.records(skip_broken=True, kept=False):
        record = fields(value)
        payload, kind = fields(record.get("payload")), record.get("type")
        if kind == "session_meta":
            thread.meta = thread.meta or payload
        elif kind == "response_item":
            source.keep(payload, place)
            _item(thread, payload, place)
        elif kind == "compacted":
            source.keep(payload.get("message"), place)
            _compacted(thread, payload, place)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            _reported(thread, fields(fields(payload.get("info")).get("last_token_usage")))
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            _rolled_back(thread, count(payload.get("num_turns")))
        else:
            thread.notes.count(f"{name(kind)} records skipped")
    if not any(isinstance(item, Said) for item in thread.items):
        return []
    instructions = fields(thread.meta.get("base_instructions")).get("text") or thread.meta.get("instructions")
    title, system = text(thread.meta.get("id")), text(instructions) or None
    return [openai_responses.conversation(thread.items, title=title, system=system, source="codex", notes=thread.notes)]


def _item(thread: _Thread, payload: dict[str, Any], place: str) -> None:
    raw = {key: value for key, value in payload.items() if key not in BESIDE and value is not None}
    kind, origin = text(payload.get("type")), _origin(payload, thread)
    if kind in OPAQUE:
        thread.sealed = Boundary(place=place, summary="", opaque=raw)
        thread.items.append(thread.sealed)
        return
    if kind == "local_shell_call":
        arguments = json.dumps(raw.get("action"), ensure_ascii=False)
        raw = {"type": "function_call", "call_id": raw.get("call_id"), "name": "local_shell", "arguments": arguments}
    elif kind == "agent_message":
        thread.notes.count("messages between agents, shown as the host's")
        parts = [part for part in listed(raw.get("content")) if fields(part).get("type") == "input_text"]
        raw = {"type": "message", "role": "user", "content": parts}
    elif kind not in ITEMS:
        thread.notes.count(f"{name(kind)} items skipped")
        return
    elif kind in TEXT_OUTPUTS:
        raw["output"] = _output(raw.get("output"))
    thread.items.append(Said(raw=raw, place=place, origin=origin))


def _origin(item: dict[str, Any], thread: _Thread) -> Origin | None:
    if item.get("type") == "agent_message":
        return "host"
    if item.get("role") != "user":
        return None
    said = _said(item)
    if said.startswith(SUMMARY):
        return "summary"
    return "host" if thread.is_agents or WRITTEN_BY_HOST.match(said) else None


def _output(output: Json) -> Json:
    """Text or a list of parts; hosts have written one part, or its text in an object of their own."""
    if not isinstance(output, dict):
        return "" if output is None else output
    return [output] if "type" in output else output.get("content") or json.dumps(output, ensure_ascii=False)


def _compacted(thread: _Thread, payload: dict[str, Any], place: str) -> None:
    """Kept are messages of the user's from all over, none of which is the beginning of what goes on."""
    history = [fields(item) for item in listed(payload.get("replacement_history"))]
    told = [_said(item) for item in history if item.get("role") == "user"]
    summary = text(payload.get("message")) or next((said for said in told[::-1] if said.startswith(SUMMARY)), "")
    if summary.startswith(SUMMARY):
        summary = summary.partition("\n")[2]
    sealed = [item for item in history if item.get("type") in OPAQUE]
    if not summary and not sealed:
        sealed = [item for item in history if item.get("encrypted_content")]
    opaque = {k: v for k, v in sealed[-1].items() if k not in BESIDE} if sealed else None
    last = thread.items[-1] if thread.items else None
    if thread.sealed is not None and last is thread.sealed:
        thread.items.pop()
        opaque = opaque or thread.sealed.opaque
    elif isinstance(last, Said) and last.raw.get("role") == "assistant" and summary and _said(last.raw) == summary:
        thread.items.pop()  # older hosts record what the summariser said
        thread.notes.count("summaries recorded as replies skipped")
    if summary or opaque is not None:
        thread.items.append(Boundary(place=place, summary=summary, opaque=opaque))
    else:
        thread.notes.count("compactions without a summary skipped")


def _reported(thread: _Thread, usage: dict[str, Any]) -> None:
    """The usage of a request comes behind the reply, or behind the results of its calls."""
    items, at = thread.items, len(thread.items) - 1
    while at >= 0 and not _is_replied(items[at]):
        if not isinstance(item := items[at], Said) or item.raw["type"] not in OUTPUTS:
            return
        at -= 1
    while at > 0 and _is_replied(items[at - 1]):
        at -= 1
    first = items[at] if at >= 0 else None
    if isinstance(first, Said) and not first.reported:
        items[at] = replace(first, reported=count(usage.get("input_tokens")))


def _rolled_back(thread: _Thread, turns: int) -> None:
    """The last turns are gone, with what the host had put in front of them."""
    begun = [i for i, item in enumerate(thread.items) if isinstance(item, Said) and _is_human(item)]
    if not 0 < turns <= len(begun):
        turns = len(begun)
    at = begun[-turns] if turns else len(thread.items)
    while at > 0 and isinstance(item := thread.items[at - 1], Said) and item.origin == "host":
        at -= 1
    thread.notes.count("items of turns rolled back skipped", sum(isinstance(i, Said) for i in thread.items[at:]))
    del thread.items[at:]


def _is_replied(item: Item) -> bool:
    if not isinstance(item, Said):
        return False
    return item.raw.get("role") == "assistant" or item.raw["type"] == "reasoning" or item.raw["type"] in CALLS


def _is_human(item: Said) -> bool:
    return item.raw.get("role") == "user" and item.origin is None


def _said(item: dict[str, Any]) -> str:
    content = item.get("content")
    parts = (text(fields(part).get("text")) for part in listed(content))
    return content if isinstance(content, str) else "\n".join(filter(None, parts))


def _log(source: Source) -> list[Conversation]:
    raise UnreadableFile(
        f"{next(source.records()).place}: this is a log of Codex's screen, which does not hold what was asked: "
        "give the session's own file, sessions/YYYY/MM/DD/rollout-*.jsonl"
    )


def _is_rollout(records: Sequence[Json]) -> str:
    kinds = (record.get("type") for record in objects(records) if isinstance(record.get("payload"), dict))
    kind = next((kind for kind in kinds if isinstance(kind, str) and kind in LINES), "")
    return f"records such as {kind} hold a payload" if kind else ""


def _is_log(records: Sequence[Json]) -> str:
    found = any(record.get("dir") in ("to_tui", "from_tui") and "kind" in record for record in objects(records))
    return "records go to and from the screen of Codex" if found else ""


READER = Reader("codex", _is_rollout, _conversations)
SCREEN_LOG = Reader("codex-screen-log", _is_log, _log)
