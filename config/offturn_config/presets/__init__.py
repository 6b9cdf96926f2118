"""The presets: one TOML file each, so that adding a policy needs no code."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from offturn_config.errors import UnknownPolicy
from offturn_config.policy import Policy, parse_policy

DEFAULT = "balanced"


def names() -> list[str]:
    """Names of all presets, sorted."""
    return sorted(f.name.removesuffix(".toml") for f in files(__name__).iterdir() if f.name.endswith(".toml"))


@cache
def _preset(name: str) -> Policy:
    if name not in names():
        raise UnknownPolicy(f"unknown policy {name!r}: choose one of {', '.join(names())}")
    return parse_policy(tomllib.loads((files(__name__) / f"{name}.toml").read_text(encoding="utf-8")))


def load(name: str = DEFAULT, overrides: Mapping[str, Any] | None = None) -> Policy:
    """A preset by name, with overrides. Raises UnknownPolicy or InvalidPolicy."""
    policy = _preset(name)
    return policy.override(overrides) if overrides else policy


def stored(values: Mapping[str, Any]) -> Policy:
    """A policy another release may have stored: what it did not know is the preset's, what it knew more is dropped.

    Raises InvalidPolicy.
    """
    name = str(values.get("name"))
    known = load(name if name in names() else DEFAULT).model_dump()
    for field, value in values.items():
        if isinstance(known.get(field), dict) and isinstance(value, Mapping):
            known[field] |= {key: one for key, one in value.items() if key in known[field]}
        elif field in known:
            known[field] = value
    return parse_policy(known)
