"""What the store reads faster is what the standard library reads, whatever a log holds."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from offturn.store.entries import dumps, loads

ANY_TEXT = st.text(st.characters(), max_size=20)  # lone surrogates too
NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(2**64) - 2, 2**64 + 2),
    st.sampled_from([10**18, 10**19, -(10**18), 2**63, 2**64, -(2**63), -(2**63) - 1, 10**400]),
    st.floats(allow_nan=False),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(ANY_TEXT, inner, max_size=5)),
    max_leaves=20,
)


def alike(one: Any, other: Any) -> bool:
    """Equal, and of the same types: 1 is not 1.0, nor True."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return [*one] == [*other] and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other) and (not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other))


@settings(max_examples=500)
@given(value=VALUES)
@example(value=-0.0)
@example(value={"a": 12345678901234567890123})
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert alike(loads(dumps(value)), value)
    assert alike(loads(json.dumps(value, indent=1).encode()), value)


@given(text=st.from_regex(r"\A-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?\Z"))
@example(text="-0")
@example(text="1e400")
@example(text="1E5")
@example(text="0.1234567890123456789")
def test_a_number_is_read_as_the_standard_library_does(text: str) -> None:
    assert alike(loads(f"[{text}]".encode()), json.loads(f"[{text}]"))


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', "[NaN, Infinity, -Infinity]", '"\\ud800"', " [1] \n", "[" * 2_000 + "]" * 2_000]
)
def test_what_only_one_of_them_takes(text: str) -> None:
    try:
        expected = json.loads(text)
    except RecursionError:
        with pytest.raises(RecursionError):
            loads(text.encode())
        return
    assert repr(loads(text.encode())) == repr(expected)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[1,]", b"nul"])
def test_what_is_no_json_is_the_same_error(data: bytes) -> None:
    with pytest.raises(ValueError) as expected:  # noqa: PT011 -- whichever it is
        json.loads(data.decode("utf-8", "surrogatepass"))
    with pytest.raises(type(expected.value)):
        loads(data)
