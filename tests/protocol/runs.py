"""Random interleavings of two hosts, three workers, lease expiry, moved paths, purges and failovers. A seed names a run."""

from __future__ import annotations

from random import Random

from offturn_engine.ranges import length
from tests.protocol.facts import base_of
from tests.protocol.stage import Stage

OUTCOMES = (
    *("compacted", "pruned", "skipped", "no-gain", "no-gain", "resting"),
    *("superseded", "failed", "unavailable", "deferred"),
)
WORKERS = ("a", "b", "c")


async def play_random(stage: Stage, seed: int, steps: int = 30) -> None:
    """Raises Divergence, with the lines that led to it."""
    rng = Random(seed)
    await stage.do("open h1")
    for _ in range(steps):
        options = choices(stage, rng)
        await stage.do(rng.choices([line for line, _ in options], [weight for _, weight in options])[0])


def choices(stage: Stage, rng: Random) -> list[tuple[str, int]]:
    """Steps possible now, with weights: work gets done, and faults happen."""
    if stage.state.archived:
        return away_choices(stage, rng)
    found = [("sweep", 1), ("unlist", 1)]
    if stage.state.alive:
        found.append((f"archive{rng.choice(('', ' record+h1', ' request+h2'))}", 3))
    for name in ("h1", "h2"):
        found += host_choices(stage, rng, name)
    for name in WORKERS:
        found += worker_choices(stage, rng, name)
    s = stage.state
    if len(s.log) > base_of(s) + 1:
        count = rng.randint(1, len(s.log) - base_of(s))
        found += [(f"pack p {count}", 2), (f"gather q {count}", 1)]
    if s.packs:
        found += [("unpack p", 1), (f"read {rng.randrange(len(s.log))} {len(s.log)}", 1)]
    if "q" in stage.gathered:
        found.append(("pack q", 2))
    if s.leased:
        found.append(("expire", 3))
    if s.doze == "asleep":
        found.append(("silence", 2))
    if s.starts:
        found.append(("hour", 1))
    if stage.before:
        found.append(("failover", 1))
    return found


def away_choices(stage: Stage, rng: Random) -> list[tuple[str, int]]:
    """Of a session in the archive: it comes back, or hosts and workers find it away."""
    found = [("restore", 6), ("want", 2), ("sweep", 1), ("forget", 1), ("lapse", 1), ("purge h1", 1)]
    found += [(f"{verb} {name}", 1) for verb in ("open", "record", "request", "cancel") for name in ("h1", "h2")]
    found += [(f"claim {rng.choice(WORKERS)}", 1), (f"mend {rng.choice(('h1', 'h2'))}", 1)]
    found += [(f"again {name}", 2) for name in ("h1", "h2") if stage.host(name).pending]
    found += [(f"commit {name}", 2) for name, worker in stage.workers.items() if worker.plan]
    if len(stage.stubs) > 1:
        found.append(("restore old", 1))
    if stage.before:
        found.append(("failover", 1))
    return found


def host_choices(stage: Stage, rng: Random, name: str) -> list[tuple[str, int]]:
    host, s = stage.host(name), stage.state
    lost = rng.choice(("", "", " lost"))
    sizes = " ".join(rng.choice("1123") for _ in range(rng.choice((1, 1, 2))))
    found = [
        (f"open {name}", 2 if host.incarnation is not None else 8),
        (f"record {name} {sizes}{rng.choice(('', '', ' copied'))}{lost}", 6),
        (f"repeat {name}{lost}", 1),
        (f"conflict {name}", 1),
        (f"request {name}{rng.choice(('', ' told', ' phase', ' phase told'))}{lost}", 2),
        (f"rollback {name} {rng.randint(0, s.counter)}{lost}", 2),
        (f"adopt {name}", 2),
        (f"reread {name}", 1),
        (f"adopt {name} grown", 1),
    ]
    if host.pending:
        found.append((f"again {name}{lost}", 6))
    if s.alive and s.log:
        if len(s.log) > 3:
            found.append((f"purge {name}{lost}", 1))
            found.append((f"lapse {rng.choice(('whole', 'partly'))}", 1))
        found += [(f"narrow {name} {rng.choice((50, 300, 99_999))}{lost}", 1), (f"mend {name}", 1)]
        if s.gens:
            found.append((f"evict {rng.choice(s.gens).number}", 1))
        found += [(f"cancel {name}{rng.choice(('', ' held'))}{lost}", 1), (f"unblock {name}{lost}", 1)]
        found.append(
            (
                f"pace {name} {rng.choice((0, 1))} 0 {rng.choice((0, 60))} {rng.choice((0, 2))}{rng.choice(('', ' step1', ' step2'))}{lost}",
                1,
            )
        )
        stale = rng.choice(("", "", " stale"))
        found.append((f"configure {name} {rng.randint(1, 4)} {rng.randint(4, 8)}{stale}{lost}", 1))
        seqs = " ".join(str(rng.randrange(len(s.log))) for _ in range(rng.choice((1, 1, 2))))
        quoting = f" q{rng.randint(1, s.counter)}" if s.counter and rng.random() < 0.3 else ""
        found += [(f"redact {name} {seqs}{quoting}{lost}", 1), (f"mark {name} {seqs}", 1)]
        if host.marked:
            found.append((f"redact {name}{lost}", 3))
        if host.move:
            found.append((f"undo {name}{lost}", 5))
    if s.path:
        move = f"{rng.choice(('rewind', 'rewind', 'amend', 'mirror', 'insert', 'shadow', 'unfit'))} {rng.randint(1, length(s.path))}"
        found += [(f"undo {name} {move}{lost}", 2), (f"look {name} {move}", 1)]
        found.append((f"prepare {name} {rng.choice(('provisional', 'provisional', 'full'))}", 3))
    if host.emergency:
        found.append((f"emergency {name}{lost}", 5))
    return found


def worker_choices(stage: Stage, rng: Random, name: str) -> list[tuple[str, int]]:
    worker = stage.workers.get(name)
    found = [(f"claim {name}", 3)]
    if worker is None:
        return found
    found += [(f"save {name}", 1), (f"renew {name}", 1), (f"finish {name} {rng.choice(OUTCOMES)}", 3)]
    if stage.state.path:
        found.append((f"plan {name} {rng.choice(('model', 'model', 'all', 'prune'))}", 5))
    if worker.plan:
        found.append((f"commit {name}", 7))
    return found
