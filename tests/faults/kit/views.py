"""The judge of views: every view a host was given against what that host had sent. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.faults.kit import wire
from tests.faults.kit.evidence import Evidence, Finding, Line, Story
from tests.faults.kit.replay import Played, end

HANG = 30.0  # seconds a call may take; its deadline is 2

_RECALL = re.compile(r"recall m(\d+)")


@dataclass(slots=True)
class Generations:
    """What is known of a session's generations, by life and number: covered ranges from the public call, and records."""

    told: dict[tuple[int, int], list[Line]] = field(default_factory=dict)
    records: dict[tuple[int, int], Line] = field(default_factory=dict)

    def take(self, line: Line) -> None:
        """A `gen` or `record` line."""
        if line["e"] == "gen":
            self.told.setdefault((line["life"], line["n"]), []).append(line)
        elif line["e"] == "record":
            self.records[line["life"], line["number"]] = line

    def at(self, view: Line) -> Line | None:
        """What was told of the view's generation, nearest in time."""
        lines = self.told.get((view["life"], view["g"]), [])
        return min(lines, key=lambda line: abs(line["t"] - view["t"]), default=None)


class ViewJudge:
    """All views of one session."""

    def __init__(self, evidence: Evidence, session: str, stories: list[Story]) -> None:
        self.evidence = evidence
        self.session = session
        self.stories = stories
        self.known = Generations()
        self.seqs: dict[str, int] = {}
        self.results: list[str] = []
        self.redactions = any(line["e"] == "redact" for story in stories for line in story.lines)
        self.summaries: dict[tuple[int, int], tuple[str, float]] = {}
        self.count = 0
        for story in stories:
            for line in story.lines:
                self.known.take(line)
                if line["e"] == "stored":
                    self.seqs[line["h"]] = line["seq"]
                elif line["e"] == "msg" and line.get("kind") == "result":
                    self.results.append(line["h"])
        self.final = {story.writer: end(story) for story in stories}
        self.moved = {h for final in self.final.values() for h in final.moved}
        self.redacted = {h for final in self.final.values() for h in final.redacted}

    def findings(self) -> Iterator[Finding]:
        """Of every view in every story."""
        for story in self.stories:
            played = Played()
            for line in story.lines:
                if line["e"] in {"view", "final"}:
                    self.count += 1
                    for rule, text in self._judge(story, played, line):
                        where = f"{text} (view of generation {line['g']}, life {line['life']}, t {line['t']:.2f})"
                        yield Finding(rule, self.session, where)
                    if line.get("seconds", 0) > HANG:
                        yield Finding("hang", self.session, f"a view took {line['seconds']:.0f} s")
                else:
                    played.take(line)

    def _judge(self, story: Story, played: Played, line: Line) -> Iterator[tuple[str, str]]:
        view = [self.evidence.messages[h] for h in line["hs"]]
        for problem in wire.problems(view):
            yield "invariant", problem
        summary = next((wire.texts(raw)[0] for raw in view if wire.is_summary(raw)), "")
        passing = line.get("passing", False) or self._was_passing(line, summary)
        if summary and not passing:
            yield from self._same_summary(line, summary)
        yield from self._nobodys(line, view, played, passing)
        yield from self._order(line, view)
        yield from self._gone(line, played)
        if not line.get("told") and not any(flying["e"] != "send" for flying in played.flying.values()):
            yield from self._accounted(line, view, played, summary, passing)
            if not story.shared and not passing:
                yield from self._last(line, view, played)

    def _was_passing(self, line: Line, summary: str) -> bool:
        """An emergency view that was made for one call and never committed: it covers more than its generation."""
        if line["kind"] != "emergency":
            return False
        told = self.known.at(line)
        return told is None or _ranges(told["covered"]) != (wire.covered(summary) or [])

    def _same_summary(self, line: Line, summary: str) -> Iterator[tuple[str, str]]:
        key = line["life"], line["g"]
        record = self.known.records.get(key)
        if record is not None and record["summary"] != summary and not self._forgets(line["t"], record["t"]):
            yield "altered", "the summary is not the one that is exported"
        text, t = self.summaries.setdefault(key, (summary, line["t"]))
        if text != summary:
            if not self._forgets(t, line["t"]):
                yield "altered", "the summary is not the one shown before"
            self.summaries[key] = summary, line["t"]

    def _forgets(self, start: float, end_: float) -> bool:
        return self.evidence.lost_between(start, end_)

    def _nobodys(self, line: Line, view: list[Any], played: Played, passing: bool) -> Iterator[tuple[str, str]]:
        """Every message is one that was sent, or recognisably made by offturn of one."""
        record = self.known.records.get((line["life"], line["g"]))
        stubs = {e.get("text") for e in record["edits"]} if record and not passing else None
        for h, raw in zip(line["hs"], view, strict=True):
            if h in self.evidence.kinds:
                if self.session not in _marker(raw):
                    yield "altered", f"message {h} is another session's"
                if h in self.final[self.evidence.senders[h]].redacted and line["e"] == "final":
                    yield "invariant", f"message {h} was redacted and is shown"
                continue
            if wire.is_restore(raw):
                yield from self._restored(line, raw, played)
                continue
            if wire.is_summary(raw) or (self.redactions and wire.is_tombstone(raw)):
                continue
            if wire.is_edited(raw):
                told = [text for text in wire.results(raw).values() if text.startswith(wire.STUBS)]
                exact = stubs is None or all(text in stubs for text in told)
                if not exact and record and not self._forgets(line["t"], record["t"]):
                    yield "altered", f"a stub is not the one that generation {line['g']} records"
                continue
            if any(_RECALL.search(text) and "characters omitted" in text for text in wire.texts(raw)):
                continue
            yield "altered", f"a message that nobody sent: {h}"

    def _restored(self, line: Line, raw: Any, played: Played) -> Iterator[tuple[str, str]]:
        """A file shown again is the result it names, from its start, and that result is still on the path."""
        told = wire.restored(raw)
        if told is None:
            yield "altered", "a restored file is not marked as the documents say"
            return
        seq, shown = told
        sources = [h for h in self.results if self._seq(h, played) in {seq, None} and self._begins(h, shown)]
        if not sources:
            yield "altered", f"what is restored from m{seq} is not what was sent"
        elif all(h in played.left and not self._forgets(played.left[h], line["t"]) for h in sources):
            yield "invariant", f"what is restored from m{seq} has left the path before"
        elif line["e"] == "final" and all(h in self.redacted for h in sources):
            yield "invariant", f"m{seq} was redacted and is restored"

    def _begins(self, h: str, shown: str) -> bool:
        return any(text.startswith(shown) for text in wire.results(self.evidence.messages[h]).values())

    def _gone(self, line: Line, played: Played) -> Iterator[tuple[str, str]]:
        """Not even while the store is away: the writer has been told that it is done."""
        for h in line["hs"]:
            if h in played.left and not self._forgets(played.left[h], line["t"]):
                yield "invariant", f"message {h} has left the path before and is shown"

    def _order(self, line: Line, view: list[Any]) -> Iterator[tuple[str, str]]:
        newest: dict[str, int] = {}
        shown: set[str] = set()
        for i, h in enumerate(line["hs"]):
            writer = self.evidence.senders.get(h)
            if writer is None or writer not in self.final:
                continue
            place = self.final[writer].order.get(h, -1)
            behind = next((raw for raw in reversed(view[:i]) if not wire.is_restore(raw)), None)
            replayed = behind is not None and wire.is_summary(behind) and self.evidence.kinds[h] == "human"
            if h in shown:
                yield "invariant", f"message {h} is shown twice"
            elif place < newest.get(writer, -1) and not replayed:
                yield "invariant", f"message {h} stands after a later one"
            shown.add(h)
            newest[writer] = max(place, newest.get(writer, -1))

    def _accounted(
        self, line: Line, view: list[Any], played: Played, summary: str, passing: bool
    ) -> Iterator[tuple[str, str]]:
        shown = set(line["hs"])
        answered = {call for raw in view for call in wire.results(raw)}
        covered = wire.covered(summary) if summary else []
        told = self.known.at(line)
        if told is not None and covered is not None and not passing and _ranges(told["covered"]) != covered:
            yield "altered", "the summary is about other messages than its generation covers"
        spoken, changing = Spoken(summary, view), played.touched
        for h in played.path[: line["have"]]:
            if h in shown or h in changing or h in self.redacted:
                continue
            raw = self.evidence.messages[h]
            # A stale view counts what waits for the store by seqs that the store gives to others meanwhile.
            seq = played.seqs.get(h) if line["stale"] else self._seq(h, played)
            if self.evidence.kinds[h] == "result" and set(wire.results(raw)) <= answered:
                continue
            inside = None if covered is None or seq is None else any(low <= seq < high for low, high in covered)
            if inside is False and not self._told_otherwise(view, seq):
                yield "lost", f"message {h} (seq {seq}) is neither shown nor covered"
            if self.evidence.kinds[h] == "human" and not spoken.has(raw, seq):
                yield "invariant", f"a human's words are neither shown nor named: {h} (seq {seq})"

    def _seq(self, h: str, played: Played) -> int | None:
        if h in self.moved or h in played.moved:
            return None
        return self.seqs.get(h, played.seqs.get(h))

    def _told_otherwise(self, view: list[Any], seq: int | None) -> bool:
        """As a late result, or cut in its middle."""
        told = "\n".join(
            text for raw in view for text in wire.texts(raw) if text.startswith(wire.LATE) or "omitted" in text
        )
        return f"m{seq}" in told

    def _last(self, line: Line, view: list[Any], played: Played) -> Iterator[tuple[str, str]]:
        path = played.path[: line["have"]]
        if not path or not view or not played.sure:
            return
        last, h = view[-1], line["hs"][-1]
        if h in {path[-1], *played.sending, *played.unsure, *played.path[line["have"] :]}:
            return
        if wire.is_edited(last) or wire.is_tombstone(last) or self.evidence.kinds.get(h) == "human":
            return
        if h in self.evidence.kinds and played.order.get(h, -1) > played.order.get(path[-1], -1):
            return
        if not wire.is_summary(last):
            yield "invariant", f"the view does not end with the path's last message {path[-1]}"


def _ranges(pairs: Any) -> list[tuple[int, int]]:
    return [(low, high) for low, high in pairs]


def _marker(raw: Any) -> str:
    return str(raw)


class Spoken:
    """The human words that a view shows or names."""

    def __init__(self, summary: str, view: list[Any]) -> None:
        self._named = wire.named(summary)
        self._text = "\n".join(text for raw in view for text in wire.texts(raw))

    def has(self, raw: Any, seq: int | None) -> bool:
        """Verbatim, or by handle; by any handle where the seq is not known."""
        if wire.texts(raw)[0] in self._text:
            return True
        return bool(self._named) if seq is None else any(low <= seq <= high for low, high in self._named)
