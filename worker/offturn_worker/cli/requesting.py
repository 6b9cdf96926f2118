"""`offturn session compact|handoff`: a compaction asked for by hand, and a briefing for another agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from offturn import CompactionClient
from offturn.health import paused_warning
from offturn.links import Links
from offturn.recipe import run
from offturn.store.pausing import held
from offturn.ticket import Ticket
from offturn_config.keys import SessionKey
from offturn_config.settings import load_worker_settings
from offturn_engine.handoff import briefing
from offturn_engine.outcome import Compacted, Outcome, Pruned, Skipped, name, reason
from offturn_models.prices import price_of
from offturn_worker.cli.briefing import briefed, print_briefing
from offturn_worker.cli.options import StoreUrl, SummarizerName, Tenant, named_as_given
from offturn_worker.cli.output import out, print_json, progress, say
from offturn_worker.cli.reasons import explained, own_model
from offturn_worker.cli.store import AsJson, SessionId, existing, whole, with_links
from offturn_worker.summarizers import build, endpoints

WAIT = 120.0
EVENTS = 1_000
ASKED = "asked for"
NO_WORKER = "no worker is there: start one with `offturn worker`, or say --here to compact in this process"
ELSEWHERE = ("busy", "idle")
"""How a job in this process ends where a worker was faster."""


def compact(
    session_id: SessionId,
    focus: Annotated[str | None, typer.Option("--focus", help="What to keep most of all.")] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for the outcome; 0 only asks.")] = WAIT,
    here: Annotated[bool, typer.Option("--here", help="Compact in this process, not in a worker.")] = False,
    summarizer: SummarizerName = None,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Ask for a compaction and say what became of it. --summarizer implies --here: a worker has its own."""
    compacted = _compacting(summarizer) if here or summarizer else None

    async def work(client: CompactionClient, links: Links) -> Outcome | str:
        session = await existing(client, session_id)
        if compacted is None and wait:
            health = await client.health()
            if not health.attended:
                return NO_WORKER
            if pause := held(health.pauses, session.key.tenant):
                return paused_warning(pause)
        ticket = await session.request(focus=focus)
        if compacted is None and not wait:
            return ASKED
        try:
            async with asyncio.timeout(wait or None):
                if compacted is not None:
                    made = await compacted(session.key, store=links.store, doorbell=links.doorbell)
                    if reason(made) not in ELSEWHERE:
                        return made
                return await ticket.wait()
        except TimeoutError:
            return f"no outcome within {wait:g} s{await _last_failure(ticket)}; it is still asked for"

    with progress(f"compacting session {session_id}"):
        outcome = with_links(store, tenant, work)
    told = outcome if isinstance(outcome, str) else _told(outcome)
    kind = "waiting" if isinstance(outcome, str) else name(outcome)
    if as_json:
        facts = {"reason": outcome} if isinstance(outcome, str) else asdict(outcome)
        print_json({"session": session_id, "outcome": kind, **facts})
    elif outcome == ASKED or not isinstance(outcome, str):
        out.print(f"session {session_id}: {told}", markup=False)
    else:
        say(f"session {session_id}: {told}")
    if outcome != ASKED and not isinstance(outcome, Compacted | Pruned | Skipped):
        raise typer.Exit(1)


def handoff(
    session_id: SessionId,
    output: Annotated[Path | None, typer.Option("--output", help="Write the text here.")] = None,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """A briefing to paste into another agent: summary, facts, human words, what is open. No model, nothing changes."""

    async def work(client: CompactionClient, links: Links) -> dict[str, Any]:
        session = await existing(client, session_id)
        return await _briefing(session.key, links)

    facts = with_links(store, tenant, work)
    print_briefing(facts, f"session {session_id}", output, as_json=as_json)


def add_to(app: typer.Typer) -> None:
    """The commands join those that look at sessions."""
    for command in (compact, handoff):
        app.command(command.__name__)(command)


async def _briefing(key: SessionKey, links: Links) -> dict[str, Any]:
    cache = await whole(links, key)
    base = cache.whole(await cache.pointed("current"))
    limits = cache.opened.estimates(cache.opened.calibration(cache.live.calibration))
    text = await asyncio.to_thread(briefing, cache.path, base, human_budget=limits.human, ledger_budget=limits.ledger)
    about = {"session": key.session, "messages": len(cache.path), "generation": base.number}
    return briefed(text, {**about, "method": base.method if base.number else "none"})


def _compacting(summarizer: str | None) -> Callable[..., Awaitable[Outcome]]:
    """The recipe with what a worker of these settings would bring to it."""
    with named_as_given(summarizer=summarizer):
        settings = load_worker_settings(summarizer=summarizer)
        return partial(run, summarizer=build(settings), prices=price_of, remote=endpoints(settings))


async def _last_failure(ticket: Ticket) -> str:
    """Why the newest try failed, if one did."""
    events = await ticket.store.events(ticket.key, limit=EVENTS)
    kinds = [
        e.fields.get("kind") for e in events if e.kind == "finished" and e.fields.get("request", 0) >= ticket.request_no
    ]
    return f", the last try failed: {kinds[-1]}" if kinds and kinds[-1] else ""


def _told(outcome: Outcome) -> str:
    if not isinstance(outcome, Compacted | Pruned):
        return f"{name(outcome)}{explained(reason(outcome))}"
    how = f" ({outcome.method})" if isinstance(outcome, Compacted) else ""
    instead = outcome.fallback if isinstance(outcome, Compacted) else ""
    failed = f"; the model did not write it ({instead}): see `offturn doctor`" if instead else ""
    who = own_model(outcome.own_model) if isinstance(outcome, Compacted) else ""
    sizes = f"{outcome.tokens_before:,} -> {outcome.tokens_after:,} tokens"
    return f"{name(outcome)}{how}, generation {outcome.generation}, {sizes}{failed}{who and '; ' + who}"
