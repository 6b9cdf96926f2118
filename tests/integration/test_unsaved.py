"""Paid results that wait for the store: within a size and a time, of their own session only."""

from __future__ import annotations

import pytest

from offturn import unsaved
from offturn.unsaved import Unsaved
from offturn_config.keys import SessionKey

KEY = SessionKey("default", "s")


def test_a_result_is_found_under_its_session_and_life_only() -> None:
    kept = Unsaved()
    kept.add((KEY, 1, "a"), "paid")

    assert kept.get((KEY, 1, "a")) == "paid"
    assert [kept.get(place) for place in ((KEY, 2, "a"), (KEY, 1, "b"), (SessionKey("other", "s"), 1, "a"))] == [
        None
    ] * 3


def test_what_the_store_has_is_dropped() -> None:
    kept = Unsaved()
    kept.add((KEY, 1, "a"), "paid")
    kept.drop((KEY, 1, "a"))
    kept.drop((KEY, 1, "a"))

    assert kept.get((KEY, 1, "a")) is None


def test_the_oldest_go_when_they_are_too_large() -> None:
    kept = Unsaved()
    for name in "abcd":
        kept.add((KEY, 1, name), "x" * (unsaved.KEPT_BYTES // 3))

    assert [bool(kept.get((KEY, 1, name))) for name in "abcd"] == [False, True, True, True]


def test_what_nobody_asks_for_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, now = Unsaved(), [0.0]
    monkeypatch.setattr("offturn.unsaved.time.monotonic", lambda: now[0])
    kept.add((KEY, 1, "a"), "paid")
    now[0] = unsaved.KEPT_SECONDS + 1

    assert kept.get((KEY, 1, "a")) is None
