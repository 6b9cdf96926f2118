"""The minimum of the audit: what a policy demands of the facts, the one repair, and what takes the summary's place."""

from __future__ import annotations

import asyncio

from offturn.auditing import settled
from offturn.summarise import FACTS_LOST, Unavailable, Written
from offturn_config.presets import load
from offturn_engine.compaction import Compaction, LedgerItem, Sections
from offturn_engine.draft import Candidate
from offturn_engine.messages import Message
from offturn_engine.plan import Summarise
from offturn_engine.ranges import ranges_of
from offturn_engine.summary import SummaryRequest
from offturn_engine.templates import NINE_SECTION
from offturn_worker.offline import PaidHere
from tests.engine.raws import human, says
from tests.policies.histories import filler, path_of, turns, used
from tests.policies.scripted import Model, asked, record, wanted

NAME = "balanced"
SAID = "Retry a failed export at most 3 times."
WRONG = "- Retry a failed export at most 5 times."
RIGHT = "- Retry a failed export at most 3 times."
OVERRIDES = {"gate": "always_summarise"}


def session() -> list[Message]:
    work = [raw for i in range(20) for raw in used("bash", {"command": f"make step{i}"}, filler(300, f"step {i}"), i)]
    return path_of([human(SAID), *work, says("All steps of the exports were made."), *turns(12)], load(NAME))


def base(path: list[Message], **fields: object) -> Compaction:
    """A generation of the first twenty messages, whose record has a constraint changed."""
    bodies = tuple(
        {"Goal": "- Look at the exports.", "Constraints and Preferences": WRONG}.get(t, "") for t in NINE_SECTION.titles
    )
    first = {
        "number": 1,
        "covered": ranges_of(range(20)),
        "sections": Sections(titles=NINE_SECTION.titles, bodies=bodies),
        "ledger": (LedgerItem(kind="constraint", key=SAID.lower(), text=SAID, seq=0),),
        "summary": "...",
        "method": "model",
    }
    return Compaction.model_validate({**first, **fields})


def summary(constraint: str) -> str:
    return record(
        titles=NINE_SECTION.titles,
        **{
            "Goal": "Look at the exports.",
            "Constraints and Preferences": constraint[2:],
            "Done": "All steps of the exports were made.",
        },
    )


def plan_of(path: list[Message], first: Compaction, **overrides: object) -> Summarise:
    return wanted(path, load(NAME, {**OVERRIDES, **overrides}), 20_000, first)


def settle(asks: Summarise, model: Model) -> tuple[Candidate, Written] | Unavailable:
    written = asked(asks, model)
    assert isinstance(written, Written), written
    return asyncio.run(settled(asks, written, model, PaidHere()))


def test_A1_a_summary_that_turns_a_constraint_round_is_repaired_once() -> None:
    path = session()
    model = Model([summary(WRONG), summary(RIGHT)])
    made = settle(plan_of(path, base(path)), model)
    assert not isinstance(made, Unavailable)
    assert made[0].compaction.audit.mutated == 0
    assert len(model.asked) == 2
    assert f"[m0 human]\n- {SAID}" in model.asked[1].source
    assert made[1].spent.calls == 2


def test_A1_and_given_up_where_that_does_not_help() -> None:
    path = session()
    model = Model([summary(WRONG)])
    made = settle(plan_of(path, base(path)), model)
    assert isinstance(made, Unavailable)
    assert (made.kind, made.try_again, made.spent.calls) == (FACTS_LOST, False, 2)


def test_A1_an_answer_that_is_no_summary_repairs_nothing() -> None:
    path = session()
    model = Model([summary(WRONG), "no record at all"])
    made = settle(plan_of(path, base(path)), model)
    assert isinstance(made, Unavailable)
    assert (made.kind, made.spent.calls) == (FACTS_LOST, 3)


def test_A2_facts_that_neither_view_nor_messages_hold_are_too_few() -> None:
    """A record that tells of files no message holds: nothing can be handed back that would help."""
    path = session()
    unknown = tuple(LedgerItem(kind="file", key=f"gone/away{i}.py", text="edited", seq=3) for i in range(4))
    asks = plan_of(path, base(path, ledger=unknown, sections=Sections()), **{"ledger.budget": 0})

    def answer(request: SummaryRequest) -> str:
        return summary("- none")

    made = settle(asks, Model([answer]))
    assert isinstance(made, Unavailable)
    assert made.kind == FACTS_LOST


def test_a_policy_that_demands_nothing_publishes_what_it_gets_and_says_so() -> None:
    path = session()
    model = Model([summary(WRONG)])
    made = settle(plan_of(path, base(path), **{"audit.constraints": 0.0}), model)
    assert not isinstance(made, Unavailable)
    assert made[0].compaction.audit.mutated == 1
    assert [(one.kind, one.seq, one.verdict) for one in made[0].compaction.audit.not_kept][:1] == [
        ("constraint", 0, "mutated")
    ]
    assert len(model.asked) == 1
