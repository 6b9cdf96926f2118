"""A policy: what to keep, when to start and how small to get, as a frozen, validated value.

Shares are fractions of the context window unless a field says otherwise; sizes are tokens (estimated, see
`offturn_engine.tokens`). Source of the parameters and of the default values: the `balanced` policy of `docs/design.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from offturn_config.errors import InvalidPolicy

Share = Annotated[float, Field(gt=0, lt=1)]
Tokens = Annotated[int, Field(ge=0)]

SMALLEST_WINDOW = 256
SHORTEST_TTL = 60  # seconds
LONGEST_TTL = 10 * 365 * 24 * 3600
LARGEST_RESULT = 10_000  # tokens one tool result may add between the soft level and the end of the window


class Group(BaseModel):
    """A named group of parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Trigger(Group):
    """When a compaction is wanted."""

    soft: Share = Field(description="view size from which a compaction is wanted in the background")
    hard: Share = Field(
        description="view size from which holds are ignored and a worker does without the model; no view waits in this version"
    )
    phase: bool = Field(description="phase_done() asks for a compaction")
    phase_minimum: Share = Field(description="smallest view for which a phase end is worth one")
    minimum_growth: Share = Field(
        description="growth before an automatic trigger fires again after no gain or a rollback"
    )


class Size(Group):
    """How small the view should get."""

    target: Share = Field(description="goal for the view after a compaction")
    ceiling: Share = Field(description="a compacted view is never published above this, unless the tail alone is")
    minimum_gain: Share = Field(description="share of the view that must be saved, else nothing is published")


class Prune(Group):
    """What is cut without a model."""

    style: Literal["one-line"] = Field(description="a cleared result becomes one line: tool, target, exit code, size")
    minimum_characters: int = Field(ge=0, description="results up to this length stay")
    failure_lines: int = Field(ge=0, description="lines of a failed result that stay, from its head and its tail each")
    argument_characters: int = Field(
        ge=0, description="strings in call arguments above this are shrunk inside the JSON"
    )
    deduplicate: bool = Field(description="of equal results only the newest stays")
    minimum_gain: Share = Field(
        description="share of the view pruning must free, else it is left alone (cache economics)"
    )


class Boundary(Group):
    """Where head, middle and tail part."""

    tail: Share = Field(description="newest messages that stay untouched, in whole groups")
    tail_minimum: Tokens = Field(description="the tail is at least this large, but at most a quarter of the window")
    tail_maximum: Tokens = Field(description="the tail is at most this large, whole groups apart")


class Human(Group):
    """What humans wrote inside the covered ranges, carried by code."""

    budget: Share = Field(description="room for human messages, verbatim; what does not fit is cut in its middle")
    minimum: Tokens = Field(description="the budget is at least this, but at most a quarter of the window")


class Summary(Group):
    """What the summarizer writes."""

    template: Literal["nine-section"] = Field(description="the sections asked for")
    budget: Share = Field(description="cap on the summarizer's output")
    minimum: Tokens = Field(description="the cap is at least this, but at most an eighth of the window")


class Ledger(Group):
    """Facts taken from the transcript by code."""

    budget: Share = Field(description="room for the ledger in the view")


class Bounds(Group):
    """How long and how large one session may get."""

    ttl: int = Field(
        default=0,
        ge=0,
        le=LONGEST_TTL,
        description="seconds without a write or a view after which the session is deleted; 0: never",
    )
    bytes: int = Field(
        default=256 * 1024 * 1024, ge=0, le=2**40, description="largest log; what goes beyond is refused; 0: no limit"
    )

    @field_validator("ttl")
    @classmethod
    def _outlives_a_call(cls, value: int) -> int:
        if 0 < value < SHORTEST_TTL:
            raise ValueError(f"use 0 (never) or at least {SHORTEST_TTL} seconds: a job must not outlive its session")
        return value


class Policy(Group):
    """One policy. Equal values have equal `hash`."""

    name: str
    about: str
    trigger: Trigger
    size: Size
    prune: Prune
    gate: Literal["if_above_target"] = Field(description="the model is asked only where pruning misses the target")
    boundary: Boundary
    human: Human
    summary: Summary
    ledger: Ledger
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
        return _limits(self, window, max_output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A policy resolved for a window; all tokens. A view must fit `usable` minus the overhead of system and tools."""

    window: int
    usable: int
    soft: int
    hard: int
    target: int
    ceiling: int
    phase_minimum: int
    minimum_growth: int
    tail: int
    human: int
    ledger: int
    summary: int


def parse_policy(values: Mapping[str, Any]) -> Policy:
    """A policy from plain values, all of them and no others. Raises InvalidPolicy naming each bad field."""
    try:
        return Policy.model_validate(dict(values))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))} = {e['input']!r}: {e['msg']}" for e in error.errors()[:5])
        raise InvalidPolicy(f"policy {values.get('name', '?')!r} cannot be loaded: {problems}") from None


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


def _limits(policy: Policy, window: int, max_output: int) -> Limits:
    usable = _usable(window, max_output)
    trigger, size, boundary = policy.trigger, policy.size, policy.boundary
    soft = min(int(window * trigger.soft), usable)
    limits = Limits(
        window=window,
        usable=usable,
        soft=soft,
        hard=max(min(int(window * trigger.hard), usable), soft),
        target=int(window * size.target),
        ceiling=int(window * size.ceiling),
        phase_minimum=int(window * trigger.phase_minimum),
        minimum_growth=max(1, int(window * trigger.minimum_growth)),
        tail=min(max(int(window * boundary.tail), boundary.tail_minimum), boundary.tail_maximum, window // 4),
        human=min(max(int(window * policy.human.budget), policy.human.minimum), window // 4),
        ledger=int(window * policy.ledger.budget),
        summary=min(max(int(window * policy.summary.budget), policy.summary.minimum), window // 8),
    )
    _refuse_impossible(policy, limits)
    return limits


def _usable(window: int, max_output: int) -> int:
    if window < SMALLEST_WINDOW:
        raise InvalidPolicy(f"window {window}: a context window has at least {SMALLEST_WINDOW} tokens")
    if max_output < 0:
        raise InvalidPolicy(f"max_output {max_output}: use 0 or more tokens")
    if max_output >= window:
        raise InvalidPolicy(
            f"window {window} minus max_output {max_output} leaves {window - max_output} tokens: "
            "give a larger window or a smaller max_output"
        )
    return window - max_output


def _refuse_impossible(policy: Policy, limits: Limits) -> None:
    name = f"policy {policy.name!r} with window {limits.window}"
    trigger, target, soft = policy.trigger, limits.target, limits.soft
    largest = min(LARGEST_RESULT, limits.window // 4)
    if trigger.soft >= trigger.hard:
        raise InvalidPolicy(f"{name}: trigger.soft {trigger.soft} must be below trigger.hard {trigger.hard}")
    if limits.tail > target:
        raise InvalidPolicy(
            f"{name}: the tail of {limits.tail} tokens is larger than the target of {target}: "
            "lower boundary.tail or raise size.target"
        )
    if not target < limits.ceiling <= soft:
        raise InvalidPolicy(
            f"{name}: need size.target < size.ceiling <= trigger.soft, got {target}, {limits.ceiling}, {soft} tokens: "
            "change one of them, or lower max_output"
        )
    if soft + limits.summary + largest > limits.window:
        raise InvalidPolicy(
            f"{name}: soft {soft} + summary {limits.summary} + one tool result of {largest} tokens exceed the window: "
            "lower trigger.soft"
        )
