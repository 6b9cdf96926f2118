"""The judge of the protocol: events as the public call tells them, and what workers were seen doing. Standard library only."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tests.faults.kit.evidence import Evidence, Finding, Line, Story

NEW_EPOCH = {"rolled-back", "rewound", "amended", "configured", "cancelled", "redacted"}


def events_of(stories: list[Story]) -> dict[int, list[Line]]:
    """Events by life, in order, each once."""
    found: dict[int, dict[str, Line]] = defaultdict(dict)
    for story in stories:
        for line in story.lines:
            if line["e"] == "event":
                found[line["life"]][line["id"]] = line
    return {life: sorted(lines.values(), key=_order) for life, lines in found.items()}


def _order(event: Line) -> tuple[int, int]:
    at, _, number = event["id"].partition("-")
    return int(at), int(number)


def commits(stories: list[Story], by: str) -> int:
    """Generations that were committed by workers or hosts, and not lost again."""
    events = [event for life in events_of(stories).values() for event in life if event["kind"] == "committed"]
    return sum(event["fields"]["by"] == by for event in events)


def judge_events(evidence: Evidence, session: str, stories: list[Story]) -> Iterator[Finding]:
    """No number twice, one full winner on a base in an epoch, nobody commits for an epoch or with a claim that is over."""
    by = _fences(evidence, session)
    for life, events in events_of(stories).items():
        numbers: Counter[int] = Counter()
        winners: Counter[tuple[int, int]] = Counter()
        epoch, fence, stale = 0, 0, False
        for event in events:
            kind, fields = event["kind"], event["fields"]
            if kind in NEW_EPOCH:
                epoch, stale = epoch + 1, True
            elif kind == "claimed":
                fence, stale = fields["fence"], False
            elif kind == "committed":
                number = fields["generation"]
                numbers[number] += 1
                if numbers[number] > 1:
                    yield Finding("double commit", session, f"generation {number} of life {life} twice")
                if not fields["provisional"]:
                    winners[epoch, fields["base"]] += 1
                    if winners[epoch, fields["base"]] > 1:
                        yield Finding(
                            "double commit", session, f"two winners on generation {fields['base']}, life {life}"
                        )
                if fields["by"] != "worker":
                    continue
                if stale:
                    yield Finding("double commit", session, f"generation {number} is of an epoch that was over")
                known = by.get((life, number))
                if fence and known and fence not in known:
                    yield Finding("double commit", session, f"generation {number} came without the claim {fence}")


def _fences(evidence: Evidence, session: str) -> dict[tuple[int, int], set[int]]:
    """(life, number) -> fences under which a worker was told that it committed, and the server has not forgotten it.

    Where it has, another one may have got the number, and may have been killed before it was told.
    """
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for line in evidence.workers:
        told = line.get("session") == session and line["step"] == "after commit" and line["got"] == "committed"
        if told and not evidence.forgotten(line["t"]):
            found[line["incarnation"], line["number"]].add(line["fence"])
    return found


def judge_workers(evidence: Evidence) -> Iterator[Finding]:
    """No generation was committed by two jobs."""
    told: dict[tuple[str, int, int], Line] = {}
    for line in evidence.workers:
        if line["step"] != "after commit" or line["got"] != "committed":
            continue
        key = line["session"], line["incarnation"], line["number"]
        first = told.setdefault(key, line)
        if first is not line and not evidence.lost_between(first["t"], line["t"]):
            yield Finding(
                "double commit", line["session"], f"two jobs were told they committed generation {line['number']}"
            )


def lease_losses(evidence: Evidence) -> int:
    """Claims on a session that somebody alive had not given back."""
    claims: dict[tuple[str, int], list[Line]] = defaultdict(list)
    finished = {
        (line["session"], line["incarnation"], line["fence"]) for line in evidence.workers if line["step"] == "finish"
    }
    killed: dict[str, list[float]] = defaultdict(list)
    for fault in evidence.faults:
        if fault["kind"] == "worker SIGKILL":
            killed[fault["worker"]].append(fault["t"])
    for line in evidence.workers:
        if line["step"] == "claim":
            claims[line["session"], line["incarnation"]].append(line)
    lost = 0
    for lines in claims.values():
        for before, after in pairwise(lines):
            done = (before["session"], before["incarnation"], before["fence"]) in finished
            died = any(before["t"] <= t <= after["t"] for t in killed[before["worker"]])
            lost += not done and not died
    return lost
