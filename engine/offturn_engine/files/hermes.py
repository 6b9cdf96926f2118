"""Reader of Hermes sessions: objects with `messages` of openai-chat, one or several, and what the host notes beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offturn_engine.files import openai_chat
from offturn_engine.files.conversation import Conversation, Notes, Said
from offturn_engine.files.reader import Reader, Session, objects, sessions
from offturn_engine.files.source import Source
from offturn_engine.files.values import listed, text
from offturn_engine.messages import Json, Origin

KEPT = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name", "refusal")
"""Fields of a message that a model is shown."""
SUMMARY = ("[CONTEXT COMPACTION", "[PRIOR CONTEXT")
"""How the message begins that stands for what an earlier session held."""
WRITTEN_BY_HOST = (
    "[ASYNC DELEGATION BATCH COMPLETE",
    "[IMPORTANT: Background process",
    "[Your active task list was preserved",
    "[Continuing toward your standing goal]",
)
"""How messages begin that the host writes in the user's role."""


def _conversations(source: Source) -> list[Conversation]:
    found = (_conversation(session) for session in sessions(source))
    return [conversation for conversation in found if conversation.messages]


def _conversation(session: Session) -> Conversation:
    about, notes = session.about, session.notes
    said = (_said(raw, f"message {i}", notes) for i, raw in enumerate(session.messages))
    return openai_chat.conversation(
        [one for one in said if one is not None],
        title=text(about.get("session_id")) or text(about.get("id")),
        system=about.get("system_prompt") or None,
        source="hermes",
        notes=notes,
    )


def _said(value: dict[str, Any], place: str, notes: Notes) -> Said | None:
    if value.get("role") == "session_meta":
        notes.count("session_meta messages skipped")
        return None
    raw: dict[str, Any] = {key: value[key] for key in KEPT if value.get(key) is not None}
    if reasoning := value.get("reasoning_content") or value.get("reasoning"):
        raw["reasoning_content"] = reasoning
    if isinstance(raw.get("tool_calls"), list):
        raw["tool_calls"] = [_call(call) for call in raw["tool_calls"]]
    notes.count("reasoning items of the provider dropped", len(listed(value.get("codex_reasoning_items"))))
    return Said(raw=raw, place=place, origin=_origin(text(value.get("content")), notes))


def _origin(said: str, notes: Notes) -> Origin | None:
    if said.startswith(SUMMARY):
        notes.count("summary of an earlier session kept as a message")
        return "summary"
    return "host" if said.startswith(WRITTEN_BY_HOST) else None


def _call(call: Json) -> Json:
    """Its ids in the host's and the provider's own words go."""
    if not isinstance(call, dict):
        return call
    call_id = call.get("id") or call.get("call_id")
    return {"id": call_id, **{key: call[key] for key in ("type", "function") if key in call}}


def _recognise(records: Sequence[Json]) -> str:
    for record in objects(records):
        if isinstance(record.get("messages"), list) and "session_id" in record and HOSTS.intersection(record):
            return "an object has messages and the session of a platform"
    return ""


HOSTS = frozenset({"platform", "session_start", "model_config"})
READER = Reader("hermes", _recognise, _conversations)
