"""What the gate catches of a summary that says something else than its source, and what it lets through.

Bad lines change an amount, a path or a negation, exchange a value, or invent; good lines say the same in other words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn.testing import summary_of
from offturn_engine.compaction import Sections
from offturn_engine.contradictions import contradictions, said
from offturn_engine.grounding import ungrounded
from offturn_engine.inventions import inventions
from offturn_engine.prompt import request
from offturn_engine.reply import Refusal, check
from offturn_engine.rules import Rule
from offturn_engine.runs import Words
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_engine.templates import NINE_SECTION
from tests.engine.gate_amounts import AMOUNTS
from tests.engine.gate_let_off import LET_OFF
from tests.engine.gate_lifted import LIFTED
from tests.engine.gate_paraphrases import PARAPHRASES
from tests.engine.gate_probes import PROBES, Probe
from tests.engine.gate_samples import GATES, Gate
from tests.engine.recorded_reports import TRANSCRIPTS, reports

BAD = [
    pytest.param(gate, line, rule, id=f"{gate.language}-{i}")
    for gate in GATES
    for i, (line, rule) in enumerate(gate.bad)
]
GOOD = [pytest.param(gate, line, id=f"{gate.language}-{i}") for gate in GATES for i, line in enumerate(gate.good)]
BUDGET = 1_200
ALL = (*PROBES, *PARAPHRASES, *AMOUNTS, *LET_OFF, *LIFTED)


def asked_of(transcript: str, language: str) -> SummaryRequest:
    return request(
        transcript,
        previous=None,
        template=NINE_SECTION,
        max_output_tokens=2 * BUDGET,
        focus="",
        note="",
        language=language,
        model="test",
    )


def judged(gate: Gate, line: str) -> Sections | Refusal:
    """The verdict on a good summary with this line among its constraints."""
    bodies = {
        "Goal": gate.goal,
        "Constraints and Preferences": line,
        "Done": gate.done,
        "Next Steps": gate.next_step,
    }
    text = "\n\n".join(f"## {title}\n{bodies.get(title, '- none')}" for title in NINE_SECTION.titles)
    asked = asked_of(gate.transcript, gate.language)
    reply = SummaryReply(text=text, finish="stop", model="test")
    return check(reply, asked, language=gate.language, budget=BUDGET, told=said(gate.said))


@pytest.mark.parametrize(("gate", "line", "rule"), BAD)
def test_what_says_something_else_is_caught(gate: Gate, line: str, rule: Rule) -> None:
    verdict = judged(gate, line)
    assert isinstance(verdict, Refusal)
    assert rule in verdict.reasons
    assert verdict.repairable


@pytest.mark.parametrize("told", [*(gate.said for gate in GATES), *(probe.said for probe in PROBES)])
def test_the_summarizer_for_tests_of_hosts_contradicts_nobody(told: Sequence[str]) -> None:
    transcript = "".join(f"[m{i} human]\n{text}\n\n" for i, text in enumerate(told))
    asked = asked_of(transcript, "")
    reply = SummaryReply(text=summary_of(asked), finish="stop", model="fake")
    assert isinstance(check(reply, asked, language="", budget=BUDGET, told=said(told)), Sections)


@pytest.mark.parametrize(("gate", "line"), GOOD)
def test_what_says_the_same_in_other_words_is_taken(gate: Gate, line: str) -> None:
    verdict = judged(gate, line)
    assert isinstance(verdict, Sections), verdict


def against(probe: Probe, sentence: str) -> list[str]:
    source = "\n".join((*probe.said, probe.rest))
    told = said(probe.said)
    return [*(one.change for one in contradictions(sentence, told, source)), *ungrounded(sentence, source)]


@pytest.mark.parametrize(("probe", "sentence"), [(probe, sentence) for probe in ALL for sentence in probe.bad])
def test_what_contradicts_is_found(probe: Probe, sentence: str) -> None:
    assert against(probe, sentence)


@pytest.mark.parametrize(("probe", "sentence"), [(probe, sentence) for probe in ALL for sentence in probe.good])
def test_what_does_not_is_passed(probe: Probe, sentence: str) -> None:
    assert against(probe, sentence) == []


VERBS = ("deploy", "delete", "publish", "rename")
THINGS = ("the archive", "the old index", "the report of May", "the invoices table")
ORDERS = st.one_of(
    st.builds("{} {}.".format, st.sampled_from(VERBS), st.sampled_from(THINGS)).map(str.capitalize),
    st.builds("Do not {} {}.".format, st.sampled_from(VERBS), st.sampled_from(THINGS)),
    st.builds("{} must have at most {} rows.".format, st.sampled_from(THINGS), st.integers(2, 90)).map(str.capitalize),
    st.builds("Never {} {}, but {} {}.".format, *(st.sampled_from(some) for some in (VERBS, THINGS, VERBS, THINGS))),
)


@settings(max_examples=150)
@given(st.lists(ORDERS, min_size=1, max_size=8), st.data())
def test_what_was_said_does_not_contradict_itself(orders: list[str], data: st.DataObject) -> None:
    """Also where humans changed their minds: any of it, word for word, is what one of them said."""
    quoted = data.draw(st.lists(st.sampled_from(orders), min_size=1, max_size=5))
    assert contradictions("\n".join(f"- {one}" for one in quoted), said(orders), "\n".join(orders)) == []


@settings(max_examples=60)
@given(st.sampled_from(VERBS), st.sampled_from(THINGS), st.lists(ORDERS, max_size=6))
def test_a_dropped_not_is_found_whatever_else_was_said(verb: str, thing: str, others: list[str]) -> None:
    turned = f"{verb} {thing}.".capitalize()
    rest = [one for one in others if one != turned and f"but {verb} {thing}." not in one]
    orders = [f"Do not {verb} {thing}.", *rest]
    found = contradictions(f"- {turned}", said(orders), "\n".join(orders))
    assert [one.change for one in found][:1] == ["negation"]


@pytest.mark.parametrize("unit", ["do not run it. ", "never! ", "不要部署。", "7 rows, ", "a/b.py ", "no "])
def test_hostile_answers_and_histories_end(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    assert len(contradictions(text, said([text]), text)) <= 50
    assert len(inventions(text, Words(unit))) <= 50


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the real transcripts are not there")
def test_reports_on_real_sessions_are_hardly_ever_caught(record_property: Callable[[str, object], None]) -> None:
    """Reports are not summaries: an assistant may propose what nobody has said. Recorded summaries may not be caught."""
    against, invented, total = 0, 0, 0
    for report in reports():
        if not report.path:
            continue
        total += 1
        source = report.source
        told = said(m.text for m in report.path if m.origin == "human")
        found = contradictions(report.text, told, source)
        made_up = inventions(report.text, Words(source))
        assert not (report.summary and (found or made_up or ungrounded(report.text, source))), report.name
        against += bool(found)
        invented += bool(made_up)
    rate = f"caught wrongly, of {total}: {against} as contradictions, {invented} as inventions"
    print(rate)
    record_property("false positives", rate)
    assert total > 200
    assert against == 0
    assert invented * 50 <= total
