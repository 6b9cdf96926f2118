"""A summarizer's answer, accepted or refused. A refused answer never reaches a view, not even in part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from offturn_engine.compaction import Sections
from offturn_engine.contradictions import contradictions
from offturn_engine.grounding import familiar, ungrounded
from offturn_engine.headings import Answer, answer
from offturn_engine.inventions import inventions
from offturn_engine.language import detect
from offturn_engine.prompt import record_text
from offturn_engine.rules import HOPELESS, REMEDIES, Rule
from offturn_engine.runs import Words
from offturn_engine.statements import Statement
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_engine.symptoms import (
    chats,
    chats_in_line,
    copies,
    imitates,
    impersonates,
    is_cut,
    is_error,
    is_raw_error,
    leaks,
    loops,
    refuses,
    without_closing,
)
from offturn_engine.tokens import estimate_text
from offturn_engine.transcript_text import clean

LONGEST = 200_000
"""Characters of an answer that are judged; a longer one is over any budget."""

_SLACK = 1.25  # a model cannot count tokens, and the estimate is one
_LEAST_FAMILIAR = 0.05
_LEAST_WORDS = 40  # characters below which familiarity says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why an answer is not taken: names of rules, the most telling first, and how many anchors had no source."""

    reasons: tuple[Rule, ...]
    repairable: bool
    ungrounded: int = 0


def check(
    reply: SummaryReply, request: SummaryRequest, *, language: str, budget: int, told: Sequence[Statement] = ()
) -> Sections | Refusal:
    """The answer's sections under the request's titles ("" where it had nothing), or why it is refused.

    `language` is what `detect` found for the user ("" checks nothing), `budget` the size in tokens asked for; a quarter
    more is taken. `told`: what humans said in all that the summary is to cover. Never raises, whatever the text.
    """
    text = clean(reply.text)
    taken = answer(text[:LONGEST], request.titles)
    bodies = {title: without_closing(body) for title, body in taken.bodies.items()}
    sections = Sections(
        titles=request.titles,
        bodies=tuple(bodies.get(title, "") for title in request.titles),
        template=request.template,
    )
    loose = ungrounded("\n\n".join(sections.bodies), request.source)
    found = {*_form(reply, taken, bodies, request.titles), *_content(sections, bodies, request.source, language)}
    found.update(_against(sections, told, request.source))
    if loose:
        found.add("ungrounded")
    if len(text) > LONGEST or estimate_text(record_text(sections)) > budget * _SLACK:
        found.add("over-budget")
    if not found:
        return sections
    reasons = tuple(rule for rule in REMEDIES if rule in found)
    return Refusal(reasons=reasons, repairable=not HOPELESS.intersection(reasons), ungrounded=len(loose))


def _form(reply: SummaryReply, taken: Answer, bodies: Mapping[str, str], titles: Sequence[str]) -> Iterator[Rule]:
    """Faults of the answer as a whole."""
    if not taken.text:
        yield "empty"
    if reply.finish == "length" or is_cut(taken.text):
        yield "cut"
    goal = bodies.get(titles[0], "")
    if reply.finish == "refused" or (refuses(goal, 4) if bodies else refuses(taken.text, 200)):
        yield "refused"
    if is_raw_error(goal) if bodies else is_error(taken.text):
        yield "error-text"
    if _is_missing(bodies, titles):
        yield "missing-sections"
    if not bodies and chats(taken.text):
        yield "conversational"
    if impersonates(taken.text) or any(map(imitates, bodies.values())):
        yield "impersonation"
    if leaks(taken.text, bodies):
        yield "template-leak"
    if loops(taken.text):
        yield "looping"


def _content(sections: Sections, bodies: Mapping[str, str], source: str, language: str) -> Iterator[Rule]:
    """Faults of what the sections say."""
    if not bodies:
        return
    text = "\n\n".join(sections.bodies)
    if not sections.bodies[0] or sum(map(bool, sections.bodies)) < 2:
        yield "empty-sections"
    if copies(bodies):
        yield "copied-section"
    if chats_in_line(text):
        yield "conversational"
    written = detect(sections.bodies)
    if language and written and written != language:
        yield "wrong-language"
    words = Words(source)
    if len(text) >= _LEAST_WORDS and familiar(text, words) < _LEAST_FAMILIAR:
        yield "ungrounded"
    if inventions(text, words):
        yield "ungrounded"


def _against(sections: Sections, told: Sequence[Statement], source: str) -> Iterator[Rule]:
    """What the sections say against what humans said."""
    for found in contradictions("\n\n".join(sections.bodies), told, source):
        yield "contradicted" if found.change in ("negation", "value") else "mutated"


def _is_missing(bodies: Mapping[str, str], titles: Sequence[str]) -> bool:
    """Half of the headings must be there, the first among them, and one of the last two: they show it was not cut."""
    return len(bodies) * 2 < len(titles) or titles[0] not in bodies or not bodies.keys() & set(titles[-2:])
