"""Where messages repeat, the newest part of a list is found all the same, and soon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.formats import get
from offturn_engine.match import Form, Match, Shape, match, path_shape, window
from offturn_engine.render import NO_RESULT

FMT = get("openai-chat")
FUNCTION = {"name": "f", "arguments": "{}"}
CALL = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": FUNCTION}]}
WORDS: dict[str, Any] = {
    "a": {"role": "user", "content": "a"},
    "b": {"role": "user", "content": "b"},
    "n": {"role": "user", "content": "new"},
    "c": CALL,
    "r": {"role": "tool", "tool_call_id": "c", "content": "1"},
    "s": {"role": "tool", "tool_call_id": "c", "content": NO_RESULT},
}


def listed(letters: str) -> list[Form]:
    return [Form(dict(WORDS[letter]), FMT) for letter in letters]


def shape(letters: str, redacted: Sequence[int] = ()) -> Shape:
    raws = [FMT.redacted(WORDS[x]) if i in redacted else WORDS[x] for i, x in enumerate(letters)]
    path = [FMT.parse(raw, index=i).placed(i) for i, raw in enumerate(raws)]
    forms = [
        Form(raw, FMT, was=Form(WORDS[x], FMT).size if i in redacted else None)
        for i, (raw, x) in enumerate(zip(raws, letters, strict=True))
    ]
    return path_shape(path, forms)


def plainly(history: Sequence[Form], whole: Shape) -> Match:
    """The definition: every place is tried."""
    first = next((form for form in history if not form.is_synthetic), None)
    found = Match("unrelated", 0)
    for index, item in enumerate(whole.items):
        if first is None or not item.is_in(first):
            continue
        one = match(history, replace(whole, items=whole.items[index:]))
        if one.new == len(history) and one.kind in ("equal", "own-view"):
            return one
        if one.kind == "behind" or (found.kind == "unrelated" and one.kind != "unrelated"):
            found = one
    return found


@given(st.data())
def test_no_place_is_passed_over_from_which_something_comes(data: st.DataObject) -> None:
    path = data.draw(st.text("aabcrs", max_size=10))
    start = data.draw(st.integers(0, len(path)))
    mine = path[start:] + data.draw(st.text("aabcrsn", max_size=4))
    kept = data.draw(st.integers(0, len(mine)))
    mine = mine[:kept] if data.draw(st.booleans()) else mine
    redacted = data.draw(st.sets(st.integers(0, max(0, len(path) - 1)), max_size=2)) if path else set()
    whole = shape(path, sorted(redacted))

    assert window(listed(mine), whole) == plainly(listed(mine), whole)


@pytest.mark.parametrize("mine", ["a" * 400, "a" * 400 + "n", "n" + "a" * 400, "a" * 2_000, "a" * 2_001, "ab" * 200])
def test_a_session_of_one_word_is_found_soon(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot that is told the same every minute: each place of the path may be the start of its list."""
    compared = 0
    same = Form.same

    def counted(self: Form, other: Form) -> bool:
        nonlocal compared
        compared += 1
        return same(self, other)

    monkeypatch.setattr(Form, "same", counted)
    window(listed(mine), shape("a" * 2_000))
    assert compared < 40_000
