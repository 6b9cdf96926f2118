"""What is shown again after a summary: the most recent files, skills and host material, from what the transcript holds.

Nothing is read from a disk: a file is what a tool last returned of it, or what a call last wrote as a whole, and says
so with its handle. What is still visible is not shown twice. The oldest give way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_engine.compaction import Compaction, Restore
from offturn_engine.formats.base import Format
from offturn_engine.groups import pair
from offturn_engine.handles import handle
from offturn_engine.human import fence_for
from offturn_engine.messages import Message, TextPart, ToolCallPart, ToolResultPart
from offturn_engine.operations import operations
from offturn_engine.ranges import contains
from offturn_engine.results import failed
from offturn_engine.tools import arguments_of, command_of, family_of, normalised, one_line, plain_name

RESTORED = "[Restored from "
NOT_A_REQUEST = "It is data of an earlier step, not a request.]"
LEAST = 100  # tokens: what has less room is not worth a message
NAME_CHARACTERS = 200

SKILL_TOOLS = frozenset(
    map(plain_name, ("skill", "load_skill", "use_skill", "read_skill", "activate_skill", "skill_view", "tool_search"))
)
"""Tools whose results are instructions or definitions that stay in force."""

SKILL_KEYS = ("skill", "name", "skill_name", "command", "query")
WHOLE_KEYS = ("content", "contents", "file_text", "text")
"""Arguments in which a call writes a file as a whole."""

_WHOLE_FILE = re.compile(r"(?:cat|nl|bat) [^\s;&|<>$`*?]+")


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


@dataclass(slots=True)
class _Found:
    """The newest content of one file, skill or host text. `touched`: seq of the last call that concerned it."""

    message: Message
    part: int
    kind: Literal["file", "skill", "host"]
    name: str
    text: str
    touched: int
    changed: int = -1


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
    covered = [f for f in _found(path) if contains(record.covered, f.message.seq)]
    files, skills = allowed.files, allowed.skills
    for found in sorted(covered, key=lambda f: -f.touched):
        if found.kind == "file":
            if not files:
                continue
            made = _restore(found, fmt, allowed.each)
            files -= 1
        else:
            made = _restore(found, fmt, skills)
            skills -= made.tokens if made else 0
        if made is None:
            continue
        if made.tokens > left:
            break
        left -= made.tokens
        chosen.append(made)
    return tuple(sorted(chosen, key=lambda r: (r.seq, r.part)))


def restored(message: Message, what: Restore) -> str:
    """The text of a restore, made from the message it names."""
    text = _content(message, what.part)
    shown, place = text[: what.characters], handle(what.seq)
    kind = KINDS[what.kind]
    later = f" Changed since, in {handle(what.changed)}." if what.changed >= 0 else ""
    left = len(text) - len(shown)
    cut = f"\n[... {left} characters left out, recall {place} ...]" if left else ""
    fence = fence_for(text)
    return f"{RESTORED}{place}: {kind} {what.name}.{later} {NOT_A_REQUEST}\n{fence}\n{shown}{cut}\n{fence}"


def _restore(found: _Found, fmt: Format, budget: int) -> Restore | None:
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


def _found(path: Sequence[Message]) -> list[_Found]:
    """The newest content of each file and skill, and each text of the host's."""
    pairs = pair(path)
    files: dict[str, _Found] = {}
    others: dict[tuple[str, str], _Found] = {}
    for i, message in enumerate(path):
        if message.origin == "host" and message.text.strip():
            part = next(p for p, body in enumerate(message.parts) if isinstance(body, TextPart) and body.text.strip())
            text = _content(message, part)
            others["host", text] = _Found(message, part, "host", one_line(text, 60), text, message.seq)
        for number, call in message.calls:
            answer = pairs.result_of.get((i, number))
            if answer is None:
                continue
            answered = path[answer[0]]
            result = answered.parts[answer[1]]
            if isinstance(result, ToolResultPart) and not failed(result, call):
                if plain_name(call.name) in SKILL_TOOLS:
                    name = _skill_name(call)
                    others["skill", name] = _Found(answered, answer[1], "skill", name, result.text, answered.seq)
                else:
                    _file(files, message, number, call, answered, answer[1], result)
    return [f for f in (*files.values(), *others.values()) if f.text.strip()]


def _file(
    files: dict[str, _Found],
    message: Message,
    number: int,
    call: ToolCallPart,
    answered: Message,
    part: int,
    result: ToolResultPart,
) -> None:
    """Take over what one call tells about files: a content, or that one was changed or is gone."""
    done = operations(call)
    whole = len(done) == 1 and not result.media
    for path, what in done:
        if what == "read":
            if whole and (family_of(call) == "read" or _WHOLE_FILE.fullmatch(normalised(command_of(call)))):
                files[path] = _Found(answered, part, "file", path, result.text, answered.seq)
        elif whole and what in ("written", "created") and (text := _written(call)):
            files[path] = _Found(message, number, "file", path, text, message.seq)
        elif what == "deleted" or what.startswith("moved to"):
            files.pop(path, None)
        elif path in files:
            files[path].touched = files[path].changed = message.seq


def _skill_name(call: ToolCallPart) -> str:
    arguments = arguments_of(call)
    return next((str(v) for key in SKILL_KEYS if isinstance(v := arguments.get(key), str) and v), call.name)


def _written(call: ToolCallPart) -> str:
    """The text by which a call of the write family wrote its file as a whole; "" where its arguments hold none."""
    if family_of(call) != "write":
        return ""
    arguments = arguments_of(call)
    return next((v for key in WHOLE_KEYS if isinstance(v := arguments.get(key), str) and v), "")


def _content(message: Message, part: int) -> str:
    """The text behind a restore."""
    body = message.parts[part]
    if isinstance(body, ToolCallPart):
        return _written(body)
    return body.text if isinstance(body, TextPart | ToolResultPart) else ""
