"""The chain hash: one value of a message, however it is written, that no release may change."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.chain import chain, digest, link
from offturn_engine.formats import get
from offturn_engine.messages import Message

TEXT = st.text(st.characters(codec=None), max_size=20) | st.text(st.characters(max_codepoint=0x7F), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, VALUES, max_size=5), TEXT, TEXT | st.none())
def test_a_digest_is_that_of_the_canonical_text(raw: dict[str, Any], origin: str, host_id: str | None) -> None:
    plain = json.dumps([raw, origin, host_id], sort_keys=True, separators=(",", ":"))

    assert digest(raw, origin, host_id) == sha256(plain.encode()).hexdigest()
    assert digest(dict(reversed(raw.items())), origin, host_id) == digest(raw, origin, host_id)


@pytest.mark.parametrize(
    "raw",
    [
        {"role": "user", "content": "plain"},
        {"role": "user", "content": 'a\x7f \x00\x1f\b\f\n\r\t"\\/ end'},
        {"role": "user", "content": "é \u2028 \U0001f600 \ud800"},
        {"big": 2**70, "small": 1e-07, "large": 1e16, "zero": -0.0, "nested": [{"x": 1.5}]},
        {"b": [], "a": {}, "": None, "tuple": (1, 2.5, "x")},
    ],
)
def test_a_digest_is_that_of_the_canonical_text_of_odd_values(raw: dict[str, Any]) -> None:
    plain = json.dumps([raw, "human", "1"], sort_keys=True, separators=(",", ":"))

    assert digest(raw, "human", "1") == sha256(plain.encode()).hexdigest()


def test_digests_and_links_are_what_they_always_were() -> None:
    first, second = digest({"role": "user", "content": "a"}, "human", None), digest({"content": "é"}, "host", "1")

    assert first == "bbe5b259d091d9e9fbbad1909b9f5efbe0e8d26bc1c9dee9a6f021ba92e393e3"
    assert second == "552b6a8f7d59272a259569a8ac6c478a02d953b3c56bb7842756edc6d9c3295b"
    assert chain([first, second]) == link(link("", first), second) == "0cfe9c87b0624bc1a662094de27ebb51732c1a69"


def test_a_message_at_its_place_is_the_same_message() -> None:
    message = get("openai-chat").parse(
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }
    )

    placed = message.placed(7, 9)

    assert placed == replace(message, seq=7, at=9) != message
    assert isinstance(placed, Message)
    assert (placed.seq, placed.at, placed.calls, placed.results) == (7, 9, message.calls, ())
