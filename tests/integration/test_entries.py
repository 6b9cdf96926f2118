"""Entries of the log, as this release writes them and as older ones did."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn import UnknownVersion
from offturn.copying import changed, made
from offturn.store.entries import LogEntry, NewEntry, Redaction, Tombstone, dumps, encoded, loads
from offturn_engine.chain import digest
from offturn_engine.messages import Origin

CHAIN = b"0123456789abcdef0123456789abcdef01234567"
TEXT = st.text(st.characters(codec=None), max_size=20)  # lone surrogates too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
ROLES = ("user", "assistant", "model", "tool", "system", "developer", "function")
RAWS = st.dictionaries(TEXT, VALUES, max_size=4) | st.builds(
    lambda role, rest: {"role": role, **rest}, st.sampled_from(ROLES), st.dictionaries(TEXT, VALUES, max_size=3)
)


def item(envelope: bytes) -> bytes:
    return CHAIN + b" 1796037757085 " + envelope


@given(VALUES)
def test_the_fast_encoder_says_what_the_plain_one_says(value: Any) -> None:
    """Down to the order of keys, the sign of zero, and whether a number is whole."""
    assert json.dumps(loads(encoded(value))) == json.dumps(loads(dumps(value))) == json.dumps(value)


@given(RAWS, st.sampled_from(get_args(Origin)), TEXT | st.none(), st.integers(0, 10**9))
def test_an_entry_comes_back_as_it_was(raw: dict[str, Any], origin: Origin, host_id: str | None, tokens: int) -> None:
    entry = NewEntry.of(raw, origin=origin, tokens=tokens, host_id=host_id)

    found = LogEntry.read(7, item(entry.envelope))

    assert json.dumps(found.raw) == json.dumps(raw)
    assert (found.origin, found.host_id, found.tokens, found.redacted) == (origin, host_id, tokens, None)
    assert (found.seq, found.chain, found.at) == (7, CHAIN.decode(), 1796037757085)
    assert entry.digest == digest(raw, origin, host_id)
    assert b"\n" not in entry.envelope  # packs have an entry a line


def test_what_goes_without_saying_is_not_said() -> None:
    said = [
        NewEntry.of({"role": "user", "content": "a"}, origin="human", tokens=5).envelope,
        NewEntry.of({"role": "user", "content": "a"}, origin="host", tokens=5, host_id="1").envelope,
    ]

    assert said == [
        b'{"v":2,"m":{"role":"user","content":"a"},"k":5}',
        b'{"v":2,"m":{"role":"user","content":"a"},"k":5,"o":"host","id":"1"}',
    ]


def test_entries_of_an_older_release_are_read() -> None:
    plain = LogEntry.read(
        0, item(b'{"v":1,"m":{"role":"user","content":"A \xc3\xa9 question"},"o":"human","id":null,"k":6}')
    )
    redacted = LogEntry.read(
        1,
        item(
            b'{"v":1,"m":{"role":"tool","tool_call_id":"c","content":""},"o":"tool","id":"row 1","k":9,'
            b'"x":{"reason":"asked for","size":80}}'
        ),
    )

    assert (plain.raw, plain.origin, plain.host_id, plain.tokens) == (
        {"role": "user", "content": "A é question"},
        "human",
        None,
        6,
    )
    assert (redacted.origin, redacted.host_id, redacted.tokens) == ("tool", "row 1", 9)
    assert redacted.redacted == Redaction(reason="asked for", size=80)


def test_a_tombstone_comes_back_as_it_was() -> None:
    why = Redaction(reason="asked for", size=12)
    left = Tombstone.of(3, {"role": "user", "content": ""}, origin="host", tokens=1, host_id="1", redaction=why)

    found = LogEntry.read(3, item(left.envelope))

    assert (found.redacted, found.origin, found.host_id, found.raw) == (
        why,
        "host",
        "1",
        {"role": "user", "content": ""},
    )


def test_an_entry_of_a_newer_release_is_refused() -> None:
    with pytest.raises(UnknownVersion, match="version 3, this release reads 2"):
        LogEntry.read(0, item(b'{"v":3,"m":{}}'))


def test_a_changed_copy_is_what_replace_makes() -> None:
    entry = NewEntry.of({"role": "user", "content": "a"}, origin="human", tokens=5, host_id="1")

    assert changed(entry, tokens=6, host_id=None) == replace(entry, tokens=6, host_id=None) != entry


def test_a_value_made_is_what_its_kind_makes() -> None:
    one, other = made(NewEntry, envelope=b"{}", digest="d", tokens=5), NewEntry(envelope=b"{}", digest="d", tokens=5)

    assert (one, repr(one), hash(one)) == (other, repr(other), hash(other))
    assert (one.host_id, one.calls) == (None, ())
    with pytest.raises(FrozenInstanceError):
        one.tokens = 6  # type: ignore[misc]
