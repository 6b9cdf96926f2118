"""Messages of text-observation as files hold them: which user messages are a tool's, and what is repaired of them.

One that answers an action is its observation. Of a trajectory, which nobody takes part in after its first message, the
others are the host's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from offturn_engine import formats
from offturn_engine.errors import InvalidMessage
from offturn_engine.files.assembling import Dialect, assemble
from offturn_engine.files.conversation import Conversation, Item, Notes, Said, UnreadableFile
from offturn_engine.files.values import text
from offturn_engine.messages import Json, RawMessage

FORMAT = formats.get("text-observation")
KEPT = ("role", "content")
ENDS = "exit"
"""The role of a record that says how a run of mini-swe-agent ended."""
TAGS = ("<function=", "```mswea_bash_command")
OBSERVED = ("<returncode>", "OBSERVATION:", "Observation:")
"""How agents of this kind write an action, and what their hosts begin an observation with."""


def conversation(items: Sequence[Item], *, title: str, system: Json, source: str, notes: Notes) -> Conversation:
    """A conversation of these messages, repaired. Raises UnreadableFile naming place and field."""
    return assemble(items, DIALECT, title=title, system=system, source=source, notes=notes)


def recognise(messages: Sequence[dict[str, Json]]) -> str:
    """Why a list of messages is of this kind; "" where it is not. A chat may end in a block of code without being one."""
    for message, answer in pairwise([*messages, {}]):
        if message.get("role") != "assistant" or not acts(message):
            continue
        is_told = answer.get("role") == "user" and text(answer.get("content")).startswith(OBSERVED)
        if is_told or any(tag in text(message.get("content")) for tag in TAGS):
            return "whose actions and observations are texts"
    return ""


def acts(message: RawMessage) -> bool:
    """Does the message end with an action?"""
    try:
        return bool(FORMAT.parse(message).calls)
    except InvalidMessage:
        return False


def _repair(found: Sequence[Said], notes: Notes) -> list[tuple[int, Said]]:
    kept: list[tuple[int, Said]] = []
    before: RawMessage = {}
    for i, said in enumerate(found):
        if not isinstance(said.raw, dict):
            raise UnreadableFile(f"{said.place} is a {type(said.raw).__name__}, not an object with a role")
        if said.raw.get("role") == ENDS:
            notes.count("records of how the run ended skipped")
            continue
        raw = {key: said.raw[key] for key in KEPT if key in said.raw}
        answers = raw.get("role") == "user" and acts(before)
        if raw.get("content") in (None, "", []) and not answers:
            notes.count("empty messages skipped")
            continue
        raw = {**raw, "content": raw.get("content") or ""}
        kept.append((i, replace(said, raw=raw, origin="tool" if answers else said.origin)))
        before = raw
    return kept


def _call(call_id: str, name: str) -> RawMessage:  # noqa: ARG001 -- texts have no ids
    return FORMAT.assistant(f"<function={name}>\n</function>")


DIALECT = Dialect(FORMAT, _repair, _call)
