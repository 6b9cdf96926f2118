"""What every reader of a transcript format offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from offturn_engine.files.conversation import Conversation
from offturn_engine.files.source import Source
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
