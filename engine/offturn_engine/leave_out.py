"""What leaves a message as a whole part: reasoning of turns that are over, and images that newer ones have replaced.

Signed or encrypted reasoning goes for a whole turn or not at all (invariant 4): a provider checks it against its turn.
An image becomes a line of text with its handle; what a human wrote beside it stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from offturn_engine.handles import handle
from offturn_engine.media import known
from offturn_engine.messages import Edit, MediaPart, Message, ThinkingPart, ToolResultPart
from offturn_engine.tokens import IMAGE, estimate_text

NAMED = 4  # images of one part

Gain = tuple[tuple[Edit, ...], int]
"""Edits that are made together, and the tokens they free."""


def old_reasoning(messages: Sequence[Message], protected: Collection[int]) -> dict[int, list[Gain]]:
    """By index: reasoning that may go. The last turn keeps all of its signed reasoning, protected messages any."""
    found: dict[int, list[Gain]] = {}
    starts = [0, *(i for i, m in enumerate(messages) if m.origin == "human" and i), len(messages)]
    for number, (low, high) in enumerate(pairwise(starts)):
        over = number < len(starts) - 2
        for i in range(low, high):
            message = messages[i]
            if message.seq not in protected and not _empty_without(message):
                for part, thought in _thoughts(message, signed=False):
                    found.setdefault(i, []).append(((_gone(message, part),), max(1, estimate_text(thought.text))))
        signed = [i for i in range(low, high) if any(True for _ in _thoughts(messages[i], signed=True))]
        if over and signed and not any(messages[i].seq in protected or _empty_without(messages[i]) for i in signed):
            edits = tuple(_gone(messages[i], part) for i in signed for part, _ in _thoughts(messages[i], signed=True))
            gain = sum(
                estimate_text(thought.text) for i in signed for _, thought in _thoughts(messages[i], signed=True)
            )
            found.setdefault(signed[0], []).append((edits, max(1, gain)))
    return found


def old_images(messages: Sequence[Message], newest: int, may: Callable[[int, int], bool]) -> dict[int, list[Gain]]:
    """By index: images that are older than the `newest` ones. `may(index, part)`: may this result be changed?"""
    found: dict[int, list[Gain]] = {}
    shown: dict[str, str] = {}  # by digest: where the newest such image stands that stays
    left = newest
    for i in range(len(messages) - 1, -1, -1):
        message = messages[i]
        for part in range(len(message.parts) - 1, -1, -1):
            body = message.parts[part]
            count = _images(body)
            goes = count and left <= 0 and not (isinstance(body, ToolResultPart) and not may(i, part))
            if goes:
                text = _without_images(message, part, count, shown)
                found.setdefault(i, []).append(
                    ((Edit(seq=message.seq, part=part, rule="image", text=text),), count * IMAGE)
                )
            elif count:
                name = _name(message, part)
                shown |= {k.digest: shown.get(k.digest, name) for k in map(known, _media(body)) if k.digest}
            left -= count
    return found


def _images(part: object) -> int:
    if isinstance(part, ToolResultPart):
        return part.media
    return int(isinstance(part, MediaPart) and part.kind == "image")


def _media(part: object) -> tuple[MediaPart, ...]:
    return part.attached if isinstance(part, ToolResultPart) else (part,) if isinstance(part, MediaPart) else ()


def _name(message: Message, part: int) -> str:
    return handle(message.seq, part if len(message.parts) > 1 else None)


def _without_images(message: Message, part: int, count: int, shown: Mapping[str, str]) -> str:
    body = message.parts[part]
    said = [f"{k}, the same as in {shown[k.digest]}" if k.digest in shown else str(k) for k in map(known, _media(body))]
    what = "; ".join(said[:NAMED]) or "no more is known"
    line = f"[{'image' if count == 1 else f'{count} images'} left out ({what}) · recall {_name(message, part)}]"
    return f"{body.text}\n{line}" if isinstance(body, ToolResultPart) and body.text else line


def _thoughts(message: Message, *, signed: bool) -> Iterator[tuple[int, ThinkingPart]]:
    for part, body in enumerate(message.parts):
        if isinstance(body, ThinkingPart) and body.signed is signed:
            yield part, body


def _empty_without(message: Message) -> bool:
    return all(isinstance(part, ThinkingPart) for part in message.parts)


def _gone(message: Message, part: int) -> Edit:
    return Edit(seq=message.seq, part=part, rule="reasoning")
