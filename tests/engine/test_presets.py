"""Presets, and policies another release has stored."""

from __future__ import annotations

import pytest

from offturn_config.errors import InvalidPolicy, UnknownPolicy
from offturn_config.presets import load, names, stored


def test_a_policy_comes_back_as_it_was_stored() -> None:
    policy = load("balanced", {"trigger.soft": 0.5})

    assert stored(policy.model_dump()) == policy


def test_what_a_later_release_stored_more_is_dropped() -> None:
    values = load().model_dump()
    values["trigger"]["someday"] = 1
    values["newgroup"] = {"a": 1}

    assert stored(values) == load()


def test_what_an_earlier_release_did_not_store_is_the_presets() -> None:
    values = load("balanced", {"size.target": 0.2}).model_dump()
    del values["ledger"]
    del values["trigger"]["phase_minimum"]

    assert stored(values) == load("balanced", {"size.target": 0.2})


def test_a_preset_of_another_release_is_read_by_value() -> None:
    values = {**load().model_dump(), "name": "of-tomorrow"}

    assert stored(values).name == "of-tomorrow"
    assert "of-tomorrow" not in names()


def test_overrides_and_names_stay_strict() -> None:
    with pytest.raises(InvalidPolicy, match="someday"):
        load("balanced", {"trigger.someday": 1})
    with pytest.raises(UnknownPolicy, match="balanced"):
        load("nope")


@pytest.mark.parametrize(
    ("name", "overrides", "message"),
    [
        (
            "balanced",
            {"prune.deduplicate": False, "prune.deduplicate_tail": True},
            "does nothing without prune.deduplicate",
        ),
        ("balanced", {"boundary.tail_measured": "pruned"}, "gate = 'always_summarise'"),
        ("hermes-0.19", {"prune.style": "hidden"}, "a prune.style that edits"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(
    name: str, overrides: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidPolicy, match=message):
        load(name, overrides).limits(200_000)
