"""What every reader of a transcript format offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from offturn_engine.files.conversation import Conversation, Notes, UnreadableFile
from offturn_engine.files.source import Source
from offturn_engine.files.values import fields
from offturn_engine.messages import Json


@dataclass(frozen=True, slots=True)
class Reader:
    """A format of transcript files.

    recognise: the first records of a file -> why they are of this format, in words without content; "" where they are
    not. conversations: of a whole file; none where it holds no messages. Raises UnreadableFile naming place and field.
    """

    name: str
    recognise: Callable[[Sequence[Json]], str]
    conversations: Callable[[Source], list[Conversation]]


def objects(records: Sequence[Json]) -> list[dict[str, Json]]:
    """The records that are objects."""
    return [record for record in records if isinstance(record, dict)]


class Listed(NamedTuple):
    """A conversation among several in one record: the record, what holds the messages, and its place."""

    record: dict[str, Json]
    holder: dict[str, Json]
    place: str


def in_lists(
    field: str, one: str, make: Callable[[Listed, Notes], Conversation]
) -> Callable[[Source], list[Conversation]]:
    """Makes a conversation of what the list under `field` of each record holds; `one` names such a holder in errors.

    What it returns raises UnreadableFile where there is no such list, or no `messages` in it.
    """

    def conversations(source: Source) -> list[Conversation]:
        found = list(_listed(source, field, one))
        made = [make(holder, source.notes if len(found) == 1 else Notes()) for holder in found]
        return [conversation for conversation in made if conversation.messages]

    return conversations


def _listed(source: Source, field: str, one: str) -> Iterator[Listed]:
    for value, place in source.records():
        holders = value.get(field) if isinstance(value, dict) else None
        if not isinstance(holders, list):
            raise UnreadableFile(f"{place}, field {field!r}: must be a list")
        for i, holder in enumerate(holders):
            at = f"{place}, {one} {i}"
            if not isinstance(holder, dict) or not isinstance(holder.get("messages"), list):
                raise UnreadableFile(f"{at}, field 'messages': must be a list")
            yield Listed(value, holder, at)


class Session(NamedTuple):
    """A record of a file that is an object with `messages`, all of them objects; what is noted of it."""

    about: dict[str, Any]
    messages: list[dict[str, Any]]
    notes: Notes


def sessions(source: Source) -> Iterator[Session]:
    """Every record of such a file. Raises UnreadableFile naming the record or message that is something else."""
    for i, (value, place) in enumerate(source.records()):
        messages = fields(value).get("messages")
        if not isinstance(messages, list):
            raise UnreadableFile(f"{place}, field 'messages': must be a list")
        for n, message in enumerate(messages):
            if not isinstance(message, dict):
                raise UnreadableFile(f"message {n} is a {type(message).__name__}, not an object with a role")
        yield Session(value, messages, Notes() if i else source.notes)
