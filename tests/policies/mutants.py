"""Mutations of presets for each rule: its tests must fail under each of them."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """A preset with another value of one parameter."""

    rule: str
    preset: str
    path: str
    value: object


MUTANTS = (
    Mutant("C5", "codex-remote", "remote.mode", "none"),
    Mutant("F2", "five-step", "boundary.tail_messages", 2),
    Mutant("H6", "hermes", "after.system_note", False),
    Mutant("H8", "hermes", "after.cache", "none"),
    Mutant("K8", "claude-code", "after.restore_files", 2),
    Mutant("O3", "opencode", "boundary.tail_messages", 100),
    Mutant("H1", "hermes", "trigger.hard", 0.90),
    Mutant("H2", "hermes", "boundary.tail", 0.10),
    Mutant("H3", "hermes", "prune.minimum_characters", 2_000),
    Mutant("H4", "hermes", "boundary.head_messages", 3),
    Mutant("H5", "hermes", "summary.ratio", 0.50),
    Mutant("H7", "hermes", "summary.template", "handoff"),
    Mutant("H9", "hermes", "boundary.tail_messages", 30),
    Mutant("C1", "codex", "prune.style", "one-line"),
    Mutant("C2", "codex", "human.placement", "block"),
    Mutant("C3", "codex", "trigger.soft", 0.80),
    Mutant("C4", "codex", "summary.trim", False),
    Mutant("K1", "claude-code", "tiers.enabled", False),
    Mutant("K2", "claude-code", "prune.protected_results", 4),
    Mutant("K3", "claude-code", "prune.side_effects", False),
    Mutant("K4", "claude-code", "prune.order", "oldest"),
    Mutant("K5", "claude-code", "tiers.clear_uses", False),
    Mutant("K5", "claude-code", "remote.provider_edits", False),
    Mutant("K6", "claude-code", "summary.template", "nine-section"),
    Mutant("K7", "claude-code", "human.budget", 20_000),
    Mutant("K9", "claude-code", "failure.reactive", 2),
    Mutant("K10", "claude-code", "trigger.pct_override", 60),
    Mutant("K11", "claude-code-3layer", "prune.when", "threshold"),
    Mutant("O1", "opencode", "prune.never", ()),
    Mutant("O2", "opencode", "summary.template", "anchored"),
    Mutant("O4", "opencode-1.17", "summary.result_characters", 4_000),
    Mutant("F1", "five-step", "trigger.soft_tokens", 150_000),
    Mutant("F3", "five-step", "summary.template", "five-section"),
    Mutant("F4", "five-step", "prune.style", "one-line"),
    Mutant("F5", "five-step", "ledger.budget", 0.05),
    Mutant("F6", "five-step", "trigger.minimum_growth", 0.01),
    Mutant("A1", "balanced", "audit.constraints", 0.0),
    Mutant("A2", "balanced", "audit.others", 0.0),
    Mutant("B1", "hermes-0.19", "prune.style", "placeholder"),
    Mutant("B2", "hermes-lean", "summary.one_call", False),
)
