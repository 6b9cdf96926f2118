"""Rules O2 and O4: OpenCode's summaries, as its articles describe it and as built. O1 is in test_pruning.py."""

from __future__ import annotations

from contextlib import suppress

import pytest

from offturn_config.errors import InvalidPolicy
from offturn_config.presets import load
from tests.engine.raws import Raw, human, says
from tests.policies.histories import filler, path_of, reads, used
from tests.policies.scripted import Model, answer, compacted, wanted

WINDOW = 200_000
FIVE = [
    "What was done",
    "What is being worked on",
    "Files modified",
    "Next steps",
    "Important technical decisions",
]


def talk(line: str, count: int = 16) -> list[Raw]:
    return [raw for i in range(count) for raw in (human(f"{line} {i}"), says(filler(9_000, f"part {i}")))]


def test_O2_five_sections() -> None:
    policy = load("opencode")
    model = Model([answer])
    made = compacted(wanted(path_of(talk("Please repair the next parser"), policy), policy, WINDOW), model)

    assert [h[3:] for h in model.asked[0].content.splitlines() if h.startswith("## ")] == FIVE
    assert [h[3:] for h in made.compaction.summary.splitlines() if h.startswith("## ")][:5] == FIVE


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("Por favor, arregla el analizador y no cambies las pruebas que ya funcionan", "Spanish"),
        ("请修复解析器, 不要修改已经通过的测试, 完成后告诉我结果", "Chinese"),
        ("Please repair the parser and leave the tests that work as they are", "English"),
    ],
)
def test_O2_in_the_users_language(line: str, language: str) -> None:
    policy = load("opencode")
    found = wanted(path_of(talk(line), policy), policy, WINDOW)
    model = Model([answer])
    compacted(found, model) if language == "English" else None

    assert found.language == language
    assert not model.asked or f"Write in {language}, the user's language." in model.asked[0].content


@pytest.mark.parametrize(
    ("window", "output", "soft"),
    [
        (200_000, 64_000, 116_000),
        (200_000, 8_192, 171_808),
        (1_000_000, 64_000, 916_000),
        (40_000, 32_000, 6_000),
        (33_000, 32_000, 750),
    ],
)
def test_O4_one_formula_for_the_threshold(window: int, output: int, soft: int) -> None:
    """The original ignores its reserve for models without an input limit, and gives 0 for 32K with 32K of output."""
    policy = load("opencode-1.17", {"summary.minimum": 0, "boundary.tail_minimum": 0})

    assert policy.limits(window, output).soft == soft


def test_O4_it_never_leaves_nothing() -> None:
    policy = load("opencode-1.17")
    for window in (256, 1_000, 32_000, 40_000, 128_000, 1_000_000):
        for output in (0, window // 8, window // 2, window - 1, window, 2 * window):
            with suppress(InvalidPolicy):
                limits = policy.limits(window, output)
                assert 0 < limits.soft <= limits.usable


def test_O4_the_tail_is_the_last_two_turns_within_bounds() -> None:
    policy = load("opencode-1.17")
    assert policy.limits(WINDOW).tail == 8_000
    assert policy.limits(32_000, 4_000).tail == 5_250  # a quarter of the usable window
    raws = [raw for i in range(40) for raw in (human(f"q{i}"), says(filler(1_500, f"a{i}")))]
    found = wanted(path_of(raws, policy), policy, WINDOW)

    assert found.draft.split is not None
    assert found.draft.split.tail == len(raws) - 4


def test_O4_an_anchored_record_and_2_000_characters_of_each_result() -> None:
    policy = load("opencode-1.17")
    raws = [
        human(
            "Please repair that importer: every record arrives exactly once, without duplicates, even after restarts"
        ),
        *reads(20, 6_000),
        *used("bash", {"command": "x"}, "a" * 1_900, 99),
        says("done"),
        *talk("q", 3),
    ]
    model = Model([answer])
    made = compacted(wanted(path_of(raws, policy), policy, WINDOW), model)

    source = model.asked[0].source
    assert policy.prune.style == "off"
    assert "a" * 1_900 in source
    results = [part.partition("\n\n[m")[0] for part in source.split("\nresult ")[1:]]
    assert len(results) == 21
    assert max(map(len, results)) < 2_150
    assert sum("characters omitted" in part for part in results) == 20
    assert "## Relevant Files" in made.compaction.summary
    assert "### Done" in made.compaction.summary
