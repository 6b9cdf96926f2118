"""What a policy's parameters are called, what they mean, and what they come to for one window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offturn_config.groups import Group
from offturn_config.limits import UNLIMITED, Limits
from offturn_config.policy import Policy

LIMIT_OF: Mapping[str, str] = {
    "trigger.soft": "soft",
    "trigger.soft_tokens": "soft",
    "trigger.buffer": "soft",
    "trigger.pct_override": "soft",
    "trigger.hard": "hard",
    "trigger.phase_minimum": "phase_minimum",
    "trigger.idle_floor": "idle_floor",
    "trigger.minimum_growth": "minimum_growth",
    "size.target": "target",
    "size.ceiling": "ceiling",
    "prune.protected_tokens": "protected",
    "boundary.tail": "tail",
    "boundary.tail_minimum": "tail",
    "boundary.tail_maximum": "tail",
    "human.budget": "human",
    "human.minimum": "human",
    "ledger.budget": "ledger",
    "summary.budget": "summary",
    "summary.minimum": "summary",
    "summary.maximum": "summary",
    "after.restore_file_tokens": "restore_file",
    "after.restore_tokens": "restore",
    "after.skill_tokens": "skills",
}
"""Which resolved size a parameter takes part in."""

OWN = frozenset({"name", "about"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of one policy. `tokens`: the size it comes to for the window; None where it is none."""

    path: str
    value: object
    meaning: str
    tokens: int | None


def paths() -> list[tuple[str, str]]:
    """(path, meaning) of every parameter, in the order of the groups."""
    found: list[tuple[str, str]] = []
    for field, info in Policy.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, Group):
            found += [(f"{field}.{name}", about.description or "") for name, about in kind.model_fields.items()]
        elif field not in OWN:
            found.append((field, info.description or ""))
    return found


def value_of(policy: Policy, path: str) -> object:
    """The value at a path such as `trigger.soft`."""
    value: object = policy
    for name in path.split("."):
        value = getattr(value, name)
    return value


def parameters(policy: Policy, limits: Limits) -> list[Parameter]:
    """Every parameter of a policy, with what it comes to under these limits."""
    rows: list[Parameter] = []
    for path, meaning in paths():
        value = value_of(policy, path)
        size = getattr(limits, LIMIT_OF[path]) if path in LIMIT_OF and value is not None else None
        rows.append(Parameter(path, value, meaning, None if size == UNLIMITED else size))
    return rows


def shown(value: object) -> str:
    """A value for people: `-` for none, lists joined."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "-"
    return f"{value:,}" if isinstance(value, int) else str(value)
