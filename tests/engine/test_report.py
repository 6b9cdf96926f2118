"""The facts of a report add up: every message once, sizes as the view has them, texts as recorded."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_config.presets import names
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.formats import get
from offturn_engine.messages import Edit
from offturn_engine.ranges import contains
from offturn_engine.render import render
from offturn_engine.report import LONGEST, report
from tests.engine.raws import groups, human, placed, result, says
from tests.engine.test_fates import compacted
from tests.policies.test_properties import FORMATS, HISTORIES

FMT = get("openai-chat")


@settings(max_examples=40)
@given(st.data())
def test_a_report_holds_every_message_once_and_the_sizes_of_the_view(data: st.DataObject) -> None:
    name = data.draw(FORMATS)
    path, fmt = placed(data.draw(HISTORIES[name]), get(name)), get(name)
    record = compacted(path, NOTHING, fmt, data.draw(st.sampled_from(names())), "planned") or NOTHING

    told = report(path, (record, NOTHING) if record.number else (NOTHING,), fmt)

    assert [entry.handle for entry in told.entries] == [f"m{message.seq}" for message in path]
    assert [run.covered for run in told.runs for _ in run.entries] == [contains(record.covered, m.seq) for m in path]
    assert told.tokens_after == render(path, record, fmt).tokens
    assert told.tokens_before == render(path, NOTHING, fmt).tokens
    assert sum(told.by_fate.values()) == len(path)
    assert [len(entry.parts) for entry in told.entries] == [len(message.parts) for message in path]


def test_a_message_goes_under_the_gravest_fate_of_its_parts_and_shows_what_stands_for_it() -> None:
    path = placed([human("go"), *groups(1), result("c0", "x" * (LONGEST + 5)), says("done"), human("more?")])
    edit = Edit(seq=2, part=0, rule="stub", text="[cleared: bash · recall m2]")
    record = Compaction(number=1, covered=((0, 1),), edits=(edit,), summary="[m0]\n~~~\ngo\n~~~", method="model")

    told = report(path, (record, NOTHING), FMT)

    assert [entry.fate for entry in told.entries] == [
        "summarised",
        "verbatim",
        "cleared",
        "edited",
        "verbatim",
        "verbatim",
    ]
    assert told.entries[2].parts[0].instead == "[cleared: bash · recall m2]"
    assert "line 0 of it" in told.entries[2].parts[0].text
    assert told.entries[3].parts[0].left_out == 5
    assert (told.entries[0].after, told.entries[1].after) == (0, path[1].tokens)
    assert [(share.author, share.before > 0, share.after > 0) for share in told.shares] == [
        ("human", True, True),
        ("assistant", True, True),
        ("tool", True, True),
        ("summary", False, True),
    ]
