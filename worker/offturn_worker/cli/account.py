"""What a compaction of a file did, as lines for people: kept, cleared, summarised, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from offturn_engine.ranges import label
from offturn_worker.cli.reasons import explained
from offturn_worker.offline import Result

NAMES = {
    "stub": "results cleared to one line",
    "duplicate": "duplicates of a later result cleared",
    "arguments": "arguments shrunk",
    "middle-cut": "texts cut in their middle",
}
"""Rules of edits, by what they did."""


def account(result: Result) -> list[str]:
    """The lines; nothing of the conversation is in them."""
    return [f"{name:<11} {text}" for name, text in _rows(result)]


def _rows(result: Result) -> Iterator[tuple[str, str]]:
    how = f" ({result.method})" if result.outcome == "compacted" else ""
    yield "outcome", f"{result.outcome}{how}{explained(result.reason)}"
    yield "messages", f"{result.messages_before:,} -> {len(result.messages):,}"
    yield "tokens", f"{result.tokens_before:,} -> {result.tokens_after:,} (estimates)"
    if result.outcome != "skipped":
        audit = result.record.audit
        covered = label(result.record.covered)
        yield "summarised", f"messages {covered}" if covered else "nothing"
        yield "edited", _counts({NAMES[rule]: count for rule, count in result.edits.items()}) or "nothing"
        if result.record.covered:
            human = {"word for word": audit.human_verbatim, "cut": audit.human_cut, "by handle": audit.human_by_handle}
            yield "human", f"of the summarised: {_counts(human) or 'none'}"
            gone = _counts({"lost": audit.lost, "changed by the summary": audit.mutated})
            yield "facts", f"{audit.kept:,} kept, {audit.recoverable:,} left out{gone and f', {gone}'}"
    for note in result.notes:
        yield "note", note


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
