"""JSON comes in as it is, and the interpreter is not held for longer than it takes to read it."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from offturn_http.wire import loads

FROM_JSON: list[tuple[bytes, Any]] = [
    (b'{"a": 1, "a": 2}', {"a": 2}),
    (b"18446744073709551616", 2**64),
    (b"-9223372036854775809", -(2**63) - 1),
    (b"1" + b"0" * 400, 10**400),
    (b'"\\ud800"', "\ud800"),
    (b'{"\\udc00": "\\ud83d\\ude00"}', {"\udc00": "😀"}),
    (b"\xef\xbb\xbf[1.5, -0]", [1.5, 0]),
]


@pytest.mark.parametrize(("body", "value"), FROM_JSON)
def test_what_other_readers_change_or_refuse_is_read(body: bytes, value: Any) -> None:
    assert loads(body) == value
    assert type(loads(body)) is type(value)


@pytest.mark.parametrize(
    "body", [b"NaN", b"[-Infinity]", b"1e400", b"[1,]", b"\xff", b"[" * 100_000, b"1" + b"0" * 5_000]
)
def test_what_is_no_json_is_refused_and_garbage_is_looked_for_again(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- its text quotes the body
        loads(body)
    assert gc.isenabled()


def test_nobody_looks_for_garbage_while_a_large_body_is_read() -> None:
    body, seen = b"[" + b'{"a": [1, {}]},' * 20_000 + b"0]", list[str]()

    def looked(phase: str, _: dict[str, int]) -> None:
        seen.append(phase)

    gc.callbacks.append(looked)
    try:
        gc.collect()
        began = len(seen)
        value = loads(body)
        read = len(seen)
    finally:
        gc.callbacks.remove(looked)
    assert len(value) == 20_001
    assert read - began <= 2  # the beginning and the end of the one that was due meanwhile
    assert gc.isenabled()
