"""Histories for the tests of policy rules: raw openai-chat messages by short names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_engine.compaction import NOTHING, Compaction, Reason
from offturn_engine.draft import Candidate
from offturn_engine.formats import get
from offturn_engine.formats.base import Format
from offturn_engine.invariants import Shown, violations
from offturn_engine.messages import Json, Message
from offturn_engine.plan import Plan, PruneOnly, plan
from tests.engine.raws import Raw, human, says


def filler(tokens: int, about: str = "line") -> str:
    """A text of about so many tokens, the same by our estimate and by bytes / 4."""
    return f"{about}: " + "abcd.efgh " * (tokens * 4 // 10)


def used(name: str, arguments: Json, output: str, number: int, text: str = "") -> list[Raw]:
    """A call and its result."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": text or None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": output},
    ]


def reads(count: int, tokens: int, *, first: int = 0, name: str = "read") -> list[Raw]:
    """Groups of a read file of so many tokens each."""
    return [
        raw
        for i in range(first, first + count)
        for raw in used(name, {"path": f"f{i}.py"}, filler(tokens, f"file {i}"), i)
    ]


def turns(count: int, *, each: Sequence[Raw] = ()) -> list[Raw]:
    """Closed turns: a question, what was done, an answer."""
    return [raw for i in range(count) for raw in (human(f"question {i}"), *each, says(f"answer {i}"))]


def format_of(policy: Policy) -> Format:
    return get("openai-chat", policy.trigger.estimator)


def path_of(raws: Sequence[Raw], policy: Policy) -> list[Message]:
    fmt = format_of(policy)
    return [fmt.parse(raw, index=i).placed(i) for i, raw in enumerate(raws)]


def planned(
    path: Sequence[Message],
    policy: Policy,
    limits: Limits,
    *,
    base: Compaction = NOTHING,
    reason: Reason = "threshold",
    failures: int = 0,
) -> Plan:
    """The plan; a candidate keeps every promise and is smaller."""
    found = plan(path, base, format_of(policy), policy=policy, limits=limits, reason=reason, failures=failures)
    if isinstance(found, PruneOnly):
        sound(found.candidate)
    return found


def sound(candidate: Candidate) -> None:
    draft, record = candidate.draft, candidate.compaction
    assert violations(Shown(draft.path, record, candidate.rendering, draft.fmt)) == {}
    assert record.tokens_after <= record.tokens_before


def cleared(candidate: Candidate, text: str) -> list[int]:
    """Seqs of the results that became this text."""
    return [e.seq for e in candidate.compaction.edits if e.text == text]


def sized(limits: Limits, **changes: int) -> Limits:
    return replace(limits, **changes)
