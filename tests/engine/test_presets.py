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


@pytest.mark.parametrize(
    ("name", "window", "output", "overrides", "problem", "remedy"),
    [
        (
            "balanced",
            4_000,
            3_990,
            {},
            "max_output 3990 leaves 10 tokens, fewer than 256",
            "give a larger window or a sm",
        ),
        ("balanced", 4_000, 3_700, {}, "tail of 1000 tokens is larger than the target of 300", "lower max_output"),
        ("balanced", 100_000, 90_000, {}, "head and tail of 10000 tokens leave nothing to cover", "lower max_output"),
        ("balanced", 100_000, 10_000, {"size.target": 0.05}, "tail of 10000 tokens", "lower boundary.tail or raise"),
        (
            "hermes",
            200_000,
            8_000,
            {"boundary.tail": 0.95},
            "tail of 95000 tokens is larger than the target",
            "lower b",
        ),
        ("codex", 64_000, 8_000, {}, "one tool result of 10000 tokens exceed the window", "lower trigger.soft"),
        (
            "hermes-0.19",
            70_000,
            0,
            {},
            "soft level of 59500",
            "lower trigger.minimum_soft_tokens or raise trigger.hard",
        ),
        (
            "hermes",
            100_000,
            0,
            {"trigger.soft": 0.9},
            "soft level of 90000",
            "lower trigger.soft or raise trigger.hard",
        ),
    ],
)
def test_a_refused_window_names_the_parameter_that_helps(
    name: str, window: int, output: int, overrides: dict[str, object], problem: str, remedy: str
) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        load(name, overrides).limits(window, output)
    told = str(refused.value)
    assert problem in told
    assert f": {remedy}" in told


def test_a_bad_value_is_named_once_by_its_parameter() -> None:
    with pytest.raises(InvalidPolicy) as refused:
        load("balanced", {"human.budget": -1, "failure.order": ["keep", "retry"]})
    told = str(refused.value)
    assert told.count("human.budget") == 1
    assert "human.budget = -1: Input should be greater than 0, or: " in told
    assert "constrained" not in told
    assert "failure.order.1 = 'retry'" in told


def test_a_summary_leaves_room_in_what_the_answer_leaves() -> None:
    assert load("hermes").limits(100_000, 8_000).summary == 5_000
    assert load("hermes").limits(100_000, 90_000).summary == 2_500
