"""Fates: every part has one, it is what the view really shows, and the counts are those of the record."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_config.presets import names
from offturn_engine.compaction import NOTHING, Compaction, Restore
from offturn_engine.errors import CannotFit
from offturn_engine.fallback import fall_back
from offturn_engine.fates import RULES, Fate, fates, lineage, off_path
from offturn_engine.formats import get
from offturn_engine.formats.base import Format
from offturn_engine.human import fence_for
from offturn_engine.messages import Edit, Message, TextPart, ToolResultPart
from offturn_engine.plan import PruneOnly, Summarise, apply, emergency, plan
from offturn_engine.ranges import contains
from offturn_engine.render import Rendering, render
from tests.engine.raws import calls, groups, human, placed, result, says, system
from tests.policies.test_properties import FORMATS, HISTORIES, SECTIONS, scaled, small


def compacted(path: list[Message], base: Compaction, fmt: Format, name: str, way: str) -> Compaction | None:
    """One generation by a policy: as planned, as an emergency, or as what takes the place of a failed summary."""
    policy, limits = scaled(name, {"prune.reasoning": "drop", "prune.images": 1}), small(name)
    try:
        if way == "emergency":
            made = emergency(path, base, fmt, policy=policy, limits=replace(limits, usable=limits.soft))
        else:
            found = plan(path, base, fmt, policy=policy, limits=limits, reason="manual")
            if not isinstance(found, PruneOnly | Summarise):
                return None
            fallen = fall_back(found) if isinstance(found, Summarise) and way == "fallback" else None
            trimmed = 1 if way == "trimmed" else 0
            made = (
                found.candidate
                if isinstance(found, PruneOnly)
                else fallen or apply(found, SECTIONS, head_trimmed=trimmed)
            )
    except CannotFit:
        return None
    return made.compaction.model_copy(update={"number": base.number + 1})


def unaltered(path: list[Message], fate: Fate, rendering: Rendering, record: Compaction, fmt: Format) -> bool:
    """Does the view hold this part as it was recorded: in its message, or as a text of its own?"""
    part = next(m for m in path if m.seq == fate.seq).parts[fate.part]
    for item in rendering.items:
        if item.seq == fate.seq and item.kind in ("message", "replay"):
            message = next(m for m in path if m.seq == fate.seq)
            before = Counter(map(repr, message.parts))
            after = Counter(map(repr, fmt.parse(item.raw, origin=message.origin).parts))
            return after[repr(part)] >= before[repr(part)]
    if isinstance(part, ToolResultPart) and not part.media:
        again = next((i.raw for i in rendering.items if i.seq == fate.seq and i.kind == "restore"), None)
        fence = fence_for(part.text)
        return again is not None and f"\n{fence}\n{part.text}\n{fence}" in fmt.parse(again).text
    if isinstance(part, TextPart):
        again = next((i.raw for i in rendering.items if i.seq == fate.seq and i.kind == "restore"), None)
        fence = fence_for(part.text)
        whole = f"\n{fence}\n{part.text}\n{fence}"
        if again is not None and whole in fmt.parse(again).text:
            return True
        said = next((h.text for h in record.human if h.seq == fate.seq), None)
        if not said:
            return fate.rule == "quoted"  # no words: neither is wrong
        # Under its own handle: others may have said the same, and a short one listed by handle is no quotation.
        quoted = rf"\[m{fate.seq}\][^\n]*\n~+\n{re.escape(said)}\n~"
        return bool(re.search(quoted, record.summary) or re.search(quoted, unescape(record.summary)))
    return False


@pytest.mark.parametrize("name", names())
@settings(max_examples=15)
@given(st.data())
def test_each_part_has_one_fate_and_it_is_what_the_view_shows(name: str, data: st.DataObject) -> None:
    format_name = data.draw(FORMATS)
    raws = data.draw(HISTORIES[format_name])
    line: tuple[Compaction, ...] = (NOTHING,)
    for policy in (data.draw(st.sampled_from(names())), name):
        fmt = get(format_name, scaled(policy, {}).trigger.estimator)
        path = placed(raws[: len(raws) * (len(line) + 1) // 3] if len(line) == 1 else raws, fmt)
        way = data.draw(st.sampled_from(["planned", "emergency", "fallback", "trimmed"]))
        made = compacted(path, line[0], fmt, policy, way) if path else None
        line = line if made is None else (made, *line)
    record, fmt = line[0], get(format_name)
    path = placed(raws, fmt)
    rendering = render(path, record, fmt)

    found = fates(path, line)

    assert [(f.seq, f.part) for f in found] == [(m.seq, part) for m in path for part in range(len(m.parts))]
    for fate in found:
        told = unaltered(path, fate, rendering, record, fmt)
        assert told == (fate.fate == "verbatim"), fate
        assert (fate.covered is not None) == contains(record.covered, fate.seq)
        assert fate.generation <= record.number
    agrees_with_the_record(path, found, record, rendering)


def agrees_with_the_record(path: list[Message], found: list[Fate], record: Compaction, rendering: Rendering) -> None:
    """The same sums as the invariants: all that is not shown is covered, edits are the record's, human words its audit."""
    shown = {item.seq for item in rendering.items if item.kind in ("message", "late")}
    assert {f.seq for f in found if f.covered is None} == shown
    edited = {(e.seq, e.part) for e in record.edits}
    rules = {"stub", "duplicate", "image", "images", "arguments", "middle-cut"}
    assert {(f.seq, f.part) for f in found if f.rule in rules} <= edited
    assert {(f.seq, f.part) for f in found if f.covered is None and f.rule in {"kept", "late", "system-note"}} == {
        (f.seq, f.part) for f in found if f.covered is None
    } - edited
    with_text = {m.seq for m in path if m.origin == "human" and any(isinstance(p, TextPart) for p in m.parts)}
    if with_text == {m.seq for m in path if m.origin == "human"}:
        forms = Counter(next(f.rule for f in found if f.seq == s and f.kind == "text") for s in with_text)
        assert (forms["quoted"], forms["human-cut"], forms["human-by-handle"]) == (
            record.audit.human_verbatim,
            record.audit.human_cut,
            record.audit.human_by_handle,
        )


SUMMARY = "[Summary]\n\n## Goal\nship it\n\n[End of the summary]"


def rules(path: list[Message], *line: Compaction) -> dict[str, str]:
    """Rules by handle; where only one generation made it so, with its number."""
    return {f.handle: f"{f.rule} {f.generation}{' or before' if f.earlier else ''}" for f in fates(path, line)}


def test_since_is_the_oldest_generation_of_an_unbroken_run() -> None:
    path = placed([*groups(2), human("go on"), says("done"), human("and now?")])
    stub = Edit(seq=1, part=0, rule="stub", text="[cleared]")
    first = Compaction(number=1, edits=(stub,), method="prune")
    second = Compaction(number=2, base=1, edits=(stub, replace(stub, seq=3)), method="prune")
    third = Compaction(number=5, base=2, covered=((0, 2),), edits=second.edits[1:], summary=SUMMARY, method="model")

    line = lineage(third, {1: first, 2: second})

    assert [record.number for record in line] == [5, 2, 1, 0]
    made_so = dict.fromkeys(("m0.0", "m0.1", "m1"), "model 5") | {"m3": "stub 2"}
    assert rules(path, *line) == dict.fromkeys(("m2.0", "m2.1", "m4", "m5", "m6"), "kept 0") | made_so
    assert rules(path, *line[1:])["m1"] == "stub 1"
    assert rules(path, *lineage(third, {2: second}))["m3"] == "stub 2 or before"
    assert rules(path, *lineage(third, {}))["m6"] == "kept 5 or before"


def test_who_accounts_for_a_covered_message() -> None:
    path = placed([*groups(4), human("and now?")])
    hidden = Compaction(number=1, covered=((0, 2),), method="prune", summary=SUMMARY)
    read = Compaction(number=2, base=1, covered=((0, 4),), method="model", summary=SUMMARY)
    trimmed = Compaction(number=3, base=2, covered=((0, 8),), method="model", concessions={"head_trimmed": 2})

    found = fates(path, lineage(trimmed, {1: hidden, 2: read}))

    by_seq = {f.seq: (f.fate, f.rule, f.generation) for f in found}
    assert by_seq[1] == ("omitted", "hidden", 1)
    assert by_seq[3] == ("summarised", "model", 2)
    assert by_seq[5] == ("omitted", "head-trimmed", 3)
    assert by_seq[7] == ("summarised", "model", 3)
    assert {f.seq: f.gave_way for f in found}[5] == {"head_trimmed": 2}


def test_what_a_view_does_to_a_message_beside_edits() -> None:
    path = placed([system("Be kind."), calls("c1"), human("stop"), result("c1", "late"), calls("c2"), result("c2")])
    restore = Restore(seq=5, part=0, kind="file", name="a.py", characters=1, tokens=9)
    record = Compaction(
        number=1,
        covered=((1, 2), (4, 6)),
        summary=SUMMARY,
        method="extractive",
        system_note="[Note]",
        restores=(restore,),
    )

    assert rules(path, record, NOTHING) == {
        "m0": "system-note 1",
        "m1": "ledger 1",
        "m2": "kept 0",
        "m3": "late 1",
        "m4": "ledger 1",
        "m5": "restored-part 1",
    }
    whole = record.model_copy(update={"restores": (restore.model_copy(update={"characters": 2}),)})
    assert rules(path, whole, NOTHING)["m5"] == "restored 1"


def test_what_is_deleted_or_no_longer_shown() -> None:
    path = placed([human("secret"), says("ok")])

    assert [f.fate for f in fates(path, (NOTHING,), redacted=[0])] == ["redacted", "verbatim"]
    assert [f.seq for f in fates(path, (NOTHING,), wanted=[1])] == [1]
    assert [f.rule for f in off_path(path[0], redacted=True)] == ["redact"]
    assert [(f.rule, f.fate) for f in off_path(path[1], redacted=False)] == [("off-path", "omitted")]


def test_every_rule_has_its_words() -> None:
    assert all(words and words[0] != words[0].upper() for _, words in RULES.values())
    assert len({words for _, words in RULES.values()}) == len(RULES)
