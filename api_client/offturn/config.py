"""What the first record stores beside the log: the policy by value, the format and the model's sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from pydantic import ValidationError

from offturn.store.errors import UnknownVersion, readable
from offturn.store.state import Bounds, Pace
from offturn_config.errors import InvalidPolicy, InvalidSetting
from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_config.presets import stored
from offturn_engine.formats import get
from offturn_engine.formats.base import Format
from offturn_engine.tokens import Calibration, prior
from offturn_engine.triggers import OFF, Thresholds, in_estimates, thresholds

Adopt = Literal["group", "turn", "never"]

VERSION = 1
DEFAULT_WINDOW = 128_000
ANY_WINDOW = 1_000_000_000
"""Larger than any model's: for looking at a session as it is, not for sending."""

LARGEST_DEFAULT_OUTPUT = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig:
    """Sizes in real tokens. `max_output` is reserved for the answer. `pins`: seqs of pinned messages, ascending."""

    format: str
    policy: Policy
    model: str | None
    window: int
    max_output: int
    adopt: Adopt
    pins: tuple[int, ...] = ()

    @property
    def limits(self) -> Limits:
        """Real tokens. Raises InvalidPolicy where policy and window cannot work together."""
        return self.policy.limits(self.window, self.max_output)

    @property
    def bounds(self) -> Bounds:
        """What the session may not go beyond, as the store has it."""
        return self.policy.session.ttl * 1000, self.policy.session.bytes, self.policy.failure.too_dense

    def pace(self, calibration: Calibration) -> Pace:
        """How often automatic work may start, and after what silence, as the store has it."""
        trigger = self.policy.trigger
        sizes, on = self.estimates(calibration), trigger.enabled
        idle, step = (trigger.idle_seconds * 1000, sizes.step) if on else (0, 0)
        return trigger.most_per_hour, trigger.minimum_interval * 1000, idle, sizes.idle_floor, step

    def to_json(self) -> str:
        """For the store."""
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps({**values, "v": VERSION, "policy": self.policy.model_dump()})

    def onto(self, stored: str) -> str:
        """The same, with what another release keeps in `stored` and this one does not know."""
        old, new = json.loads(stored), json.loads(self.to_json())
        policy = new["policy"]
        if old["policy"]["name"] == policy["name"]:
            groups = {name: group for name, group in old["policy"].items() if isinstance(group, dict)}
            policy |= {name: {**group, **policy.get(name, {})} for name, group in groups.items()}
        return json.dumps({**old, **new})

    @classmethod
    def from_json(cls, text: str) -> SessionConfig:
        """From the store. Raises UnknownVersion, StoreFault."""
        return _read(text)

    def sized(self, window: int | None, max_output: int | None) -> SessionConfig:
        """The same for one call with another window or output; None: as the session has it. Raises InvalidSetting."""
        size = self.window if window is None else window
        reserved = reserved_output(size, max_output)
        if max_output is None:
            reserved = self.max_output if window is None else min(self.max_output, reserved)
        return replace(self, window=size, max_output=reserved)

    def resized(self, window: int) -> SessionConfig:
        """The same for another window, for good: an output that was the default is the new window's. Raises InvalidSetting."""
        reserved = reserved_output(window, None)
        if self.max_output != reserved_output(self.window, None):
            reserved = min(self.max_output, reserved)
        return replace(self, window=window, max_output=reserved)

    def output_of(self, window: int) -> int:
        """What to keep free for the answer in a smaller window: what the host has set, at most half, else the default."""
        if self.max_output == reserved_output(self.window, None):
            return reserved_output(window, None)
        return min(self.max_output, window // 2)

    def within(self, window: int) -> SessionConfig:
        """The policy's sizes for a smaller window; those of this one where the policy cannot work with that."""
        smaller = self.sized(window, None)
        try:
            smaller.limits  # noqa: B018 -- asked whether it raises
        except InvalidPolicy:
            return self
        return smaller

    def differences(self, other: SessionConfig) -> list[str]:
        """Names of what is not the same in both, of what a handle is opened with."""
        names = (field.name for field in fields(self) if field.name != "pins")
        return [name for name in names if getattr(self, name) != getattr(other, name)]

    def calibration(self, stored: str | None) -> Calibration:
        """What the session has learnt, else the prior of the model's family, as where that is damaged."""
        return _calibration(stored, self.model)

    @property
    def fmt(self) -> Format:
        """The session's format, which measures messages as its policy says."""
        return get(self.format, self.policy.trigger.estimator)

    def estimates(self, calibration: Calibration) -> Limits:
        """The limits in estimate units."""
        return in_estimates(self.limits, calibration, self.policy.trigger.estimator)

    def thresholds(self, calibration: Calibration) -> Thresholds:
        """Trigger levels in estimate units, as the store compares them."""
        return thresholds(self.estimates(calibration)) if self.policy.trigger.enabled else OFF


def checked_adopt(adopt: Adopt) -> Adopt:
    """The same. Raises InvalidSetting for a word that is none of the three."""
    if adopt not in get_args(Adopt):
        raise InvalidSetting(f"adopt {adopt!r}: use 'group', 'turn' or 'never'")
    return adopt


def checked_model(model: object) -> str | None:
    """The same. Raises InvalidSetting for what is no text."""
    if model is not None and not isinstance(model, str):
        raise InvalidSetting(f"model is a {type(model).__name__}: use its name, such as 'anthropic:claude-opus-5-5'")
    return model


def reserved_output(window: int, max_output: int | None) -> int:
    """What is kept free for the answer: as given, else an eighth of the window, at most 8,192.

    Raises InvalidSetting where one is no whole number, or the window is larger than ANY_WINDOW: the store could not count it.
    """
    sizes: tuple[tuple[str, object], ...] = (("window", window), ("max_output", max_output))
    for name, value in sizes:
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise InvalidSetting(f"{name} {value!r:.40}: use a whole number of tokens, such as 128000")
    if window > ANY_WINDOW:
        raise InvalidSetting(f"window {window!r:.40}: use at most {ANY_WINDOW} tokens")
    return min(window // 8, LARGEST_DEFAULT_OUTPUT) if max_output is None else max_output


@lru_cache(maxsize=256)  # a host asks at every call
def _calibration(stored: str | None, model: str | None) -> Calibration:
    with suppress(ValidationError):
        if stored:
            return Calibration.model_validate_json(stored)
    return Calibration(factor=prior(model))


@lru_cache(maxsize=64)
def _read(text: str) -> SessionConfig:
    with readable("what is stored of the session's settings"):
        values: Mapping[str, Any] = json.loads(text)
        version = values["v"]
    if version != VERSION:
        raise UnknownVersion(f"the session's settings have version {version}, this release reads {VERSION}: upgrade")
    with readable("what is stored of the session's settings"):
        return SessionConfig(
            format=values["format"],
            policy=stored(values["policy"]),
            model=values.get("model"),
            window=values["window"],
            max_output=values["max_output"],
            adopt=values.get("adopt", "group"),
            pins=tuple(values.get("pins", ())),
        )
