"""Reader of OpenHands' events, as openai-chat messages: its models are called through that API.

An event is an action or an observation; older files hold pairs of them, without ids. A call comes as the model wrote it
where the event keeps the model's answer, else it is made of the action's arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from offturn_engine.files import openai_chat
from offturn_engine.files.conversation import Boundary, Conversation, Item, Notes, Said, UnreadableFile
from offturn_engine.files.openhands_actions import call_of, result_of, spoken
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Record, Source
from offturn_engine.files.values import fields, listed
from offturn_engine.messages import Json, RawMessage

SOURCE = "openhands"
TITLES = ("instance_id", "id", "title")
SILENT = ("agent_state_changed", "change_agent_state", "null", "condensation_request", "recall")
"""Events of the host's own, and those that only announce one with content."""


def _conversations(source: Source) -> list[Conversation]:
    """One for each record with a `history`, else one of all records."""
    records = list(source.records(skip_broken=True))
    found = []
    if any(_history(record.value) is not None for record in records):
        for value, place in records:
            if (history := _history(value)) is None:
                raise UnreadableFile(f"{place}, field 'history': must be a list of events")
            title = next((str(value[key]) for key in TITLES if isinstance(value.get(key), str | int)), "")
            events = [Record(event, f"{place}, event {i}") for i, event in enumerate(history)]
            found.append(_conversation(events, title, source.notes if len(records) == 1 else Notes()))
    else:
        found.append(_conversation(records, "", source.notes))
    return [conversation for conversation in found if conversation.messages]


def _conversation(records: Sequence[Record], title: str, notes: Notes) -> Conversation:
    items: list[Item] = []
    answers: set[str] = set()
    for event, place in _flat(records):
        if event.get("action") == "condensation":
            items += _boundaries(event, place, items, notes)
        elif event.get("action") is not None:
            items += _action(event, place, answers, notes)
        elif event.get("observation") is not None:
            items += _observation(event, place, notes)
        else:
            notes.count("records that are neither an action nor an observation skipped")
    return openai_chat.conversation(items, title=title, system=None, source=SOURCE, notes=notes)


def _flat(records: Sequence[Record]) -> Iterator[tuple[dict[str, Any], str]]:
    """Events, one after the other, where older files pair them."""
    for value, place in records:
        for event in value if isinstance(value, list) else [value]:
            if not isinstance(event, dict):
                raise UnreadableFile(f"{place} holds a {type(event).__name__}, not an event")
            yield event, place


def _action(event: Mapping[str, Any], place: str, answers: set[str], notes: Notes) -> list[Said]:
    kind, by_user = event["action"], event.get("source") == "user"
    key = str(event.get("id", ""))
    if kind in SILENT:
        notes.count(f"{kind} actions skipped")
        return []
    if kind == "system":
        return [Said(raw={"role": "system", "content": spoken(event)}, place=place, key=key)]
    if kind == "message" or kind == "finish":
        # Files without sources begin with what the user asked for, and only the agent's messages have thoughts.
        role = "user" if by_user or ("source" not in event and kind == "message") else "assistant"
        return [Said(raw={"role": role, "content": spoken(event)}, place=place, key=key)]
    answer, raw, tokens = call_of(event)
    if answer and answer in answers:
        return []  # the other calls of the same answer have come with the first
    answers.add(answer)
    notes.count("actions the user took shown as a call and its result", int(by_user))
    return [Said(raw=raw, place=place, key=key, reported=tokens)]


def _observation(event: Mapping[str, Any], place: str, notes: Notes) -> list[Said]:
    kind, key = event["observation"], str(event.get("id", ""))
    if kind == "recall":
        recalled = _recalled(event.get("extras"))
        notes.count("recall observations without content skipped", int(not recalled))
        said = {"role": "user", "content": recalled}
        return [Said(raw=said, place=place, key=key, origin="host")] if recalled else []
    if kind in SILENT:
        notes.count(f"{kind} observations skipped")
        return []
    raw: RawMessage = result_of(event)
    is_told = kind == "error" and "cause" not in event and "tool_call_id" not in raw
    if is_told:  # an error of no call: the host tells it in the user's place
        return [Said(raw={"role": "user", "content": raw["content"]}, place=place, key=key, origin="host")]
    return [Said(raw=raw, place=place, key=key)]


def _recalled(extras: Json) -> str:
    """Instructions and knowledge the host put before the model."""
    known = fields(extras)
    knowledge = [piece.get("content") for piece in objects(listed(known.get("microagent_knowledge")))]
    texts = [known.get("repo_instructions"), known.get("additional_agent_instructions"), *knowledge]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _boundaries(event: Mapping[str, Any], place: str, before: Sequence[Item], notes: Notes) -> list[Item]:
    """What it forgot ends at an event; the ones after that went on being shown."""
    known = fields(event.get("args"))
    forgotten = [id_ for id_ in listed(known.get("forgotten_event_ids")) if isinstance(id_, int)]
    last = known.get("forgotten_events_end_id")
    end = last if isinstance(last, int) else max(forgotten, default=-1)
    if not known.get("summary"):
        notes.count("condensations without a summary skipped")
        return []
    said = [item for item in before if isinstance(item, Said)]
    kept_from = next((item.key for item in said if item.key.isdigit() and int(item.key) > end), "")
    tokens = next((item.reported for item in reversed(said) if item.reported), 0)
    return [Boundary(place=place, summary=str(known["summary"]), kept_from=kept_from, tokens_before=tokens)]


def _history(value: Json) -> list[Json] | None:
    history = value.get("history") if isinstance(value, dict) else None
    return history if isinstance(history, list) else None


def _recognise(records: Sequence[Json]) -> str:
    for record in records:
        history = _history(record)
        events = [record] if history is None else history
        if any(_is_event(event) for event in events[:10] for event in (event if isinstance(event, list) else [event])):
            return "actions and observations" + ("" if history is None else " in a history")
    return ""


def _is_event(value: Json) -> bool:
    if not isinstance(value, dict) or "role" in value:
        return False
    if isinstance(value.get("observation"), str):
        return "content" in value
    shown = "args" in value or value.get("action") == "message" or "thought" in value
    return isinstance(value.get("action"), str) and shown


READER = Reader(SOURCE, _recognise, _conversations)
