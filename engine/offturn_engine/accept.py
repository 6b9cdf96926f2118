"""May this candidate be published? Progress or nothing (invariant 7), and every promise holds."""

from __future__ import annotations

from dataclasses import dataclass

from offturn_engine.draft import Candidate
from offturn_engine.invariants import Shown, violations
from offturn_engine.outcome import TOO_DENSE
from offturn_engine.pins import missing
from offturn_engine.ranges import inside


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why not: `no_gain`, `too_dense` (human words gave way under a policy that never cuts them), `covers_less`, or the names of broken invariants (a bug of ours)."""

    reason: str
    broken: tuple[str, ...] = ()


def accept(candidate: Candidate, *, minimum_gain: float) -> Rejected | None:
    """None when the candidate may be committed. `minimum_gain` is a share of the base's view."""
    draft, record = candidate.draft, candidate.compaction
    if not inside(draft.base.covered, record.covered):
        return Rejected("covers_less")
    if record.tokens_before - record.tokens_after < record.tokens_before * minimum_gain:
        return Rejected("no_gain")
    if draft.human_rules.sacred and (record.audit.human_cut or record.audit.human_by_handle):
        return Rejected(TOO_DENSE)
    if missing(draft.path, record):
        return Rejected("broken_invariant", ("pinned",))
    broken = violations(Shown(draft.path, record, candidate.rendering, draft.fmt))
    return Rejected("broken_invariant", tuple(broken)) if broken else None
