"""Are workers there, do they run what this installation runs, and do they listen where its hosts ring? No I/O."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from offturn import Health, WorkerSeen, __version__
from offturn_config.keys import QUEUE
from offturn_worker.doctor.findings import Finding, finding
from offturn_worker.doctor.target import Target

NAMED = 4  # workers named in one line
LATELY_MS = 600_000  # a worker that went away before that is no news


def workers(health: Health, target: Target) -> Iterator[Finding]:
    """Who is there, and who went away without saying so."""
    taking = [one for one in health.workers if one.here and not one.about.draining]
    if taking:
        here = [one for one in health.workers if one.here]
        yield finding("workers", f"{len(here)} here: {_named(map(_described, here))}")
        if gone := [one for one in health.workers if not one.here and one.age_ms < LATELY_MS]:
            facts = f"{_named(map(_described, gone))} went away without a clean stop"
            yield finding("workers-gone", facts, store=target.option)
        return
    last = f"none takes jobs: {_named(map(_described, health.workers))}" if health.workers else "none seen"
    if health.due:
        waiting = f"{counted(health.due)} due, the first for {span(health.oldest_due_s)}"
        yield finding("workers-none", f"{last}; {waiting}", store=target.option)
    else:
        yield finding("workers-idle", f"{last}; what becomes due will wait", store=target.option)


def releases(seen: Collection[WorkerSeen]) -> Iterator[Finding]:
    """Workers of another release than this installation."""
    others = [one for one in seen if one.here and one.about.version != __version__]
    if others:
        newest = max((__version__, *(one.about.version for one in others)), key=_numbers)
        told = _named(f"{one.id} runs {one.about.version or 'an unknown release'}" for one in others)
        yield finding("worker-version", f"{told}, this is {__version__}", version=newest)


def policies(seen: Collection[WorkerSeen], mine: Mapping[str, str]) -> Iterator[Finding]:
    """Presets that workers know differently, or not at all. Sessions keep theirs by value, so old ones go on."""
    for one in seen:
        theirs = one.about.policies
        names = [name for name in sorted({*mine, *theirs}) if mine.get(name) != theirs.get(name)]
        if one.here and theirs and names:
            facts = f"{one.id} has other values of {', '.join(names)} than this installation"
            yield finding("worker-policies", facts, version=__version__)


def queue_names(seen: Collection[WorkerSeen]) -> Iterator[Finding]:
    """Workers that listen on a queue of another name."""
    for one in seen:
        if one.here and one.about.kind == "worker" and one.about.queue != QUEUE:
            facts = f"{one.id} listens on {one.about.queue!r}, hosts of this installation ring {QUEUE!r}"
            yield finding("worker-queue-name", f"{facts}: only its own sweep starts jobs", version=__version__)


def queue_servers(absent: Collection[WorkerSeen], target: Target) -> Iterator[Finding]:
    """Workers that beat at the store and do not look at this queue server."""
    if absent:
        facts = f"{_named(one.id for one in absent)} did not look at the queue on {target.shown}, where hosts ring"
        yield finding("worker-queue-server", f"{facts}: the same variable there and here?", queue=target.shown)


def listening(seen: Iterable[WorkerSeen]) -> list[WorkerSeen]:
    """Those that should have looked at the queue of this name."""
    return [one for one in seen if one.here and one.about.kind == "worker" and one.about.queue == QUEUE]


def _described(one: WorkerSeen) -> str:
    about = one.about
    facts = [about.version or "unknown release"]
    facts += [f"queue {about.queue}"] if about.queue else ["in a host's process"]
    facts += [", ".join(about.summarizers)] if about.summarizers else []
    facts += ["draining"] if about.draining else []
    return f"{one.id} ({', '.join(facts)}, beat {span(one.age_ms / 1000)} ago)"


def _named(texts: Iterable[str]) -> str:
    every = list(texts)
    more = [f"{len(every) - NAMED} more"] if len(every) > NAMED else []
    return "; ".join([*every[:NAMED], *more])


def counted(number: int) -> str:
    """So many sessions, with their verb."""
    return "1 session is" if number == 1 else f"{number:,} sessions are"


def span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])
