"""Writes a summary out of the transcript's own sentences: grounded by construction, the same for the same prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from offturn_engine.tokens import estimate_text
from offturn_worker.fake_model.prompt import Prompt, read

ITEMS = 6  # of one section
NOTHING = "none"

# What a section is about, by a word of its title, and what a sentence that belongs there sounds like. The goal and the
# progress go by place, not by sound.
_Topic: TypeAlias = tuple[str, re.Pattern[str], re.Pattern[str]]

_TOPICS: tuple[_Topic, ...] = tuple(
    (topic, re.compile(title, re.IGNORECASE), re.compile(sound, re.IGNORECASE))
    for topic, title, sound in (
        ("goal", r"goal|task|intent|request", r"(?!)"),
        ("constraints", r"constraint|preference|rule", r"\b(?:never|always|must|only|do not|don't|keep|without|no)\b"),
        ("blocked", r"block|waiting", r"\b(?:blocked|waiting|cannot|can't|until)\b"),
        ("errors", r"error|fix|fail|problem", r"\b(?:error|fail\w*|bug|broken|wrong|traceback|exception)\b"),
        ("decisions", r"decision|choice", r"\b(?:because|instead|decided|chose|rather|so that)\b"),
        ("next", r"next|pending|remain|todo", r"\b(?:next|then|remaining|still|todo|will|i'll|let me)\b"),
        (
            "done",
            r"done|complete|finished|accomplish",
            r"\b(?:fixed|added|wrote|written|passe[sd]|updated|created|done|finished|found|changed|recorded|now|ran|read)\b",
        ),
        ("progress", r"progress|current|state", r"(?!)"),
    )
)


def summarise(system: str, content: str, *, max_tokens: int) -> str:
    """A summary with the headings asked for, within the budget named in the prompt and well within `max_tokens`.

    An update keeps the previous items and moves what was in progress to what is done.
    """
    prompt = read(system, content)
    sections = _carried(prompt)
    for topic, sentences in _new(prompt).items():
        title = _title(prompt.titles, topic)
        if topic and title is not None:
            sections[title] = _unique([*sections[title], *sentences])
    budget = min(max_tokens * 2 // 3, prompt.budget * 3 // 4 if prompt.budget else max_tokens)
    return _fitted(_once(sections), budget)


def _title(titles: Iterable[str], topic: str) -> str | None:
    return next((title for title in titles if _topic(title) == topic), None)


def _topic(title: str) -> str:
    return next((topic for topic, pattern, _ in _TOPICS if pattern.search(title)), "details")


def _carried(prompt: Prompt) -> dict[str, list[str]]:
    """The previous summary's items under the titles asked for; what was in progress is done by now."""
    sections: dict[str, list[str]] = {title: [] for title in prompt.titles}
    done = _title(prompt.titles, "done")
    for title, items in prompt.previous.items():
        moved = done if _topic(title) == "progress" and done and prompt.assistant else title
        if moved in sections:
            sections[moved] += [item for item in items if item != NOTHING]
    return sections


def _new(prompt: Prompt) -> dict[str, list[str]]:
    """Topic -> sentences of this transcript, each under one topic, in order. Only humans set constraints."""
    found: dict[str, list[str]] = {
        "goal": [*prompt.human[:1], *prompt.human[-1:]] or ([] if prompt.previous else prompt.assistant[:1]),
        "progress": prompt.assistant[-1:],
        "errors": list(prompt.failures),
    }
    for sentence in prompt.human[1:-1]:
        found.setdefault(_heard(sentence, _TOPICS), []).append(sentence)
    for sentence in prompt.assistant[:-1]:
        found.setdefault(_heard(sentence, _TOPICS[2:]), []).append(sentence)
    if "done" not in found:
        found["done"] = prompt.assistant[-ITEMS:-1]
    return found


def _heard(sentence: str, topics: Sequence[_Topic]) -> str:
    """The topic a sentence sounds like; "" for one that says nothing in particular."""
    fallback = "details" if re.search(r"\d|[/_]", sentence) else ""
    return next((topic for topic, _, sound in topics if sound.search(sentence)), fallback)


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def _once(sections: dict[str, list[str]]) -> dict[str, list[str]]:
    """Each item under the first title that has it; the first item and the newest ones of each section."""
    seen: set[str] = set()
    kept: dict[str, list[str]] = {}
    for title, items in sections.items():
        fresh = [item for item in items if item not in seen]
        kept[title] = fresh if len(fresh) <= ITEMS else [fresh[0], *fresh[1 - ITEMS :]]
        seen.update(kept[title])
    return kept


def _fitted(sections: dict[str, list[str]], budget: int) -> str:
    """The text; while it is above the budget the longest section loses its second item."""
    while estimate_text(_text(sections)) > budget:
        longest = max(sections.values(), key=lambda items: sum(map(len, items)), default=[])
        if len(longest) < 2:
            break
        del longest[1]
    return _text(sections)


def _text(sections: dict[str, list[str]]) -> str:
    blocks = (
        f"## {title}\n" + "\n".join(f"- {item}" for item in items or [NOTHING]) for title, items in sections.items()
    )
    return "\n\n".join(blocks)
