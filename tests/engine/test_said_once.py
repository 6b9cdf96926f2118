"""What a view says once it need not say twice: quoted statements leave the ledger's room, repeated words the quotes'."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offturn_config.presets import load
from offturn_engine.audit import audited
from offturn_engine.compaction import NO_SECTIONS, NOTHING, HumanItem
from offturn_engine.draft import Candidate
from offturn_engine.human import human_items
from offturn_engine.human import render as render_human
from offturn_engine.ledger import ledger, render
from offturn_engine.ledger.superseding import superseded
from offturn_engine.messages import Message
from offturn_engine.plan import PruneOnly, Skip, apply, plan
from offturn_engine.tokens import estimate_text
from tests.engine import raws
from tests.engine.talk import human, log, ran, says, used

RULE = "Never touch config.py."
HOST = "The staging host is app.example.com."
OLD, NEW = "The release date is 2027-03-01.", "The release date is now 2027-05-09."
PATHS = [f"src/module_{i}.py" for i in range(6)]
EDITS = [used("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "ok") for path in PATHS]
SAID = log(human(RULE), human(HOST), human(OLD), human(NEW), *EDITS)
FACTS = ledger(SAID)
QUOTED = render_human(human_items(SAID), budget=10_000).quoted
ALL = estimate_text(render(FACTS, budget=10_000).text)


def test_where_all_facts_fit_each_has_its_line() -> None:
    block = render(FACTS, budget=ALL, quoted=QUOTED)
    assert block == render(FACTS, budget=ALL)
    assert all(line in block.text.split("\n") for line in (f"- [m0] {RULE}", f"- [m1] {HOST}"))


def test_where_not_all_fit_what_is_quoted_has_no_line_and_facts_that_stand_nowhere_else_take_its_room() -> None:
    short, once = render(FACTS, budget=ALL - 1), render(FACTS, budget=ALL - 1, quoted=QUOTED)
    assert short.recoverable > 0
    assert once.text.split("\n") == [
        "### Files",
        *(f"- [m{4 + 2 * i}] {path}: edited" for i, path in enumerate(PATHS)),
        "### Stated",
        f"- [m2] {OLD}",
        "- [m3] was 2027-03-01 until m3",
    ]
    assert once.kept + once.recoverable == short.kept + short.recoverable
    assert estimate_text(once.text) <= ALL - 1


def test_only_its_own_message_says_a_statement() -> None:
    other = {99: f"[m99]\n~~~\nIs this right? {RULE} {HOST}\n~~~", 0: "[m0]\n~~~\nNever mind.\n~~~"}
    assert render(FACTS, budget=60, quoted=other) == render(FACTS, budget=60)


def test_an_identifier_in_a_quoted_statement_goes_with_it() -> None:
    link = "https://git.example.com/shop/pull/4711"
    messages = log(human(f"The pull request is {link}."), *EDITS)
    facts, said = ledger(messages), render_human(human_items(messages), budget=10_000)
    assert {"value", "identifier"} <= {item.kind for item in facts}
    block = render(facts, budget=estimate_text(render(facts, budget=10_000).text) - 1, quoted=said.quoted)
    assert link not in block.text
    assert block.recoverable == 0


def spoken(*texts: str) -> list[HumanItem]:
    return [HumanItem(seq=seq, text=text, answered=False) for seq, text in enumerate(texts)]


def test_words_that_were_said_several_times_stand_once_where_room_is_short() -> None:
    items = spoken("alpha " * 300, "Go on.", "Sigue.", "继续。", "Go  on.", "Sigue.", "继续。", "Go on.", "Stop here.")
    whole = render_human(items, budget=10_000)
    assert (whole.verbatim, whole.freed) == (9, 0)
    block = render_human(items, budget=200)
    lines = block.text.split("\n")
    assert lines[0] == "By handle only: [m1] [m2] [m3] [m4]"
    assert [lines.count(text) for text in ("Go on.", "Sigue.", "继续。", "Stop here.")] == [1, 1, 1, 1]
    assert (block.verbatim, block.cut, block.by_handle) == (4, 1, 4)
    assert 0 < block.freed <= 200 - estimate_text(block.text) + 4


def test_what_repetitions_leave_is_for_facts_and_every_other_message_is_as_it_was() -> None:
    chatter = [f"words of their own {i} {'and more ' * 5}" for i in range(20)]
    apart = [text for i, one in enumerate(chatter) for text in (one, f"Go on {i:02}.")]
    same = [text for one in chatter for text in (one, "Go on 00.")]
    before, after = (render_human(spoken(*texts), budget=500) for texts in (apart, same))
    assert [one in before.text for one in chatter] == [one in after.text for one in chatter]
    assert before.freed == 0 < after.freed


def test_media_are_no_repetition() -> None:
    picture = HumanItem(seq=1, text="Look.", answered=False, media=1)
    block = render_human([*spoken("beta " * 300), picture, picture.model_copy(update={"seq": 2})], budget=150)
    assert block.freed == 0


SENTENCES = st.sampled_from(
    [f"Never touch the file conf_{i}.py{' in any way, whatever the reason is' * (i % 4)}." for i in range(12)]
    + [f"The port of service number {i} is 80{i:02}." for i in range(10, 14)]
    + ["Go on.", "Where are we?", "No toques la tabla de clientes.", "不要修改 main 分支。"]
)


@given(st.lists(st.lists(SENTENCES, min_size=1, max_size=3), min_size=1, max_size=20), st.integers(1, 600), st.data())
def test_no_constraint_leaves_the_view_by_it(said: list[list[str]], room: int, data: st.DataObject) -> None:
    messages = log(*(human(" ".join(sentences)) for sentences in said), says("All right."), ran("make", "ok"), *EDITS)
    facts, budget = ledger(messages), data.draw(st.integers(1, 300))
    block = render_human(human_items(messages), budget=room)
    alone = render(facts, budget=budget)
    beside = render(facts, budget=budget + block.freed, quoted=block.quoted)
    gone = superseded(facts).gone
    constraints = [item for item in facts if item.kind == "constraint" and ("constraint", item.key) not in gone]
    for item in constraints:
        assert item.text not in alone.text + block.text or item.text in beside.text + block.text
    assert beside.kept + beside.recoverable == alone.kept + alone.recoverable


POLICY = load("balanced")
LIMITS = replace(POLICY.limits(20_000), human=400, ledger=120)


def made(path: list[Message]) -> Candidate:
    found = plan(path, NOTHING, raws.OPENAI, policy=POLICY, limits=LIMITS, reason="manual")
    assert not isinstance(found, Skip)
    return audited(found.candidate if isinstance(found, PruneOnly) else apply(found, NO_SECTIONS))


def test_a_view_says_each_statement_once_and_the_audit_finds_it_kept() -> None:
    rules = [
        RULE,
        "Don't push to the main branch.",
        "Ask me before you delete a table.",
        "No borres la copia.",
        "不要发布。",
    ]
    turns = [raw for rule in rules for raw in (raws.human(rule), raws.says(f"All right. {'so it goes ' * 400}"))]
    made_parts = [
        raw
        for i in range(14)
        for raw in (raws.calls(f"c{i}", arguments=f'{{"command": "make part_{i}"}}'), raws.result(f"c{i}"))
    ]
    path = raws.placed([*turns, *made_parts, raws.human("And now?"), raws.says("word " * 3_000), raws.human("Go on.")])
    candidate = made(path)
    summary = candidate.compaction.summary
    assert [summary.count(rule) for rule in rules] == [1] * 5
    [constraints] = [one for one in candidate.compaction.audit.kinds if one.kind == "constraint"]
    assert (constraints.kept, constraints.total) == (5, 5)
