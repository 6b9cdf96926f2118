"""What a host does to a session beside talking, on the driver's command: most of it while a job is in a worker's hands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from offturn.errors import OffturnError, Refused
from tests.faults.kit.writer import GaveUp, Sent, Writer
from tests.integration.host import human, says

TOO_LONG = "prompt is too long: {} tokens > {} maximum"
TINY = 4_000  # tokens of a window far below the session's


async def rollback(writer: Writer) -> str:
    """To the oldest kept generation, or to the raw transcript."""
    known = await writer.patiently(writer.session.generations)
    target = known[0].number if len(known) > 1 else 0
    await writer.patiently(lambda: writer.session.rollback(generation=target, force=True))
    return "ok"


async def rewind(writer: Writer) -> str:
    """The newest turn is taken back. Made again after a lost reply, it says that nothing is left to do."""
    async with writer.lock:
        last = next((i for i in reversed(range(len(writer.path))) if writer.path[i].kind == "human"), 0)
        if last == 0:
            return "nothing to take back"
        target = writer.path[last - 1]
        ref = target.id or target.seq
        if ref is None:
            return "no name for the message"
        number = writer.log.begin("rewind", keep=target.h, life=writer.life)
        with suppress(Refused):  # a try before had taken effect
            await writer.patiently(lambda: writer.session.rewind(to=ref))
        del writer.path[last:]
        writer.log.write("ack", k=number)
    return "ok"


async def amend(writer: Writer) -> str:
    """One of the newest answers is replaced."""
    async with writer.lock:
        places = [i for i, m in enumerate(writer.path) if m.kind == "says" and (m.id or m.seq is not None)]
        if not places:
            return "nothing to amend"
        place = places[-1]
        old = writer.path[place]
        raw = says(f"I have fixed {writer.mark('part')}, and say it in other words: its tests passed.")
        (name,) = writer.log.messages([raw], kind="says")
        ref = old.id if old.id is not None else old.seq
        assert ref is not None
        number = writer.log.begin("amend", old=old.h, new=name, life=writer.life)
        seq = await writer.patiently(lambda: writer.session.amend(ref, raw))
        writer.path[place] = Sent(raw, name, "says", old.id, seq)
        writer.log.write("ack", k=number, seqs=[seq])
    return "ok"


async def purge(writer: Writer) -> str:
    """The session is deleted and begun anew; its events are written down first."""
    async with writer.lock:
        await tell_events(writer)
        number = writer.log.begin("purge", life=writer.life)
        await writer.patiently(writer.session.purge)
        writer.log.write("ack", k=number)
        writer.forget()
    return "ok"


async def redact(writer: Writer) -> str:
    """One message is deleted for good."""
    call = getattr(writer.session, "redact", None)
    if call is None:
        return "not in this version"
    async with writer.lock:
        found = [m for m in writer.path if m.kind == "says" and (m.id or m.seq is not None)]
        if len(found) < 2:
            return "nothing to redact"
        target = found[len(found) // 2]
        ref = target.id if target.id is not None else target.seq
        number = writer.log.begin("redact", h=target.h, life=writer.life)
        try:
            await writer.patiently(lambda: call([ref], reason="fault kit"))
        except Refused:
            return "refused"
        writer.path.remove(target)
        writer.log.write("ack", k=number)
    return "ok"


async def emergency(writer: Writer) -> str:
    """The provider takes less than the session's window, and another model with a tiny window is asked.

    Each time on a handle that has not learnt so yet: one that keeps to less than the soft level lives on emergencies, and
    no worker is asked for anything.
    """
    async with writer.lock:
        sent = await writer.patiently(writer.session.view, fresh=True)
        await writer.heed(sent)
        if sent.tokens > writer.allowed:
            writer.log.write("overflow", tokens=sent.tokens, allowed=writer.allowed)
            said = TOO_LONG.format(sent.tokens, writer.allowed)
            error = {"error": {"type": "invalid_request_error", "message": said}}
            handle = writer.another()
            view = await writer.patiently(lambda: handle.overflow(error, sent=sent))
            writer.shown("view", view, passing=True)
            await writer.heed(view)
        await writer.look(window=TINY)
    return "ok"


async def configure(writer: Writer) -> str:
    """Another soft level; it changes nothing a model sees."""
    levels = (0.55, 0.58, 0.6)
    soft = levels[len(writer.path) % 3]
    await writer.patiently(lambda: writer.session.configure(overrides={"trigger.soft": soft}))
    return "ok"


async def cancel(writer: Writer) -> str:
    """What was requested is withdrawn."""
    await writer.patiently(writer.session.cancel)
    return "ok"


async def unblock(writer: Writer) -> str:
    """A session that was given up may be worked on again."""
    status = await writer.patiently(writer.session.status)
    if status.parked or status.blocked:
        writer.log.write("unblocked", parked=status.parked)
        await writer.patiently(writer.session.unblock)
    return "ok"


async def request(writer: Writer) -> str:
    """A compaction is asked for."""
    await writer.request()
    return "ok"


async def turns(writer: Writer) -> str:
    """A few more turns at once."""
    await writer.turns(4)
    return "ok"


async def say(writer: Writer) -> str:
    """One message."""
    async with writer.lock:
        await writer.send(
            [("human", human(f"One word more about {writer.mark('part')}: never touch the release notes."))]
        )
    return "ok"


OPERATIONS: dict[str, Callable[[Writer], Awaitable[str]]] = {
    f.__name__: f
    for f in (rollback, rewind, amend, purge, redact, emergency, configure, cancel, unblock, request, turns, say)
}
MOVING = frozenset({"rewind", "amend", "purge", "redact"})
"""Lost with a server's last second, these are lost for good: only messages are sent again."""


async def operate(writer: Writer, name: str) -> str:
    """`ok`, or why it was not done."""
    try:
        return await OPERATIONS[name](writer)
    except GaveUp:
        return "gave up"
    except OffturnError as error:
        writer.log.write("refused", operation=name, error=type(error).__name__, text=str(error)[:300])
        return type(error).__name__


async def tell_events(writer: Writer) -> None:
    """All events the store still has of this life."""
    try:
        events = await writer.patiently(writer.session.events)
    except OffturnError:
        return
    for event in events:
        writer.log.write("event", id=event.id, kind=event.kind, fields=event.fields, life=writer.life)


async def conclude(writer: Writer) -> None:
    """At the end: the transcript, the view, the export, the events, the status and what became of each request."""
    await writer.look()
    writer.shown("raw", await writer.raw())
    view = await writer.patiently(writer.session.view, fresh=True)
    writer.shown("final", view)
    await tell_events(writer)
    async for line in writer.session.export():
        if line["kind"] == "message":
            (name,) = writer.log.messages([line["message"]], shown=True)
            facts = {name: line[name] for name in ("seq", "on_path", "id")}
            writer.log.write("stored", h=name, **facts)
        elif line["kind"] == "generation":
            kept = ("number", "nonce", "base", "replaces", "covered", "edits", "summary", "provisional", "reason")
            writer.log.write("record", life=writer.life, **{field: line[field] for field in kept})
    status = await writer.patiently(writer.session.status)
    facts = {"due": status.due, "running": status.running, "parked": status.parked, "messages": status.messages}
    writer.log.write("status", generation=status.generation, current=status.current, **facts)
    for ticket in writer.tickets:
        state = await writer.patiently(ticket.status)
        writer.log.write("served", no=ticket.request_no, life=writer.life, state=state)
