"""One mutation of a preset for each rule: its tests must fail under it.

rule id -> (preset, path of the parameter, another value)
"""

from __future__ import annotations

MUTANTS: dict[str, tuple[str, str, object]] = {
    "H3": ("hermes", "prune.minimum_characters", 2_000),
    "C1": ("codex", "prune.style", "one-line"),
    "K1": ("claude-code", "tiers.enabled", False),
    "K2": ("claude-code", "prune.protected_results", 4),
    "K3": ("claude-code", "prune.side_effects", False),
    "K4": ("claude-code", "prune.order", "oldest"),
    "K5": ("claude-code", "tiers.clear_uses", False),
    "K11": ("claude-code-3layer", "prune.when", "threshold"),
    "O1": ("opencode", "prune.never", ()),
    "F4": ("five-step", "prune.style", "one-line"),
    "B1": ("hermes-0.19", "prune.style", "placeholder"),
}
