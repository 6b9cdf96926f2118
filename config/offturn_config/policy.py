"""A policy: what to keep, when to start and how small to get, as a frozen, validated value.

Adding one needs no code: a TOML file in `presets` fills the groups of `offturn_config.groups`.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

from pydantic import Field, ValidationError

from offturn_config.errors import InvalidPolicy
from offturn_config.groups import (
    After,
    Audit,
    Boundary,
    Bounds,
    Failure,
    Group,
    Human,
    Ledger,
    Prune,
    Remote,
    Size,
    Summary,
    Tiers,
    Trigger,
)
from offturn_config.limits import Limits, resolve

NESTED = 2  # a parameter's path is its group and its name; what follows names types and places inside it
MOST_PROBLEMS = 5


class Policy(Group):
    """One policy. Equal values have equal `hash`."""

    name: str = Field(description="what hosts choose it by")
    about: str = Field(description="what it does, in a sentence")
    trigger: Trigger
    size: Size
    prune: Prune
    gate: Literal["always_summarise", "if_above_trigger", "if_above_target"] = Field(
        description="when the model is asked: always; or where pruning misses the soft level, or the target"
    )
    boundary: Boundary
    human: Human
    summary: Summary
    ledger: Ledger
    audit: Audit = Audit()
    tiers: Tiers = Tiers()
    after: After = After()
    failure: Failure = Failure()
    remote: Remote = Remote()
    session: Bounds = Bounds()

    @property
    def hash(self) -> str:
        """16 hex digits over all parameters."""
        return sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def override(self, overrides: Mapping[str, Any]) -> Policy:
        """The policy with `{"trigger.soft": 0.5}` or `{"trigger": {"soft": 0.5}}` put in. Raises InvalidPolicy."""
        values = self.model_dump()
        for path, value in _flat(overrides):
            *groups, field = path.split(".")
            place: Any = values
            for group in groups:
                place = place.get(group) if isinstance(place, dict) else None
            if not isinstance(place, dict) or field not in place:
                raise InvalidPolicy(
                    f"policy {self.name!r} has no parameter {path!r}: see `offturn policies show {self.name}`"
                )
            place[field] = value
        return parse_policy(values)

    def limits(self, window: int, max_output: int = 0) -> Limits:
        """The policy in tokens for one model: window and reserved output. Raises InvalidPolicy with the numbers."""
        return resolve(self, window, max_output)


def parse_policy(values: Mapping[str, Any]) -> Policy:
    """A policy from plain values, all of them and no others. Raises InvalidPolicy naming each bad field."""
    try:
        return Policy.model_validate(dict(values))
    except ValidationError as error:
        raise InvalidPolicy(f"policy {values.get('name', '?')!r} cannot be loaded: {_problems(error)}") from None


def _problems(error: ValidationError) -> str:
    """Each bad parameter once, with its value and what it may be: where it has several types, what each of them wants."""
    found: dict[str, tuple[str, list[str]]] = {}
    for one in error.errors():
        path = ".".join(str(step) for i, step in enumerate(one["loc"]) if i < NESTED or isinstance(step, int))
        wants = one["msg"].removeprefix("Value error, ")
        found.setdefault(path, (repr(one["input"]), []))[1].append(wants)
    shown = list(found.items())[:MOST_PROBLEMS]
    return "; ".join(f"{path} = {value}: {', or: '.join(wants)}" for path, (value, wants) in shown)


def _flat(overrides: object, prefix: str = "") -> list[tuple[str, Any]]:
    if not isinstance(overrides, Mapping):
        raise InvalidPolicy(
            f'overrides are a {type(overrides).__name__}: give a mapping such as {{"trigger.soft": 0.5}}'
        )
    found: list[tuple[str, Any]] = []
    for key, value in overrides.items():
        if not isinstance(key, str):
            raise InvalidPolicy(f"overrides: {key!r:.40} names no parameter: use text such as 'trigger.soft'")
        if isinstance(value, Mapping):
            found.extend(_flat(value, f"{prefix}{key}."))
        else:
            found.append((prefix + key, value))
    return found
