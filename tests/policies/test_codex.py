"""Rules C2 to C4: Codex. C1 is in test_pruning.py."""

from __future__ import annotations

import pytest

from offturn.summarise import Written
from offturn_config.presets import load
from offturn_engine.compaction import NOTHING
from offturn_engine.draft import Candidate
from offturn_engine.fallback import fall_back
from offturn_engine.human import accounted
from offturn_engine.plan import HEAD_TRIMMED
from offturn_engine.ranges import contains
from offturn_engine.triggers import due, thresholds
from tests.engine.raws import Raw, calls, human, says, system
from tests.policies.histories import filler, format_of, path_of, reads, sound, turns
from tests.policies.scripted import TOO_LONG, Model, answer, asked, compacted, wanted

WINDOW = 200_000


def history(count: int = 12, tokens: int = 6_000) -> list[Raw]:
    made = [system("x")]
    for i in range(count):
        made += [human(f"Request {i}: keep port {8000 + i}."), *reads(2, tokens, first=2 * i), says(f"answer {i}")]
    return made


def made_of(raws: list[Raw], name: str = "codex") -> Candidate:
    policy = load(name)
    return compacted(wanted(path_of(raws, policy), policy, WINDOW), Model([answer]))


def test_C2_every_human_message_stays_before_the_summary_and_the_rest_is_replaced() -> None:
    raws = history()
    made = made_of([*raws, human("And now?"), calls("open")])

    summary = [item.kind for item in made.rendering.items].index("summary")
    before = [item.raw for item in made.rendering.items[:summary]]
    assert before == [raw for raw in raws if raw["role"] in ("system", "user")]
    assert [item.raw for item in made.rendering.items[summary + 1 :]] == [human("And now?"), calls("open")]


def test_C2_what_the_host_put_in_a_users_mouth_is_not_human() -> None:
    policy = load("codex")
    fmt = format_of(policy)
    raws = [*history(), human("And now?")]
    path = [fmt.parse(raw, index=i, origin="host" if i == 1 else None).placed(i) for i, raw in enumerate(raws)]
    made = compacted(wanted(path, policy, WINDOW), Model([answer]))

    assert contains(made.compaction.covered, 1)
    assert raws[1] not in made.rendering.messages
    assert raws[5] not in made.rendering.messages or raws[5]["role"] == "user"


def test_C2_codex_0_125_keeps_20_000_tokens_newest_first_and_cuts_the_edge_in_its_middle() -> None:
    long = [human(filler(7_000, f"long {i}")) for i in range(4)]
    raws = [system("x"), *[m for i, q in enumerate(long) for m in (q, *reads(2, 9_000, first=2 * i), says("ok"))]]
    made = made_of([*raws, human("now")], "codex-0.125")

    shown = [item.raw for item in made.rendering.items]
    assert long[3] in shown
    assert long[2] in shown
    assert long[0] not in shown
    assert (made.compaction.audit.human_cut, made.compaction.audit.human_by_handle) == (1, 1)
    kept = made.compaction.summary.count("abcd.efgh") * 10 // 4
    assert 5_500 < kept < 6_500  # what is left of 20,000 after the two


def test_C3_soft_is_90_percent() -> None:
    limits = load("codex").limits(WINDOW)

    assert limits.soft == 180_000
    assert due(180_000, thresholds(limits)) == "soft"
    assert limits.hard == 190_000  # halfway from soft to the end


def test_C4_a_request_that_is_too_long_loses_its_oldest_groups() -> None:
    policy = load("codex")
    path = path_of([*history(), human("now")], policy)
    asks = wanted(path, policy, WINDOW)
    model = Model([TOO_LONG, TOO_LONG, answer], window=90_000)

    written = asked(asks, model)

    assert isinstance(written, Written)
    assert len(model.asked) == 3
    assert written.head_trimmed > 0
    whole, _, last = (request.source for request in model.asked)
    newest_seq = asks.messages[-1].seq
    assert f"[m{asks.messages[0].seq} " in whole
    assert f"[m{asks.messages[0].seq} " not in last
    assert f"[m{newest_seq} " in last
    left = sum(1 for m in asks.messages if f"[m{m.seq} " in last)
    assert left + written.head_trimmed == len(asks.messages)


def test_C4_the_outcome_counts_what_was_left_out() -> None:
    policy = load("codex")
    asks = wanted(path_of([*history(), human("now")], policy), policy, WINDOW)
    made = compacted(asks, Model([answer], window=60_000))

    assert made.compaction.concessions[HEAD_TRIMMED] > 0


def test_C4_as_a_last_resort_the_view_loses_its_oldest_groups_and_the_log_nothing() -> None:
    policy = load("codex")
    path = path_of([*history(14), human("now")], policy)
    asks = wanted(path, policy, WINDOW)

    made = fall_back(asks)

    assert made is not None
    sound(made)
    record = made.compaction
    assert record.provisional
    assert record.method == "extractive"
    assert made.rendering.tokens <= policy.limits(WINDOW).target
    gone = [m for m in path if contains(record.covered, m.seq)]
    assert record.concessions[HEAD_TRIMMED] == len(gone)
    assert gone == path[1 : 1 + len(gone)]  # oldest first
    assert all(contains(accounted(record.summary), m.seq) for m in gone if m.origin == "human")
    assert record.audit.human_by_handle == sum(m.origin == "human" for m in gone)
    assert len(gone) < len(asks.messages)


@pytest.mark.parametrize("order", [("keep",), ("extractive", "keep")])
def test_the_order_of_failures_is_the_policys(order: tuple[str, ...]) -> None:
    policy = load("codex", {"failure.order": order})
    made = fall_back(wanted(path_of([*history(), *turns(1)], policy), policy, WINDOW))

    assert (made is None) == (order == ("keep",))
    assert made is None or HEAD_TRIMMED not in made.compaction.concessions
    assert NOTHING.covered == ()
