"""Runs inside the kit's own environment: its sessions, its probes, its rounds. Compacting is asked of the parent process.

One JSON object per line. This process writes requests and, at the end, the figures; the parent answers each request
with the compacted text. Nothing of offturn is imported here, nothing of the kit there.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from typing import Any

from compaction_kit import compactors, semantic
from compaction_kit.canaries import CanaryType, seeded_canaries
from compaction_kit.compacted import CompactedContext
from compaction_kit.generated import build_generated_session
from compaction_kit.runner import run_conformance
from compaction_kit.session import SeededSession, Turn, build_seeded_session

PREFIX = re.compile(r"^(?:" + "|".join(kind.value.replace("_", " ").upper() for kind in CanaryType) + r"): ?")
PEERS = {
    "semantic-checklist": semantic.SemanticChecklistCompactor,
    "update-aware-checklist": compactors.UpdateAwareChecklistCompactor,
    "checklist-carrying": compactors.ChecklistCompactor,
    "pinned-rules": compactors.PinnedRulesCompactor,
    "naive-summary": compactors.NaiveSummaryCompactor,
    "summary-plus-tail": compactors.SummaryTailCompactor,
    "lossy-truncation": compactors.LossyTruncationCompactor,
}


class Asked:
    """The kit's protocol; the parent does the work."""

    name = "offturn"

    def compact(self, turns: Any, round_num: int = 1, budget_chars: int | None = None) -> CompactedContext:
        said = [{"role": turn.role, "text": turn.text} for turn in turns]
        tell({"turns": said, "round": round_num, "budget": budget_chars})
        return CompactedContext(json.loads(sys.stdin.readline())["text"], self.name, round_num)


def tell(value: Any) -> None:
    print(json.dumps(value), flush=True)


def stripped(session: SeededSession) -> SeededSession:
    """The session without the type that the kit writes before each planted sentence."""
    return replace(session, turns=tuple(replace(turn, text=PREFIX.sub("", turn.text)) for turn in session.turns))


def figures(name: str, seed: int | None, cap: float | None, strip: bool, rounds: int) -> dict[str, Any]:
    """One run: which canaries were there after each round, by type; how many stale values the last text still holds."""
    session, canaries = (build_seeded_session(), seeded_canaries()) if seed is None else build_generated_session(seed)
    compactor = Asked() if name == "offturn" else PEERS[name]()
    run = run_conformance(
        stripped(session) if strip else session, compactor, rounds=rounds, canaries=canaries, budget_fraction=cap
    )
    last = run.rounds[-1]
    stale = [token for canary in canaries for token in canary.superseded_tokens]
    return {
        "compactor": name,
        "seed": seed,
        "cap": cap,
        "stripped": strip,
        "kept": [sum(r.survived.values()) for r in run.rounds],
        "of": len(canaries),
        "types": [r.survival_by_type for r in run.rounds],
        "within": all(r.within_budget for r in run.rounds),
        "share": last.output_chars / run.rounds[0].input_chars,
        "stale": sum(token.lower() in last.context.text.lower() for token in stale),
        "lost": [canary.content for canary in canaries if not last.survived[canary.id]],
    }


def compacted(name: str, turns: list[dict[str, str]], budget: int, rounds: int) -> str:
    """What one of the kit's compactors makes of other turns, its own text handed back each round."""
    now = [Turn(turn["role"], turn["text"]) for turn in turns]
    for number in range(1, rounds + 1):
        now = [Turn("system", PEERS[name]().compact(now, round_num=number, budget_chars=budget).text)]
    return now[0].text


def main() -> None:
    for wanted in json.loads(sys.stdin.readline()):
        tell({"text": compacted(**wanted)} if "turns" in wanted else {"figures": figures(**wanted)})


main()
