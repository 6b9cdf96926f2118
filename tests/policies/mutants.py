"""One mutation of a preset for each rule: its tests must fail under it.

rule id -> (preset, path of the parameter, another value)
"""

from __future__ import annotations

MUTANTS: dict[str, tuple[str, str, object]] = {
    "C5": ("codex-remote", "remote.mode", "none"),
    "F2": ("five-step", "boundary.tail_messages", 2),
    "H6": ("hermes", "after.system_note", False),
    "H8": ("hermes", "after.cache", "none"),
    "K8": ("claude-code", "after.restore_files", 2),
    "O3": ("opencode", "boundary.tail_messages", 100),
    "H1": ("hermes", "trigger.hard", 0.90),
    "H2": ("hermes", "boundary.tail", 0.10),
    "H3": ("hermes", "prune.minimum_characters", 2_000),
    "H4": ("hermes", "boundary.head_messages", 3),
    "H5": ("hermes", "summary.ratio", 0.50),
    "H7": ("hermes", "summary.template", "handoff"),
    "H9": ("hermes", "boundary.tail_messages", 30),
    "C1": ("codex", "prune.style", "one-line"),
    "C2": ("codex", "human.placement", "block"),
    "C3": ("codex", "trigger.soft", 0.80),
    "C4": ("codex", "summary.trim", False),
    "K1": ("claude-code", "tiers.enabled", False),
    "K2": ("claude-code", "prune.protected_results", 4),
    "K3": ("claude-code", "prune.side_effects", False),
    "K4": ("claude-code", "prune.order", "oldest"),
    "K5": ("claude-code", "tiers.clear_uses", False),
    "K6": ("claude-code", "summary.template", "nine-section"),
    "K7": ("claude-code", "human.budget", 20_000),
    "K9": ("claude-code", "failure.reactive", 2),
    "K10": ("claude-code", "trigger.pct_override", 60),
    "K11": ("claude-code-3layer", "prune.when", "threshold"),
    "O1": ("opencode", "prune.never", ()),
    "O2": ("opencode", "summary.template", "anchored"),
    "O4": ("opencode-1.17", "summary.result_characters", 4_000),
    "F1": ("five-step", "trigger.soft_tokens", 150_000),
    "F3": ("five-step", "summary.template", "five-section"),
    "F4": ("five-step", "prune.style", "one-line"),
    "F5": ("five-step", "ledger.budget", 0.05),
    "F6": ("five-step", "trigger.minimum_growth", 0.01),
    "B1": ("hermes-0.19", "prune.style", "placeholder"),
    "B2": ("hermes-lean", "summary.one_call", False),
}
