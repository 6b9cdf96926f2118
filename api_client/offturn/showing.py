"""From what a handle has read to a view that fits: adopt, render, and give way where a request would not fit."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import dataclass, replace
from secrets import token_hex

from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.errors import Refused
from offturn.filling import path_for, path_to_shorten, whole_path
from offturn.framing import frame_of, keep_frame
from offturn.remote import usable
from offturn.request_options import provider_options, provider_warnings, sets_breakpoints
from offturn.room import SERVER_FULL
from offturn.store.errors import StoreFault, StoreFull
from offturn.store.records import OTHER_GENERATION
from offturn.store.replies import Adopted, Committed, Meta
from offturn.view import Options, View
from offturn_engine.accept import accept
from offturn_engine.compaction import NOTHING, Compaction, ViewRecord
from offturn_engine.draft import Candidate
from offturn_engine.errors import CannotFit
from offturn_engine.formats.base import Format
from offturn_engine.frame import framed, led
from offturn_engine.groups import group_is_open
from offturn_engine.handles import handle
from offturn_engine.messages import RawMessage
from offturn_engine.notes import SYSTEM_NOTE, with_note
from offturn_engine.path import Path
from offturn_engine.pins import GAVE_WAY as PINS_GAVE_WAY
from offturn_engine.pins import missing
from offturn_engine.plan import emergency
from offturn_engine.ranges import length, place_of
from offturn_engine.render import Rendering, is_system, render
from offturn_engine.tokens import Calibration, estimate_text

EMERGENCY_TRIES = 3
NOTE_ROOM = max(estimate_text(note) for note in SYSTEM_NOTE.values())
GAVE_WAY = "generation {} does not fit the window and gave way: pass window=offturn.ANY_WINDOW to see it as it is"
BACK_GAVE_WAY = "generation {} was put back in force and does not fit the window: an emergency view took its place"
DAMAGED = (
    "generation {} is damaged and does not fit: for this call the transcript was shortened without it; "
    f"{OTHER_GENERATION}"
)
SHADOW = (
    "adopt='never': what is in force does not fit and gave way for this call only; generations are made and not shown, "
    "configure(adopt='group') puts the newest in force"
)

NAMED = 5  # pinned messages in a warning
PINS_NO_ROOM = (
    "pinned {} had to give way so that this view fits: unpin what is not needed, or take a larger window; what stays pinned "
    "comes back with the next compaction that has room"
)
PINS_NOT_YET = (
    "pinned {}: summarised or shortened before that, comes back with the next compaction; request() asks for one (on the "
    "command line `offturn session compact`)"
)


@dataclass(frozen=True, slots=True)
class Room:
    """How large one request may be: `limit` real tokens. `calibration` has this request's overhead."""

    config: SessionConfig
    calibration: Calibration
    limit: int
    declared: int  # estimate of system and tools

    @property
    def messages(self) -> int:
        """What is left for messages, in estimate units."""
        return self.calibration.estimate_for(self.limit)

    def require(self, estimate: int) -> None:
        """Raises CannotFit, in real tokens, where messages of this estimate do not fit."""
        if (tokens := self.calibration.real(estimate)) > self.limit:
            raise self.too_large(tokens)

    def too_large(self, tokens: int, *, system: bool = False) -> CannotFit:
        """The error, in real tokens. `system`: the messages hold a system prompt."""
        if system or self.declared or self.calibration.overhead:
            return CannotFit(tokens, self.limit)
        return CannotFit(tokens, self.limit, "the last human message needs")


def room(config: SessionConfig, calibration: Calibration, fmt: Format, options: Options) -> Room:
    """The room of one call. Overhead: what usage has taught, or what the given system and tools are worth.

    What a provider allows goes above the window. Raises InvalidPolicy for a window the session's policy cannot work with.
    """
    sized = config.sized(options.window, options.max_output)
    limit = sized.limits.usable
    if options.allowed is not None and options.allowed < limit:
        limit, sized = options.allowed, sized.within(options.allowed)
    declared = fmt.overhead(options.system, options.tools)
    overhead = max(int(declared * calibration.factor), calibration.overhead)
    if options.most is not None:
        limit = min(limit, overhead + int(calibration.factor * options.most))
    return Room(sized, calibration.model_copy(update={"overhead": overhead}), limit, declared)


def calibration(cache: Cache, config: SessionConfig, options: Options) -> Calibration:
    """What usage has taught of the session's model; of another one what its family begins with."""
    known = cache.meta.calibration if cache.meta and options.model is None else None
    return config.calibration(known)


async def show(cache: Cache, config: SessionConfig, options: Options, *, offline: bool = False) -> View:
    """The view of what the cache holds; `offline`: without a store to write to.

    Raises CannotFit, InvalidPolicy, Refused for a generation not kept, and LookAgain.
    """
    space = room(config, calibration(cache, config, options), cache.fmt, options)
    if options.generation is None and not offline and await _may_adopt(cache, config):
        with suppress(StoreFull):  # what is in force is still a view
            await _adopt(cache)
    shadow = config.adopt == "never"
    own = options.generation is None and options.window in (None, config.window) and not (shadow or offline)
    own = own and options.format is None and options.model is None  # what only another one needs is for this call
    tries = EMERGENCY_TRIES if own else 0
    if own and options.urgent:
        await _relieve(cache, space, options)
    gave_way: tuple[str, ...] = ()
    cache.settled = True
    while True:
        chosen = options.generation
        shown = await (cache.pointed("adopted") if chosen is None else cache.generation(chosen))
        path = await _path(cache, shown, config)
        rendering = _seen(cache, path, shown, options)
        if rendering.tokens + _apart(shown, options) <= space.messages or cache.is_empty:
            break
        cache.settled = False
        if not tries:
            gave_way += _damage(cache, shown)
            shown, path, rendering = await _passing(cache, _readable(cache, shown) or NOTHING, space, options)
            if chosen is not None:
                gave_way += (GAVE_WAY.format(chosen),)
            elif shadow:
                gave_way += (SHADOW,)
            break
        done, told = await _replaced(cache, shown, space, options)
        tries, gave_way = tries - 1 if done else 0, told or gave_way
    if own:
        await keep_frame(cache, config, options)
    view = build(cache.meta, shown, rendering, space, options, cache.fmt)
    asked, unmet = provider_options(space.config, path), provider_warnings(config)
    opaque, fallen = usable(shown, rendering.items, config)
    at = next((i for i, item in enumerate(rendering.items) if item.kind == "summary"), 0)
    warnings = (*view.warnings, *unmet, *fallen, *gave_way, *_unpinned(path, shown))
    return replace(view, request_options=asked, opaque=opaque, opaque_at=at, warnings=warnings)


async def require_room(cache: Cache, number: int) -> None:
    """Raises Refused where this generation's view is above the policy's ceiling and larger than what is in force."""
    config = SessionConfig.from_json(cache.live.config)
    calibration = config.calibration(cache.live.calibration)

    async def size(generation: int) -> int:
        return calibration.real(render(cache.path, await cache.generation(generation), cache.fmt).tokens)

    tokens = await size(number)
    if tokens > config.limits.ceiling and tokens > await size(cache.live.adopted):
        raise Refused(
            f"generation {number} makes a view of about {tokens} tokens, the policy's ceiling is "
            f"{config.limits.ceiling}: pass force=True (on the command line --force) to put it in force all the same"
        )


def build(
    meta: Meta | None, shown: ViewRecord, rendering: Rendering, space: Room, options: Options, fmt: Format
) -> View:
    """A View value from what was rendered. Raises CannotFit."""
    noted = _apart(shown, options)
    space.require(rendering.tokens + noted)
    warnings = []
    if rendering.closed:
        warnings.append(f"{rendering.closed} tool calls without a recorded result were closed in this view")
    if rendering.pending:
        warnings.append(f"{rendering.pending} tool calls are waiting for their results")
    tail = next((i for i, item in enumerate(rendering.items) if item.seq >= shown.seen), len(rendering.items))
    path = meta.path if meta else ()
    emergency_view = shown.provisional and shown.reason == "overflow"
    identity = f"{meta.incarnation}.{meta.revision[0]}.{meta.revision[1]}.{meta.log_len}" if meta else "0"
    return View(
        messages=rendering.messages,
        system=with_note(options.system, shown.system_note),
        format=fmt.name,
        generation=shown.number,
        path=path,
        kind="emergency" if emergency_view else ("raw" if shown.number == 0 else "compacted"),
        tokens=space.calibration.real(rendering.tokens + noted),
        limit=space.limit,
        tail_from=tail,
        tail_at=place_of(path, rendering.items[tail].seq) if tail < len(rendering.items) else length(path),
        tail_edits=len(shown.edits),
        warnings=tuple(warnings),
        id=identity,
        estimate=rendering.tokens,
        declared=space.declared + noted,
        options=options,
        breakpoints=sets_breakpoints(space.config, fmt),
    )


def give_way(path: Path, base: Compaction, fmt: Format, space: Room, lead: tuple[RawMessage, ...]) -> Candidate:
    """The emergency candidate that fits with this lead. Raises CannotFit, in real tokens."""
    note = NOTE_ROOM if space.config.policy.after.system_note or base.system_note else 0
    raw = render(path, base, fmt)
    more = led(raw, lead, base.system_note, fmt).tokens - raw.tokens + note
    usable = space.messages - more
    limits = replace(space.config.estimates(space.calibration), usable=usable)
    try:
        return emergency(path, base, fmt, policy=space.config.policy, limits=limits)
    except CannotFit as error:
        tokens = space.calibration.real(error.tokens + more)
        raise space.too_large(tokens, system=bool(lead) or any(is_system(m.raw) for m in path)) from None


async def _path(cache: Cache, shown: ViewRecord, config: SessionConfig) -> Path:
    """The path as far as this view needs it; clearing at the provider is asked for by all the tools that were called."""
    if config.policy.remote.provider_edits:
        return await whole_path(cache)
    return await path_for(cache, shown)


def _unpinned(path: Path, shown: ViewRecord) -> tuple[str, ...]:
    """What is said of pinned messages that the view does not show as they are."""
    gone = [handle(seq) for seq in missing(path, shown)]
    if not gone:
        return ()
    names = ", ".join(gone[:NAMED]) + (f" and {len(gone) - NAMED} more" if len(gone) > NAMED else "")
    return ((PINS_NO_ROOM if PINS_GAVE_WAY in shown.concessions else PINS_NOT_YET).format(names),)


def _seen(cache: Cache, path: Path, shown: ViewRecord, options: Options) -> Rendering:
    """What goes out as messages; `path` is what this generation needs of it."""
    frame = frame_of(options)
    if frame.lead:  # the host's own, which it may change
        return framed(path, shown, cache.fmt, frame)
    place = cache.place
    of = None if place is None else (place, frame.system is None)
    return cache.rendered.get(of, shown, lambda: framed(path, shown, cache.fmt, frame))


def _apart(shown: ViewRecord, options: Options) -> int:
    """Estimate of what the note adds to a system prompt given apart."""
    given = options.system
    return 0 if given is None or with_note(given, shown.system_note) == given else estimate_text(shown.system_note)


async def _may_adopt(cache: Cache, config: SessionConfig) -> bool:
    """Not inside a tool group; with `adopt="turn"` only while a human's message waits for its first answer."""
    meta = cache.meta
    if meta is None or meta.adopted == meta.current or config.adopt == "never":
        return False
    current = await cache.pointed("current")
    path = await (path_for(cache, current) if config.adopt == "group" else whole_path(cache))
    if group_is_open(path):
        return False
    said = next((m.origin for m in reversed(path) if m.origin in ("human", "assistant", "tool")), None)
    return config.adopt == "group" or said == "human"


async def _adopt(cache: Cache) -> bool:
    """Put the current generation in force; False where it is already, or the log has grown meanwhile."""
    meta = cache.meta
    if meta is None or meta.adopted == meta.current:
        return False
    reply = await cache.store.adopt(cache.key, incarnation=meta.incarnation, length=len(cache.log), nonce=token_hex(8))
    if isinstance(reply, Adopted) and reply.adopted == meta.current:
        cache.meta = replace(meta, adopted=reply.adopted, revision=reply.revision)
    else:
        await cache.refresh()
    return isinstance(reply, Adopted)


async def _replaced(cache: Cache, shown: ViewRecord, space: Room, options: Options) -> tuple[bool, tuple[str, ...]]:
    """Another generation in force than this one, and what is said of that; False where nothing can be committed."""
    try:
        if await _adopt(cache):
            return True, ()
        if _readable(cache, shown) is None:  # committed without what it holds, that would be lost for good
            return False, ()
        put_back = shown.number < max(cache.live.generations, default=0)
        await _publish(cache, await _emergency(cache, space, options))
        return True, (BACK_GAVE_WAY.format(shown.number),) if put_back else ()
    except StoreFull:
        return False, (SERVER_FULL,)


def _damage(cache: Cache, shown: ViewRecord) -> tuple[str, ...]:
    return () if _readable(cache, shown) else (DAMAGED.format(shown.number),)


def _readable(cache: Cache, record: ViewRecord) -> Compaction | None:
    """The whole of it; None where what no view reads is damaged."""
    try:
        return cache.whole(record)
    except StoreFault:
        return None


async def _passing(cache: Cache, base: Compaction, space: Room, options: Options) -> tuple[ViewRecord, Path, Rendering]:
    """A view that fits this call only: nothing is committed, the generation in force stays."""
    path = await path_to_shorten(cache, base)
    made = await asyncio.to_thread(give_way, path, base, cache.fmt, space, options.lead)
    record = made.compaction.model_copy(update={"number": base.number})
    cache.passing.append(record)
    return record, path, _seen(cache, path, record, options)


async def _relieve(cache: Cache, space: Room, options: Options) -> None:
    """At the hard level, with nothing coming: a provisional generation, if that makes the view smaller."""
    with suppress(CannotFit, Refused, StoreFull):  # then what is in force has to do, if it fits
        current = await cache.pointed("current")
        if _readable(cache, current) is None:
            return
        before = render(await whole_path(cache), current, cache.fmt).tokens
        made = await _emergency(cache, space, options)
        if made.rendering.tokens < before:
            await _publish(cache, made)


def _accepted(path: Path, base: Compaction, fmt: Format, space: Room, lead: tuple[RawMessage, ...]) -> Candidate:
    """What gave way, fit to be committed. It gains what the request needed, so that no other gain is asked for."""
    candidate = give_way(path, base, fmt, space, lead)
    if rejected := accept(candidate, minimum_gain=-math.inf):
        names = ", ".join(rejected.broken) or rejected.reason
        raise Refused(f"no view that fits keeps every promise ({names}): a bug of offturn's, nothing was written")
    return candidate


async def _emergency(cache: Cache, space: Room, options: Options) -> Candidate:
    """What is smaller than the current generation and fits now. Raises CannotFit, and Refused for a bug of ours."""
    base, path = cache.whole(await cache.pointed("current")), await whole_path(cache)
    return await asyncio.to_thread(_accepted, path, base, cache.fmt, space, options.lead)


async def _publish(cache: Cache, made: Candidate) -> None:
    """Commit it as provisional, so that every process of the host sees the same one."""
    meta, compaction, nonce = cache.live, made.compaction, token_hex(16)
    reply = await cache.store.commit(
        cache.key,
        incarnation=meta.incarnation,
        epoch=meta.epoch,
        base=meta.current,
        chain_length=len(cache.log),
        chain=cache.chain,
        compaction=compaction,
        at_tokens=meta.path_tokens,
        claim=None,
        op=nonce,
    )
    if isinstance(reply, Committed):
        cache.keep(compaction.model_copy(update={"number": reply.number, "nonce": nonce, "replaces": meta.current}))
    await cache.refresh()
