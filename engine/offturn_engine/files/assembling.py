"""From what a reader found to a conversation: repairs by the format, calls and results paired, indexes counted anew."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from offturn_engine.files.conversation import Boundary, Conversation, Earlier, Item, Notes, Said, UnreadableFile
from offturn_engine.files.pairing import MakeCall, Numbered, closed
from offturn_engine.files.source import refuse_larger, size_of
from offturn_engine.formats import Format
from offturn_engine.messages import Json, RawMessage

LEAST = 192  # bytes a message counts: what is made of it takes room, however short it is
NOT_RECORDED = "[what was said before this was not recorded]"

Repair: TypeAlias = Callable[[Sequence[Said], Notes], list[tuple[int, Said]]]
"""Messages as found -> (index in what was found, message a provider takes), some of them left out."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How messages of one format are repaired and how a call is made in it."""

    format: Format
    repair: Repair
    call: MakeCall


def assemble(
    items: Sequence[Item], dialect: Dialect, *, title: str, system: Json, source: str, notes: Notes
) -> Conversation:
    """A conversation of these messages, repaired. Raises UnreadableFile naming the place and the field."""
    _refuse_larger(items)
    places = [i for i, item in enumerate(items) if isinstance(item, Said)]
    found = [item for item in items if isinstance(item, Said)]
    repaired = [Numbered(places[i], said) for i, said in dialect.repair(found, notes)]
    made = _opened(closed(repaired, dialect.format, dialect.call, notes), dialect.format, notes)
    order = [number for number, _ in made]
    by_key = {item.key: i for i, item in enumerate(items) if isinstance(item, Said) and item.key}
    return Conversation(
        title=title,
        format=dialect.format.name,
        messages=tuple(said.raw for _, said in made),
        system=system,
        source_format=source,
        notes=notes.lines(),
        origins={i: said.origin for i, (_, said) in enumerate(made) if said.origin is not None},
        reported={i: said.reported for i, (_, said) in enumerate(made) if said.reported},
        earlier=tuple(_earlier(i, item, order, by_key) for i, item in enumerate(items) if isinstance(item, Boundary)),
    )


def each_repaired(
    found: Sequence[Said], notes: Notes, repair: Callable[[dict[str, Any], Notes], RawMessage | None], expected: str
) -> list[tuple[int, Said]]:
    """Each message by itself, without those of which nothing is left. Raises UnreadableFile, naming what was expected, for
    what is no object."""
    kept: list[tuple[int, Said]] = []
    for i, said in enumerate(found):
        if not isinstance(said.raw, dict):
            raise UnreadableFile(f"{said.place} is a {type(said.raw).__name__}, not {expected}")
        if (raw := repair(said.raw, notes)) is not None:
            kept.append((i, replace(said, raw=raw)))
    return kept


def _refuse_larger(items: Sequence[Item]) -> None:
    """Whatever a file was, one JSON value or lines: its messages fit into the memory promised."""
    size = 0
    for item in items:
        if isinstance(item, Said):
            size += max(LEAST, size_of(item.raw))
            refuse_larger(size, item.place)


def _opened(made: list[Numbered], format_: Format, notes: Notes) -> list[Numbered]:
    """A recording that sets in after the first message gets one, where the provider asks for it."""
    if not made or all(problem.rule != "first-message" for problem in format_.problems([made[0].said.raw])):
        return made
    notes.count("beginnings that were not recorded, marked by a message")
    first = Said(raw=format_.user(NOT_RECORDED), place=made[0].said.place, origin="host")
    return [Numbered(made[0].number, first), *made]


def _earlier(index: int, boundary: Boundary, order: Sequence[int], by_key: Mapping[str, int]) -> Earlier:
    kept_from = min(by_key.get(boundary.kept_from, index), index)
    return Earlier(
        at=bisect_left(order, index),
        covered=bisect_left(order, kept_from),
        summary=boundary.summary,
        tokens_before=boundary.tokens_before,
        opaque=boundary.opaque,
    )
