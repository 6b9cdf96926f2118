"""Hypothesis strategies for transcripts: lists of raw messages that `parse` accepts, as odd as real ones.

Each strategy is built once: a transcript takes a hundred draws, and building cost more than drawing.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.engine.makers import FLIP, MAKERS, ONE_IN_TEN, Maker, Raw

PHRASES = (
    "fix the login bug in src/auth/login.py",
    "Never change config/prod.toml, and keep every test green.",
    "Budget: at most 3 requests per second. Use port 8081 only.",
    "请修复登录错误, 不要修改数据库结构, 必须保持向后兼容.",
    "ログインの不具合を直してください",
    "done: 12 passed, 0 failed",
    "I read the file; the token is compared with == instead of compare_digest().",
    "ok",
    "  spaced  \n\n  text  ",
)
RESULTS = (
    "",
    "ok",
    "total 8\n-rw-r--r-- 1 dev dev 220 login.py\n",
    "FAILED tests/test_login.py::test_token - AssertionError: assert 401 == 200\n1 failed, 11 passed\nexit code 1",
    "Traceback (most recent call last):\n  File 'src/auth/login.py', line 42\nValueError: bad token",
    '{"rows": [{"id": 7, "name": "测试"}], "next": null}',
    "2026-11-03T10:00:01Z ERROR worker-3 req=9f3c status=500 dur=812ms",
)
TOOLS: tuple[tuple[str, Raw], ...] = (
    ("bash", {"command": "pytest -q tests/test_login.py"}),
    ("bash", {"command": "git commit -m 'fix' && git push"}),
    ("read", {"path": "src/auth/login.py", "offset": 1, "limit": 200}),
    ("write", {"path": "src/auth/token.py", "content": "def check(a, b):\n    return a == b\n" * 20}),
    ("search", {"pattern": "compare_digest", "路径": "src"}),
    ("status", {}),
)
IDS = ("call_1", "call_2", "call_3", "call_4")
"""Few, so that ids repeat within a transcript."""


@cache
def texts(*, blank: bool = False) -> st.SearchStrategy[str]:
    """Message texts: known phrases, arbitrary Unicode without surrogates; blank ones only where asked for."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    found = st.one_of(st.sampled_from(PHRASES), anything)
    return found if blank else found.filter(lambda text: bool(text.strip()))


@cache
def results(*, big: bool = False) -> st.SearchStrategy[str]:
    """Result texts; with `big` up to 20,000 characters, made by repetition so that they shrink fast."""
    lines = st.sampled_from(RESULTS)
    most = 20_000 if big else 400
    long = st.builds(
        lambda line, size: (line * (1 + size // len(line)))[:size], st.sampled_from(RESULTS[1:]), st.integers(1, most)
    )
    return st.one_of(lines, long)


TEXT_OR_NONE = st.one_of(st.just(""), texts())
IDS_IN_ANY_ORDER = st.permutations(IDS)
TOOL = st.sampled_from(TOOLS)
CALLS = {most: st.integers(1, most) for most in {made.most_calls for made in MAKERS.values()}}


@st.composite
def transcripts(
    draw: st.DrawFn,
    format_name: str,
    *,
    turns: int = 4,
    big: bool = False,
    system: bool = True,
    unanswered: bool = True,
    inside: bool = True,
    orphans: bool = False,
) -> list[Raw]:
    """A transcript of 1 to `turns` turns, about 30 messages at most.

    `system`: a list may start with a system message, where the format has one. `unanswered`: some calls have no result, in the
    middle or at the end; their ids do not repeat. `inside`: a message may arrive between a call and its results.
    `orphans`: a result without a call may be anywhere after the first message.
    """
    make = MAKERS[format_name]()
    messages: list[Raw] = []
    if system and make.system and draw(FLIP):
        messages.append({"role": "system", "content": "You are a careful agent."})
    for _ in range(draw(st.integers(1, turns))):
        messages.append(make.human(draw, draw(texts(blank=make.blank))))
        for _ in range(draw(st.integers(0, 2))):
            messages += _group(draw, make, big=big, unanswered=unanswered, inside=inside)
        if draw(FLIP):
            messages += make.reply(draw, draw(texts(blank=make.blank)))
    if orphans and draw(FLIP):
        place = draw(st.integers(1, len(messages)))
        messages.insert(place, make.results(draw, [("orphan_1", "orphan", "left over", False)])[0])
    return messages


def _group(draw: st.DrawFn, make: Maker, *, big: bool, unanswered: bool, inside: bool) -> list[Raw]:
    count = draw(CALLS[make.most_calls])
    ids = draw(IDS_IN_ANY_ORDER)[:count]
    answered = [not unanswered or draw(ONE_IN_TEN) > 0 for _ in ids]
    make.opened += answered.count(False)
    ids = [id_ if ok else f"open_{make.opened}_{id_}" for id_, ok in zip(ids, answered, strict=True)]
    tools = [draw(TOOL) for _ in ids]
    messages = make.calls(draw, list(zip(ids, tools, strict=True)), draw(TEXT_OR_NONE))
    if inside and draw(ONE_IN_TEN) == 0:
        messages.append(make.human(draw, draw(texts())))
    taken = [
        (id_, tool, draw(results(big=big)), draw(FLIP))
        for id_, (tool, _), ok in zip(ids, tools, answered, strict=True)
        if ok
    ]
    return messages + make.results(draw, draw(st.permutations(taken)))


@cache
def json_values(*, most: int = 20) -> st.SearchStrategy[Any]:
    """Arbitrary JSON-like values, with what JSON does not have: NaN, lone surrogates, odd types."""
    scalars = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=20),
        st.just("\ud800"),
        st.binary(max_size=3),
    )
    keys = st.one_of(
        st.sampled_from(["role", "content", "type", "text", "id", "tool_calls", "function"]), st.text(max_size=5)
    )
    return st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
        max_leaves=most,
    )


@st.composite
def damaged(draw: st.DrawFn, good: Any) -> Any:
    """A copy of a JSON value with one of its places replaced by anything."""
    value = holder = copy.deepcopy(good)
    while True:
        key = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
        if not isinstance(holder[key], dict | list) or not holder[key] or draw(FLIP):
            break
        holder = holder[key]
    holder[key] = draw(json_values(most=3))
    return value
