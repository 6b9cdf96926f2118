"""Rule B2: Hermes' lean mode. B1 is in test_pruning.py and test_peer.py."""

from __future__ import annotations

import pytest

from offturn_config.presets import load
from offturn_engine.ranges import contains
from tests.engine.raws import human, says, system
from tests.policies.histories import filler, path_of, reads
from tests.policies.scripted import Model, answer, compacted, wanted

NAME = "hermes-lean"


@pytest.mark.parametrize(("window", "tail"), [(200_000, 10_000), (600_000, 15_000), (2_000_000, 25_000)])
def test_B2_the_tail_is_a_fortieth_of_the_window_within_bounds(window: int, tail: int) -> None:
    assert load(NAME).limits(window).tail == tail


def test_B2_one_call_samples_what_is_too_long_for_it() -> None:
    policy = load(NAME, {"prune.style": "off"})
    raws = [
        system("x"),
        human("go"),
        *[raw for i in range(40) for raw in (says(filler(4_000, f"part {i}")), human(f"q{i}"))],
    ]
    model = Model([answer], window=60_000)
    made = compacted(wanted(path_of(raws, policy), policy, 200_000), model)

    [request] = model.asked
    assert made.compaction.spent.calls == 1
    assert "messages are left out here" in request.source
    covered = [m.seq for m in path_of(raws, policy) if contains(made.compaction.covered, m.seq)]
    assert f"[m{covered[0]} " in request.source
    assert f"[m{covered[-1]} " in request.source


def test_B2_human_words_are_verbatim_with_an_index_by_code_and_a_pointer_for_recall() -> None:
    policy = load(NAME)
    said = [human(f"Question {i}: port {8000 + i}, never {i} twice.") for i in range(60)]
    raws = [system("x"), *[raw for i, q in enumerate(said) for raw in (q, *reads(1, 3_000, first=i), says("done"))]]
    made = compacted(wanted(path_of(raws, policy), policy, 200_000), Model([answer]))

    record = made.compaction
    assert record.audit.human_by_handle == record.audit.human_cut == 0
    shown = "\n".join(str(message) for message in made.rendering.messages)
    assert all(str(q["content"]) in shown for q in said)
    assert "f5.py: read" in record.summary
    assert "can be recalled" in record.summary
