"""Views of our own recorded session, made by the engine alone. `python -m tests.golden.views` records them again.

A difference is not a failure by itself: it says that the same log gives another view than before. Look at it, and
record again if it is meant.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from offturn_config.presets import load
from offturn_engine.compaction import NOTHING, Compaction, PhaseEnd, Sections
from offturn_engine.draft import Candidate
from offturn_engine.formats import get
from offturn_engine.plan import PruneOnly, Skip, apply, emergency, plan
from offturn_worker.demo.recorded import recording

FILE = Path(__file__).parent / "views.json"
WINDOW = 40_000
WORDS = Sections(titles=("Goal", "Done"), bodies=("- repair minus()", "- found the cause"))


def views() -> dict[str, Any]:
    """A threshold compaction, a phase end, an iterative update, and an emergency, each as data."""
    fmt = get("openai-chat")
    played = recording()
    path = [fmt.parse(raw, index=i).placed(i) for i, raw in enumerate(played.messages)]
    limits = load().limits(WINDOW)
    phase = played.phases[0].after + 1
    made: dict[str, Any] = {}
    base = NOTHING
    for name, end, reason, words in (
        ("threshold", phase * 2 // 3, "threshold", Sections()),
        ("phase", phase, "phase", WORDS),
        ("update", len(path), "manual", Sections()),
    ):
        told = (PhaseEnd(seq=end - 1, note=""),) if reason == "phase" else ()
        planned = plan(path[:end], base, fmt, policy=load(), limits=limits, reason=reason, phases=told)  # type: ignore[arg-type]
        assert not isinstance(planned, Skip), name
        candidate = planned.candidate if isinstance(planned, PruneOnly) else apply(planned, words)
        made[name] = described(candidate)
        base = candidate.compaction.model_copy(update={"number": base.number + 1})
    made["emergency"] = described(emergency(path, NOTHING, fmt, policy=load(), limits=limits))
    return made


def described(candidate: Candidate) -> dict[str, Any]:
    """What matters of a view: its record, the summary's text, and which message shows as what."""
    record: Compaction = candidate.compaction
    return {
        "method": record.method,
        "covered": [list(pair) for pair in record.covered],
        "replay": record.replay,
        "tokens": [record.tokens_before, record.tokens_after],
        "audit": record.audit.model_dump(exclude={"lost", "mutated", "kinds", "not_kept"}),
        "concessions": record.concessions,
        "items": [f"{item.kind} {item.seq}" for item in candidate.rendering.items],
        "edits": [[edit.seq, edit.part, edit.rule, edit.text] for edit in record.edits],
        "summary": record.summary.splitlines(),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(views(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
