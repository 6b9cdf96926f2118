"""Reader of Cline's session files: an object with `messages`, as anthropic messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from offturn_engine.files import anthropic
from offturn_engine.files.conversation import Boundary, Conversation, Item, Notes, Said
from offturn_engine.files.reader import Reader, Session, objects, sessions
from offturn_engine.files.source import Source
from offturn_engine.files.values import count, fields, listed, text
from offturn_engine.messages import Json


def _conversations(source: Source) -> list[Conversation]:
    found = (_conversation(session) for session in sessions(source))
    return [conversation for conversation in found if conversation.messages]


def _conversation(session: Session) -> Conversation:
    items: list[Item] = []
    for i, message in enumerate(session.messages):
        items += _items(message, f"message {i}", is_first=not items, notes=session.notes)
    title, system = text(session.about.get("sessionId")), session.about.get("system_prompt") or None
    return anthropic.conversation(items, title=title, system=system, source="cline", notes=session.notes)


def _items(message: dict[str, Any], place: str, *, is_first: bool, notes: Notes) -> list[Item]:
    """A summary that begins the file stands for messages of another; files that the host put in stand apart."""
    role, key, about = message.get("role"), text(message.get("id")), fields(message.get("metadata"))
    if text(about.get("kind")).startswith("compaction") and about.get("summary"):
        if not is_first:
            before = count(about.get("tokensBefore"))
            return [Boundary(place=place, summary=text(about["summary"]), tokens_before=before)]
        notes.count("summary of an earlier session kept as a message")
        return [Said(raw={"role": role, "content": message.get("content")}, place=place, key=key, origin="summary")]
    reported = count(fields(message.get("metrics")).get("inputTokens"))
    content = message.get("content")
    if not isinstance(content, list):
        return [Said(raw={"role": role, "content": content}, place=place, key=key, reported=reported)]
    files = [block for block in content if _is_file(block)]
    said = [_block(block) for block in content if not _is_file(block)]
    notes.count("files beside a message, shown as the host's", len(files))
    shown = [{"type": "text", "text": f"{block.get('path')}\n{block.get('content')}"} for block in files]
    made: list[Item] = [Said(raw={"role": role, "content": said}, place=place, key=key, reported=reported)]
    return [*made, Said(raw={"role": role, "content": shown}, place=place, origin="host")] if files else made


def _is_file(block: Json) -> bool:
    return fields(block).get("type") == "file" and "content" in fields(block)


def _block(block: Json) -> Json:
    if not isinstance(block, dict) or block.get("type") != "tool_result":
        return block
    kept = {key: block[key] for key in ("type", "tool_use_id", "is_error", "content") if key in block}
    answers = listed(block.get("content"))
    if any(fields(answer).get("success") is False for answer in answers):
        kept["is_error"] = True
    if answers:
        kept["content"] = [_answer(answer) for answer in answers]
    return kept


def _answer(answer: Json) -> Json:
    """A result may answer several queries, each with an object of the host's own."""
    if isinstance(answer, dict) and "type" in answer:
        return answer
    return {"type": "text", "text": json.dumps(answer, ensure_ascii=False)}


def _recognise(records: Sequence[Json]) -> str:
    found = any(isinstance(r.get("messages"), list) and "sessionId" in r and "version" in r for r in objects(records))
    return "an object has messages, a version and a sessionId" if found else ""


READER = Reader("cline", _recognise, _conversations)
