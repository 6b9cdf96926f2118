"""What would grow without end has a bound: facts, listed human messages, the lines of a huge result that are looked at."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.compaction import HumanItem, LedgerItem
from offturn_engine.human import LISTED, accounted, render
from offturn_engine.ledger import MOST, bounded
from offturn_engine.messages import ToolCallPart, ToolResultPart
from offturn_engine.ranges import ranges_of
from offturn_engine.results import LOOKED, failed, first_error_line, lines_of
from offturn_engine.stubs import failure
from offturn_engine.tokens import estimate_text


def test_of_too_many_facts_those_stay_that_a_view_would_show_first() -> None:
    rule = LedgerItem(kind="constraint", key="never", text="Never.", seq=0)
    read = [LedgerItem(kind="file", key=f"{i}.py", text="read", seq=i) for i in range(1, MOST + 11)]
    kept = bounded([rule, *read])
    assert len(kept) == MOST
    assert kept[0] == rule
    assert [item.seq for item in kept[1:]] == list(range(12, MOST + 11))
    assert bounded(kept) == kept


@given(st.lists(st.sampled_from(["ok", "word " * 40, "必须 " * 30]), max_size=120), st.integers(0, 2_000))
def test_every_human_message_is_accounted_for_whatever_the_budget(texts: list[str], budget: int) -> None:
    items = [HumanItem(seq=i * 3, text=text) for i, text in enumerate(texts)]
    block = render(items, budget=budget)
    seqs = {item.seq for item in items}
    assert seqs <= {seq for low, high in accounted(block.text) for seq in range(low, high)}
    assert block.verbatim + block.cut + block.by_handle == len(items)


def test_ten_thousand_human_messages_fit_a_small_budget() -> None:
    items = [HumanItem(seq=i, text=f"question {i}") for i in range(10_000)]
    assert estimate_text(render(items, budget=500).text) <= 500
    listed = render(items, budget=0)
    assert estimate_text(listed.text) <= 40 * LISTED
    assert accounted(listed.text) == ranges_of(range(10_000))


def test_of_a_huge_result_the_start_and_the_end_are_looked_at() -> None:
    text = "ValueError: first\n" + "fine\n" * LOOKED + "3 failed, 12 passed"
    assert len("\n".join(lines_of(text))) <= 2 * LOOKED + 3
    assert first_error_line(ToolResultPart("c", text)) == "ValueError: first"
    assert failed(ToolResultPart("c", text), ToolCallPart("c", "bash", {"command": "pytest"}, ""))
    assert failure(text, 1) == ["ValueError: first", "…", "3 failed, 12 passed"]
