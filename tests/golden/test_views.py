"""The same log gives the same views as when they were recorded."""

from __future__ import annotations

import json

import pytest

from tests.golden.views import FILE, views


@pytest.mark.parametrize("name", ["threshold", "phase", "update", "emergency"])
def test_view_is_the_recorded_one(name: str) -> None:
    assert views()[name] == json.loads(FILE.read_text(encoding="utf-8"))[name]
