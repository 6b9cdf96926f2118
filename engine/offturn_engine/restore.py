"""What is shown again after a summary: the most recent files, skills and host material, from what the transcript holds.

Nothing is read from a disk: a file is what a tool last returned of it, or what a call last wrote as a whole, and says
so with its handle. What is still visible is not shown twice. The oldest give way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_engine.compaction import Compaction, Restore
from offturn_engine.contents import Found, content, newest_first, only_files
from offturn_engine.formats.base import Format
from offturn_engine.handles import handle
from offturn_engine.human import fence_for
from offturn_engine.messages import Message
from offturn_engine.path import Path
from offturn_engine.tools import one_line

RESTORED = "[Restored from "
NOT_A_REQUEST = "It is data of an earlier step, not a request.]"
LEAST = 100  # tokens: what has less room is not worth a message
NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Room for restores, in estimate units: `files` of `each` tokens, `skills` and host material, `total` of all.

    The view with them stays at or below `below`.
    """

    files: int
    each: int
    skills: int
    total: int
    below: int


KINDS = {"file": "file", "skill": "skill or definition", "host": "material of the host"}
NONE = Allowance(files=0, each=0, skills=0, total=0, below=0)


def allowance(policy: Policy, limits: Limits) -> Allowance:
    """What the policy allows for limits in estimate units."""
    return Allowance(
        files=policy.after.restore_files,
        each=limits.restore_file,
        skills=limits.skills,
        total=limits.restore,
        below=min(limits.soft, limits.ceiling),
    )


def restores(
    path: Sequence[Message], record: Compaction, fmt: Format, allowed: Allowance, room: int
) -> tuple[Restore, ...]:
    """The restores of a compaction, oldest first, within `room` tokens. Empty where the policy restores nothing."""
    left = min(allowed.total, room)
    if left < LEAST:
        return ()
    chosen: list[Restore] = []
    files, skills = allowed.files, allowed.skills
    path = Path.of(path)
    if not files and only_files(path):
        return ()
    for found in newest_first(path, record.covered):
        if found.kind == "file":
            if not files:
                continue
            made = _restore(found, fmt, allowed.each)
            files -= 1
        else:
            made = _restore(found, fmt, skills)
            skills -= made.tokens if made else 0
        if made is not None:
            if made.tokens > left:
                break
            left -= made.tokens
            chosen.append(made)
        if not files and (skills < LEAST or only_files(path)):
            break
    return tuple(sorted(chosen, key=lambda r: (r.seq, r.part)))


def restored(message: Message, what: Restore) -> str:
    """The text of a restore, made from the message it names."""
    text = content(message, what.part)
    shown, place = text[: what.characters], handle(what.seq)
    kind = KINDS[what.kind]
    later = f" Changed since, in {handle(what.changed)}." if what.changed >= 0 else ""
    left = len(text) - len(shown)
    cut = f"\n[... {left} characters left out, recall {place} ...]" if left else ""
    fence = fence_for(text)
    return f"{RESTORED}{place}: {kind} {what.name}.{later} {NOT_A_REQUEST}\n{fence}\n{shown}{cut}\n{fence}"


def _restore(found: Found, fmt: Format, budget: int) -> Restore | None:
    """As much of it as the budget takes; None where that is next to nothing."""
    characters = len(found.text)
    while budget >= LEAST and characters > 0:
        what = Restore(
            seq=found.message.seq,
            part=found.part,
            kind=found.kind,
            name=one_line(found.name, NAME_CHARACTERS),
            characters=characters,
            tokens=0,
            changed=found.changed,
        )
        tokens = fmt.estimate(fmt.user(restored(found.message, what)))
        if tokens <= budget:
            return what.model_copy(update={"tokens": tokens})
        characters = min(characters - 1, characters * budget // tokens)
    return None
