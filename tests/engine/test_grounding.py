"""What counts as an anchor, and when a source holds one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_engine.grounding import anchors, familiar, ungrounded
from offturn_engine.runs import Words

SOURCE = """Edited src/engine/render.py:42 and C:\\work\\notes\\plan.md, see https://docs.example.com/api/v2/jobs?page=3.
Ticket OPS-1174, commit 4f1c2ab9d07e11aa, version 3.11.4, took 12.53 s, 1,234,567 rows, ratio 0.60, price $499.00.
{"argument": "first line\\nretry_limit = 30\\nimport parse_config", "flags": "--dry-run --limit=250", "values": [10,200,300]}
ValueError in loadConfig, call_id toolu_01AbC, port 8443, Python 3.12, 65536 bytes, 2026-11-29T14:35:10Z
"""


@pytest.mark.parametrize(
    "text",
    [
        "- changed `render.py` and engine/render.py, at line 42",
        "- see https://docs.example.com/api/v2/jobs and http://docs.example.com",
        "- OPS-1174, ops 1174, 4f1c2ab, 3.11, v3.11.4, 12.5 s, 13 seconds, 1234567, 1.2M rows, 60 %, $499",
        "- retry_limit=30, parse_config, --dry-run, limit 250, 10, 200, 300",
        "- ValueError, loadConfig, toolu_01AbC, Python3.12",
        "- on 2026-11-29 at 14:35, 66k bytes, 30-second limit, plan.md",
        "1. first\n2. second\n12. twelfth\n- 13) thirteenth",
        "- 3 of 5 tests, and/or, CI/CD, input/output, N/A, utf-8, e.g. this, read-only, Node.js, GitHub, iPhone",
        "修改了render.py的第42行",
    ],
)
def test_what_the_source_holds_is_grounded(text: str) -> None:
    assert ungrounded(text, SOURCE) == []


@pytest.mark.parametrize(
    ("text", "loose"),
    [
        ("- wrote src/engine/tokens.py", ["src/engine/tokens.py"]),
        ("- wrote `renderer.py`", ["renderer.py"]),
        ("- read /etc/passwd", ["/etc/passwd"]),
        ("- see https://docs.example.com/api/v3/jobs.", ["https://docs.example.com/api/v3/jobs"]),
        ("- see https://evil.example.org", ["https://evil.example.org"]),
        ("- OPS-1147", ["OPS-1147"]),
        ("- BUG-1174", ["BUG-1174"]),
        ("- commit 9e1c2ab", ["9e1c2ab"]),
        ("- version 3.12.4", ["3.12.4"]),
        ("- took 12.9 s", ["12.9s"]),
        ("- 1,234,568 rows", ["1234568"]),
        ("- price $4,990", ["4990"]),
        ("- retry_count is set", ["retry_count"]),
        ("- saveConfig was called", ["saveConfig"]),
        ("- TypeError came up", ["TypeError"]),
        ("- ran with --force", ["--force"]),
        ("- port 8444", ["8444"]),
        ("- waited 45ms", ["45ms"]),
        ("- on 2026-11-28", ["2026-11-28"]),
    ],
)
def test_what_it_does_not_hold_is_named(text: str, loose: list[str]) -> None:
    assert ungrounded(text, SOURCE) == loose


def test_anchors_are_names_and_numbers_not_prose() -> None:
    assert anchors("The user wants 3 things; see a.py, RFC 9110 and config/app.toml") == {
        "a.py",
        "9110",
        "config/app.toml",
    }
    assert anchors("Nothing to look up here, whatever the words/phrases are.") == set()


def test_at_most_fifty_are_named() -> None:
    assert len(ungrounded(" ".join(f"file_{i}.py" for i in range(500)), "")) == 50


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_every_text_is_grounded_in_itself(text: str) -> None:
    assert ungrounded(text, text) == []
    assert familiar(text, Words(text)) == 1.0


NAMES = st.from_regex(r"[a-z]{2,8}_[a-z]{2,8}\.py", fullmatch=True)


@settings(max_examples=100, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=10), NAMES)
def test_a_file_is_grounded_exactly_when_it_is_in_the_source(files: list[str], name: str) -> None:
    source = "\n".join(f"read src/{file}: ok" for file in files)
    assert (ungrounded(f"- changed {name}", source) == []) == (name in files)


@pytest.mark.parametrize(
    "unit", ["a", "a_", "a.", "1.", "1,234", "/", "-", "Aa", "f0", "a1", "\\n", "https://", "x.py ", "我"]
)
def test_a_hostile_source_of_a_megabyte_ends(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert isinstance(ungrounded(text, text), list)
    assert 0 <= familiar(text, Words(text)) <= 1


def test_a_long_answer_of_numbers_that_are_rounded_or_cut_ends() -> None:
    """Each is looked up in what was made of the source once, not in the source."""
    numbers = range(1_000_003, 1_400_003, 4)
    source = " ".join(f"{n} {n:x}f{n:x}" for n in numbers)
    answer = " ".join(f"{n / 1_000:.2f}k {n:x}f{n:x}"[:-1] for n in list(numbers)[-10_000:])
    assert ungrounded(answer, source) == []


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("ten workers", "10 workers"),
        ("a dozen files", "12 files"),
        ("zw\u00f6lf Dateien", "12 Dateien"),
        ("\u5199\u4e8c\u5341\u4e2a", "20 \u4e2a"),
        ("50k rows", "50,000 rows"),
        ("3 million rows", "3,000,000 rows"),
        ("5\u4e07\u884c", "50,000 rows"),
        ("timeout=30000", "30 seconds"),
        ("at least 80%", "0.8"),
        ("within three", "1-3 sentences"),
        ("within 2 seconds", "2,000 ms"),
        ("2 minutes", "120 seconds"),
        ("2 weeks", "14 days"),
        ("by 5 pm", "by 17:00"),
    ],
)
def test_a_number_written_another_way_is_the_same(source: str, text: str) -> None:
    assert ungrounded(text, source) == []


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("batch = 12_000\nwrote 12000 rows", "12k rows"),
        ("1.500 of 1500 rows", "1.5k rows"),
        ("1.234 and 1234", "1.2k"),
    ],
)
def test_in_which_order_a_source_says_it_makes_no_difference(source: str, text: str) -> None:
    there = ungrounded(text, source)
    back = ungrounded(text, " ".join(reversed(source.split())))
    assert there == back == []


@pytest.mark.parametrize("text", ["1.3k rows", "15k rows", "1.6k", "1.5M rows", "150 rows"])
def test_another_amount_is_refused_in_either_order(text: str) -> None:
    for source in ("1.500 of 1500 rows", "1500 rows of 1.500"):
        assert ungrounded(text, source)


@pytest.mark.parametrize(
    ("source", "text"),
    [("use 8 workers", "80 workers"), ("timeout=30000", "45 s"), ("5k", "50,000"), ("5 MB", "50 MB")],
)
def test_another_number_is_not(source: str, text: str) -> None:
    assert ungrounded(text, source)
