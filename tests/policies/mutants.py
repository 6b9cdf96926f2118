"""For each rule of the named systems a parameter whose mutation its test must notice: (preset, path, mutated value)."""

from __future__ import annotations

MUTANTS: dict[str, tuple[str, str, object]] = {
    "C5": ("codex-remote", "remote.mode", "none"),
    "F2": ("five-step", "boundary.tail_messages", 2),
    "H6": ("hermes", "after.system_note", False),
    "H8": ("hermes", "after.cache", "none"),
    "K5": ("claude-code", "remote.provider_edits", False),
    "K8": ("claude-code", "after.restore_files", 2),
    "O3": ("opencode", "boundary.tail_messages", 100),
}
