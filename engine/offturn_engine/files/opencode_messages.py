"""Messages and parts of an OpenCode session as anthropic messages, and the compactions it made itself.

What OpenCode does not send to its model is left out as it does: ignored text, messages that ended in an error, reverted
messages. Results it has cleared, and what its summaries stand for, are kept: they are in the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import Any

from offturn_engine.files import anthropic
from offturn_engine.files.conversation import Boundary, Item, Notes, Said, UnreadableFile
from offturn_engine.files.reader import objects
from offturn_engine.files.values import count, fields, listed, name
from offturn_engine.messages import Json, RawMessage

Part = dict[str, Any]
ABORTED = "MessageAbortedError"
BOOKKEEPING = ("step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction")
NOT_SENT = ("text/plain", "application/x-directory")
"""Files whose content OpenCode has put into a text part beside them."""


@dataclass(slots=True, kw_only=True)
class Message:
    """A message and its parts by id, in order; `info` is empty where the file has only its parts."""

    place: str
    info: Mapping[str, Any] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)


def items(messages: Mapping[str, Message], revert: Json, notes: Notes) -> list[Item]:
    """What a session said, in order, with its compactions. Raises UnreadableFile."""
    shown = _shown(messages, revert, notes)
    summaries = _summaries(shown, notes)
    found: list[Item] = []
    tokens = 0
    for id_, message in shown.items():
        role = message.info.get("role")
        if role == "user":
            found += _user(id_, message, notes)
            if id_ in summaries:
                found.append(_boundary(message, summaries[id_], list(shown), found, tokens))
        elif role == "assistant" and message.info.get("summary") is not True and _sent(message, notes):
            found += _assistant(id_, message, notes)
            tokens = _total(message.info.get("tokens")) or tokens
        elif role != "assistant":
            notes.count("messages of unknown role skipped")
    return found


def _shown(messages: Mapping[str, Message], revert: Json, notes: Notes) -> dict[str, Message]:
    """All before the message, or the part of it, that the user went back to."""
    at, part = (str(fields(revert).get(key)) for key in ("messageID", "partID"))
    if at not in messages:
        return dict(messages)
    kept = dict(takewhile(lambda item: item[0] != at, messages.items()))
    target = messages[at]
    if part in target.parts:
        parts = dict(takewhile(lambda item: item[0] != part, target.parts.items()))
        kept[at] = Message(place=target.place, info=target.info, parts=parts)
    notes.count("reverted messages skipped", len(messages) - len(kept))
    return kept


def _summaries(messages: Mapping[str, Message], notes: Notes) -> dict[str, str]:
    """The text of each compaction that succeeded, by the message that asked for it."""
    found: dict[str, str] = {}
    for message in messages.values():
        if message.info.get("role") != "assistant" or message.info.get("summary") is not True:
            continue
        text = "\n\n".join(str(p["text"]) for p in message.parts.values() if p.get("type") == "text" and p.get("text"))
        if text and not message.info.get("error") and message.info.get("finish"):
            found[str(message.info.get("parentID"))] = text
        else:
            notes.count("failed summaries skipped")
    return found


def _boundary(message: Message, summary: str, ids: Sequence[str], before: Sequence[Item], tokens: int) -> Boundary:
    asked = next((p for p in message.parts.values() if p.get("type") == "compaction"), {})
    tail, said = asked.get("tail_start_id"), {item.key for item in before if isinstance(item, Said)}
    later = ids[ids.index(tail) :] if tail in ids else []
    kept_from = next((id_ for id_ in later if id_ in said), "")
    return Boundary(place=message.place, summary=summary, kept_from=kept_from, tokens_before=tokens)


def _sent(message: Message, notes: Notes) -> bool:
    error = message.info.get("error")
    has_content = any(part.get("type") not in ("step-start", "reasoning") for part in message.parts.values())
    if not error or (fields(error).get("name") == ABORTED and has_content):
        return True
    notes.count("messages that ended in an error skipped")
    return False


def _user(id_: str, message: Message, notes: Notes) -> list[Said]:
    """What the human wrote and what the host added to it are messages of their own."""
    found: list[Said] = []
    for is_host, parts in groupby(message.parts.values(), _is_host):
        blocks = [block for part in parts for block in _told(part, notes)]
        if blocks:
            raw = {"role": "user", "content": blocks}
            key = "" if found else id_
            found.append(Said(raw=raw, place=message.place, key=key, origin="host" if is_host else None))
    return found


def _is_host(part: Part) -> bool:
    return part.get("synthetic") is True or part.get("type") == "subtask"


def _told(part: Part, notes: Notes) -> list[RawMessage]:
    kind = part.get("type")
    if kind == "text" and part.get("ignored") is True:
        notes.count("ignored texts skipped")
    elif kind in ("text", "subtask"):
        text = part.get("text" if kind == "text" else "prompt")
        return [{"type": "text", "text": text}] if text else []
    elif kind == "file":
        return _file(part, notes)
    elif kind not in BOOKKEEPING:
        notes.count(f"{name(kind)} parts skipped")
    return []


def _file(part: Mapping[str, Any], notes: Notes) -> list[RawMessage]:
    mime, url = str(part.get("mime")), part.get("url")
    if mime in NOT_SENT:
        return []
    kind = "image" if mime.startswith("image/") else "document" if mime == "application/pdf" else ""
    if kind and isinstance(url, str) and url.startswith("data:") and "," in url:
        source = {"type": "base64", "media_type": mime, "data": url.split(",", 1)[1]}
        return [{"type": kind, "source": source}]
    if kind and isinstance(url, str) and url.startswith("https:"):
        return [{"type": kind, "source": {"type": "url", "url": url}}]
    notes.count("files that are not in the session skipped")
    return []


class _Step:
    """One request of a message: what the model said, the results of its calls, and what the provider counted."""

    def __init__(self) -> None:
        self.blocks: list[RawMessage] = []
        self.results: list[RawMessage] = []
        self.tokens: Json = None


def _assistant(id_: str, message: Message, notes: Notes) -> list[Said]:
    steps = [_Step()]
    for part in message.parts.values():
        if part.get("type") == "step-start":
            steps.append(_Step())
        elif part.get("type") == "step-finish":
            steps[-1].tokens = part.get("tokens")
        else:
            _into(steps[-1], part, message.place, notes)
    found: list[Said] = []
    for step in steps:
        while step.blocks and step.blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            step.blocks.pop()
            notes.count("reasoning without an answer skipped")
        if not step.blocks:
            continue
        raw = {"role": "assistant", "content": step.blocks}
        tokens = step.tokens or message.info.get("tokens")
        found.append(Said(raw=raw, place=message.place, key="" if found else id_, reported=_input(tokens)))
        if step.results:
            found.append(Said(raw={"role": "user", "content": step.results}, place=message.place))
    return found


def _into(step: _Step, part: Part, place: str, notes: Notes) -> None:
    if part.get("type") == "reasoning":
        step.blocks += _reasoning(part, notes)
    elif part.get("type") == "tool":
        state = part.get("state")
        if not isinstance(state, dict):
            raise UnreadableFile(f"{place}, field 'state' of a tool part: must be an object")
        call = {"type": "tool_use", "id": part.get("callID"), "name": part.get("tool")}
        step.blocks.append({**call, "input": anthropic.as_object(state.get("input"))})
        step.results += _result(part.get("callID"), state, notes)
    else:
        step.blocks += _told(part, notes)


def _reasoning(part: Part, notes: Notes) -> list[RawMessage]:
    signed = fields(fields(part.get("metadata")).get("anthropic"))
    if signed.get("signature"):
        return [{"type": "thinking", "thinking": part.get("text"), "signature": signed["signature"]}]
    if signed.get("redactedData"):
        return [{"type": "redacted_thinking", "data": signed["redactedData"]}]
    notes.count("reasoning without a signature skipped")
    return []


def _result(call_id: Json, state: Mapping[str, Any], notes: Notes) -> list[RawMessage]:
    """None for a tool that still ran: it is closed, or stays open at the end, as in every file."""
    status = state.get("status")
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id}
    if status == "completed":
        if fields(state.get("time")).get("compacted"):
            notes.count("results the host no longer showed kept")
        media = [block for file in objects(listed(state.get("attachments"))) for block in _file(file, notes)]
        text = str(state.get("output") or "")
        told = [{"type": "text", "text": text}] if text.strip() else []
        return [{**result, "content": [*told, *media] if media else text}]
    if status != "error":
        return []
    output = fields(state.get("metadata")).get("output")
    if isinstance(output, str):
        return [{**result, "content": output}]
    return [{**result, "content": str(state.get("error") or ""), "is_error": True}]


def _input(tokens: Json) -> int:
    """Input tokens, those read from and written to a cache included."""
    known = fields(tokens)
    cache = fields(known.get("cache"))
    return count(known.get("input")) + count(cache.get("read")) + count(cache.get("write"))


def _total(tokens: Json) -> int:
    return _input(tokens) + count(fields(tokens).get("output"))
