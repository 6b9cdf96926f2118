"""What every provider asks of a JSON value: the quick look says yes to nothing that the careful one refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.errors import InvalidMessage
from offturn_engine.formats import plain
from offturn_engine.formats._values import DEPTH, Field, _surely_fine, check_json, checked

TEXT = st.text(st.characters(codec=None), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.integers(), inner, max_size=3),
    max_leaves=8,
)


def is_refused(value: Any) -> bool:
    try:
        check_json(value, Field(0))
    except InvalidMessage:
        return True
    return False


@given(VALUES)
def test_what_looks_fine_is_fine(value: Any) -> None:
    assert not (_surely_fine(value, DEPTH) and is_refused(value))


@pytest.mark.parametrize(
    "value",
    ["plain", "é 中 \U0001f600", {"a": ["b", None, True]}, [], {}, {"role": "user", "content": [{"type": "text"}]}],
)
def test_what_most_messages_are_made_of_looks_fine(value: Any) -> None:
    assert _surely_fine(value, DEPTH)


@pytest.mark.parametrize("levels", [DEPTH - 1, DEPTH, DEPTH + 1, DEPTH + 2, 5 * DEPTH])
def test_depth_is_refused_where_it_was(levels: int) -> None:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}

    if is_refused(value):
        with pytest.raises(InvalidMessage, match="nested deeper"):
            checked(value, 3)
    else:
        assert checked(value, 3) is value
    assert is_refused(value) is (levels > DEPTH)


@given(st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "parts", "type", "choices"]), VALUES))
def test_a_dict_that_is_a_message_is_taken_as_it_is(raw: dict[str, Any]) -> None:
    if "role" in raw and isinstance(raw.get("content"), str):
        assert plain(raw) is raw
