"""Another path for a session: what leaves it, what takes a message's place, and which generation still holds on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.entries import OriginRule, Prepared, prepare
from offturn.errors import Refused
from offturn.store.errors import StoreFault, readable
from offturn.store.replies import NewEntry
from offturn_config.errors import InvalidSetting
from offturn_engine.compaction import PhaseEnd
from offturn_engine.groups import pair
from offturn_engine.handles import parse_handle
from offturn_engine.invariants import Shown, violations
from offturn_engine.ledger.phases import ended
from offturn_engine.messages import Message, ToolCallPart
from offturn_engine.ranges import Ranges, in_order, inside, normalise
from offturn_engine.render import render

Ref: TypeAlias = int | str
"""A message: an int is its seq, a str the host's own id."""


@dataclass(frozen=True, slots=True)
class Move:
    """A new path; `entries` are the messages that are appended for it. The rest is what the store cannot compute itself.

    unfit: generations inside the path whose view of it would break a promise; shown_tokens: estimate of the view of the
    one that stays current; shadow: current is not what is in force. new: the messages of `entries`. config: what is to be
    stored from now on, where a pin goes over to a new message.
    """

    path: Ranges
    path_tokens: int
    open_calls: Mapping[str, int]
    unfit: tuple[int, ...]
    shown_tokens: int
    shadow: bool = False
    entries: Sequence[NewEntry] = ()
    new: Sequence[Message] = ()
    config: str | None = None

    @classmethod
    async def to(
        cls,
        cache: Cache,
        messages: list[Message],
        entries: Sequence[NewEntry] = (),
        instead: Mapping[int, int] = MappingProxyType({}),
    ) -> Move:
        """The move that makes these messages the path. instead: seqs of messages that leave it, and of what takes their place."""
        path, meta = in_order(m.seq for m in messages), cache.live
        shadow = cache.config is not None and cache.config.adopt == "never"
        unfit, shown = await _judged(cache, messages, normalise(path), meta.current)
        if shadow:
            unfit = [*unfit, *(await _judged(cache, messages, normalise(path), meta.adopted))[0]]
        new = sorted((m for m in messages if m.seq >= len(cache.log)), key=lambda m: m.seq)
        tokens = sum(m.tokens for m in messages)
        config = _handed_over(cache, entries, instead)
        return cls(path, tokens, _open_calls(messages), tuple(unfit), shown, shadow, entries, new, config)


def place(cache: Cache, ref: Ref) -> int:
    """Index in the path. Raises Refused for a message that is not on it, InvalidSetting for what names none."""
    if isinstance(ref, bool) or not isinstance(ref, int | str):
        raise InvalidSetting(f"a {type(ref).__name__} names no message: give its seq, or your own id as text")
    names: list[Any] = [m.seq for m in cache.path] if isinstance(ref, int) else cache.path_ids
    if ref not in names:
        named = parse_handle(ref) if isinstance(ref, str) else None
        meant = f": a text is one of your own ids, {ref!r:.20} as a seq is {named[0]}" if named else ""
        raise Refused(f"message {ref!r:.80} is not on the path of session {cache.key.session!r}{meant}")
    return len(names) - 1 - names[::-1].index(ref)


def up_to(cache: Cache, to: Ref | None, turns: int, messages: int | None = None) -> list[Message]:
    """The messages that stay in a rewind: up to `to`, without the last `messages`, or before the last `turns` human ones."""
    path = [*cache.path]
    if to is not None:
        stop = place(cache, to) + 1
    elif messages is not None:
        if messages > len(path):
            raise Refused(f"{messages} messages back: the path has {len(path)}")
        stop = len(path) - messages
    else:
        starts = [i for i, m in enumerate(path) if m.origin == "human"]
        if turns > len(starts):
            raise Refused(f"{turns} turns back: the path has {len(starts)}")
        stop = starts[-turns]
    if stop == len(path):
        raise Refused("there is nothing after this message to take back")
    return path[:stop]


def amended(cache: Cache, ref: Ref, raw: Any, rule: OriginRule) -> tuple[list[Message], Prepared]:
    """The path with another message in the place of `ref`, under the same id; and that message, to be appended.

    Raises InvalidMessage, and Refused where results that follow would lose their calls.
    """
    at = place(cache, ref)
    old = cache.path[at]
    if old.role == "user" and (cache.fmt.by_place or not old.results):
        rule = old.origin
    made = prepare([raw], [cache.path_ids[at]], cache.fmt, rule)
    new = made.messages[0].placed(len(cache.log))
    messages = [*cache.path[:at], new, *cache.path[at + 1 :]]
    lost = len(pair(messages).orphans) - len(pair(cache.path).orphans)
    if lost > 0:
        raise Refused(
            f"message m{old.seq}: {lost} results on the path would have no call: keep the call ids they answer"
        )
    return messages, made


def phase_ends(cache: Cache, told: tuple[PhaseEnd, ...], stop: int | None) -> tuple[PhaseEnd, ...]:
    """The ends of phases in the path up to there, each at its index: those that a generation has told, and later ones.

    Raises StoreFault.
    """
    with readable(f"session {cache.key.session!r}: the ends of its phases"):
        later = cache.live.phase_ends
    notes = {end.seq: end.note for end in ended(cache.path, told, later)}
    path = enumerate(cache.path[:stop])
    return tuple(PhaseEnd(seq=i, note=notes[message.seq]) for i, message in path if message.seq in notes)


def _handed_over(cache: Cache, entries: Sequence[NewEntry], instead: Mapping[int, int]) -> str | None:
    """The settings with the pins of messages that others replace, by place or under the same id; None: none is."""
    old = SessionConfig.from_json(cache.live.config)
    named: dict[str | None, int] = {
        entry.host_id: len(cache.log) + i for i, entry in enumerate(entries) if entry.host_id is not None
    }
    shown = {message.seq for message in cache.path}
    new = {seq: instead.get(seq, named.get(cache.ids[seq], seq)) if seq in shown else seq for seq in old.pins}
    if not any(seq != taken for seq, taken in new.items()):
        return None
    return replace(old, pins=tuple(sorted({*new.values()}))).onto(cache.live.config)


def _open_calls(messages: list[Message]) -> Mapping[str, int]:
    parts = [messages[i].parts[part] for i, part in pair(messages).open_calls]
    return Counter(part.id for part in parts if isinstance(part, ToolCallPart))


async def _judged(cache: Cache, messages: list[Message], path: Ranges, number: int) -> tuple[list[int], int]:
    """As the store will choose: this one, else what it replaced, if it covers only the path and keeps every promise.

    Of one that cannot be read nobody knows whether it does.
    """
    unfit: list[int] = []
    known = cache.live.generations
    while number in known:
        if inside(known[number].covered, path):
            with suppress(StoreFault):
                record = await cache.find(number)
                if record is None:  # lost: the session was mended, so the store will ask for another look
                    break
                rendering = render(messages, record, cache.fmt)
                if not violations(Shown(messages, cache.whole(record), rendering, cache.fmt)):
                    return unfit, rendering.tokens
            unfit.append(number)
        number = known[number].replaces
    return unfit, 0
