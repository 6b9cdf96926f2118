"""The judge: `python -m tests.faults.kit.judge FOLDER` reads what a run left behind and says what went wrong.

It imports nothing of offturn and nothing that is not in the standard library. Its evidence: what hosts wrote down before
and after each call, the views they were given, exports and events by the public calls, the provider's book, the list
of faults, and what workers were seen doing. One JSON object on standard output; exit status 1 for any finding.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.faults.kit.evidence import Evidence, Finding, Line, Story, load
from tests.faults.kit.protocol import commits, judge_events, judge_workers, lease_losses
from tests.faults.kit.replay import Played, end
from tests.faults.kit.views import ViewJudge

SHOWN = 40  # findings

MARK = re.compile(r"ref-[\w-]+")
"""The word in each message that no other message holds."""


def judge(evidence: Evidence) -> tuple[list[Finding], Counter[str]]:
    """All findings, and counts of what was looked at."""
    findings: list[Finding] = []
    counts: Counter[str] = Counter()
    for session, stories in evidence.of_session().items():
        views = ViewJudge(evidence, session, stories)
        findings += views.findings()
        counts["views"] += views.count
        findings += judge_ends(evidence, session, stories)
        findings += judge_events(evidence, session, stories)
        counts["generations"] += commits(stories, "worker")
        counts["emergencies"] += commits(stories, "host")
        counts["overflows"] += sum(line["e"] == "overflow" for s in stories for line in s.lines)
        counts["messages"] += sum(line["e"] == "ack" and "seqs" in line for s in stories for line in s.lines)
        counts["sessions"] += 1
    findings += judge_workers(evidence)
    findings += judge_calls(evidence, counts)
    return findings, counts


def judge_ends(evidence: Evidence, session: str, stories: list[Story]) -> Iterator[Finding]:
    """What is stored at the end is what was acknowledged, once, in order, unaltered; nothing is due."""
    played = {story.writer: end(story) for story in stories}
    for story in stories:
        for line in story.lines:
            if line["e"] == "unexpected":
                yield Finding("told", session, f"a host got {line['error']}: {line.get('text', '')}")
        yield from _judge_end(evidence, story, played)


def _judge_end(evidence: Evidence, story: Story, played: dict[str, Played]) -> Iterator[Finding]:
    session, mine = story.session, played[story.writer]
    raw = _last(story, "raw")
    status = _last(story, "status")
    if raw is None or status is None:
        yield Finding("lost", session, "the host never came to its end")
        return
    yield from _path_kept(evidence, story, mine, raw["hs"])
    stored = Counter(line["h"] for line in story.lines if line["e"] == "stored")
    for h, times in stored.items():
        if times > 1 and h in evidence.kinds:
            yield Finding("double", session, f"message {h} is stored {times} times")
        if h not in evidence.kinds and not any(p.redacted for p in played.values()):
            yield Finding("altered", session, f"message {h} is stored and was sent by nobody")
    for h in sorted(mine.ever - mine.redacted - set(stored)):
        yield Finding("lost", session, f"message {h} was acknowledged and is not in the export")
    for h in sorted(mine.redacted):
        words = MARK.search(str(evidence.messages[h]))
        if h in stored or (words and words[0] in evidence.keyspace):
            yield Finding("redacted", session, f"message {h} was redacted and is in the store")
    if status["due"] or status["running"]:
        yield Finding("due", session, "still due after the faults had stopped")
    asked = {(line["life"], line["no"]): line["t"] for line in story.lines if line["e"] == "ticket"}
    for line in story.lines:
        waits = line["e"] == "served" and line["state"] not in {"done", "gone"}
        if waits and not evidence.forgotten(asked[line["life"], line["no"]]):
            yield Finding("due", session, f"request {line['no']} was never served: {line['state']}")


def _path_kept(evidence: Evidence, story: Story, mine: Played, raw: list[str]) -> Iterator[Finding]:
    if not mine.sure:
        return
    there = [h for h in raw if evidence.senders.get(h) == story.writer]
    wanted = [h for h in mine.path if h not in mine.redacted]
    got = [h for h in there if h not in mine.unsure and h not in mine.sending and h not in mine.redacted]
    if got == wanted:
        return
    lost = [h for h in wanted if h not in set(got)]
    more = [h for h in got if h not in set(wanted)]
    twice = [h for h, times in Counter(got).items() if times > 1]
    for h in lost:
        yield Finding("lost", story.session, f"message {h} of writer {story.writer} is not in the transcript")
    for h in more:
        yield Finding("altered", story.session, f"message {h} is in the transcript and was taken back, or never sent")
    for h in twice:
        yield Finding("double", story.session, f"message {h} is in the transcript twice")
    if not lost and not more and not twice:
        yield Finding("altered", story.session, "the transcript is not in the order in which it was sent")


def judge_calls(evidence: Evidence, counts: Counter[str]) -> Iterator[Finding]:
    """Paid calls <= distinct chunks + kills + lease losses + scripted failures."""
    paid = [call["hash"] for call in evidence.calls if call["ending"] == "paid"]
    counts["paid calls"] = len(paid)
    counts["distinct chunks"] = len(set(paid))
    counts["scripted failures"] = sum(call["ending"] == "scripted" for call in evidence.calls)
    counts["calls whose client went away"] = sum(call["ending"] == "gone" for call in evidence.calls)
    kills = ("worker SIGKILL", "server SIGKILL", "last second lost")
    counts["kills"] = sum(fault["kind"] in kills for fault in evidence.faults)
    counts["lease losses"] = lease_losses(evidence)
    names = ("distinct chunks", "kills", "lease losses", "scripted failures")
    if len(paid) > sum(counts[name] for name in names):
        told = ", ".join(f"{counts[name]} {name}" for name in names)
        yield Finding("paid", "", f"{len(paid)} paid calls are more than {told} together")


def _last(story: Story, event: str) -> Line | None:
    return next((line for line in reversed(story.lines) if line["e"] == event), None)


def verdict(folder: Path) -> dict[str, Any]:
    """The verdict on a run as JSON values."""
    findings, counts = judge(load(folder))
    rules = Counter(finding.rule for finding in findings)
    return {"findings": [asdict(f) for f in findings[:SHOWN]], "rules": dict(rules), "counts": dict(counts)}


if __name__ == "__main__":
    said = verdict(Path(sys.argv[1]))
    sys.stdout.write(json.dumps(said, indent=1) + "\n")
    sys.exit(1 if said["rules"] else 0)
