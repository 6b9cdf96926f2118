"""From one format to another: system messages to where the target has them, a first message it takes, what is lost told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from offturn_engine.crossing.spoken import Spoken, spoken
from offturn_engine.crossing.writers import WRITERS, Written
from offturn_engine.formats.base import Format
from offturn_engine.messages import Json, RawMessage
from offturn_engine.notes import with_text

USER_FIRST = frozenset({"anthropic", "gemini"})
"""Formats that take no system messages in the list, and a user's message first."""

OPENING = "[the conversation goes on here]"
TOLD = "system messages told as the user's"
LOST = "view in format {!r}: left out or changed on the way from {!r}: {}"
OPENED = "view in format {!r}: it must begin with a user's message, so one was put in front"


@dataclass(frozen=True, slots=True)
class Converted:
    """`sources`: of each message the index of the one it comes from. `warnings`: sentences without content."""

    messages: list[RawMessage]
    system: Json
    sources: list[int]
    warnings: tuple[str, ...]


def convert(raws: Sequence[RawMessage], source: Format, target: Format, system: Json = None) -> Converted:
    """The same conversation in another format. `system`: a prompt given apart, as the target takes it.

    Raises InvalidMessage for a list the source format cannot read.
    """
    lost: Counter[str] = Counter()
    said = spoken(raws, source, lost)
    if target.name in USER_FIRST:
        leading = [*takewhile(lambda one: one.kind == "system", said)]
        system = _joined(system, [one.text for one in leading if one.text])
        said = said[len(leading) :]
        lost[TOLD] += sum(one.kind == "system" for one in said)
    made = WRITERS[target.name](lost).write(said)
    told = [f"{count} {name}" for name, count in sorted(lost.items()) if count]
    warnings = [LOST.format(target.name, source.name, ", ".join(told))] if told else []
    if target.name in USER_FIRST and made and target.parse(made[0][0]).role != "user":
        made.insert(0, (target.user(OPENING), made[0][1]))
        warnings.append(OPENED.format(target.name))
    if target.name == "anthropic":
        _trim(made, said)
    return Converted([raw for raw, _ in made], system, [at for _, at in made], tuple(warnings))


def _joined(system: Json, leading: Sequence[str]) -> Json:
    """The prompt given apart, and behind it what the list has as its system messages."""
    if not leading:
        return system
    text = "\n\n".join(leading)
    return text if system is None else with_text(system, text)


def _trim(made: Written, said: Sequence[Spoken]) -> None:
    """Anthropic takes no last assistant message that ends in blanks."""
    if not made or said[-1].kind != "reply" or said[-1].calls:
        return
    raw, at = made[-1]
    content: Any = raw["content"]
    if isinstance(content, str):
        made[-1] = ({**raw, "content": content.rstrip()}, at)
    elif content[-1]["type"] == "text":
        made[-1] = ({**raw, "content": [*content[:-1], {**content[-1], "text": content[-1]["text"].rstrip()}]}, at)
