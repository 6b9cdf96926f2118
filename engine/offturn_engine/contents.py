"""Contents that a transcript holds as a whole: of files, as a tool last returned or a call last wrote them, of skills, and
texts of the host.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Literal

from offturn_engine.groups import Place, pair
from offturn_engine.messages import Message, TextPart, ToolCallPart, ToolResultPart
from offturn_engine.operations import operations
from offturn_engine.path import Path
from offturn_engine.ranges import Ranges, contains
from offturn_engine.results import failed
from offturn_engine.tools import arguments_of, command_of, family_of, normalised, one_line, plain_name

SKILL_TOOLS = frozenset(
    map(plain_name, ("skill", "load_skill", "use_skill", "read_skill", "activate_skill", "skill_view", "tool_search"))
)
"""Tools whose results are instructions or definitions that stay in force."""

SKILL_KEYS = ("skill", "name", "skill_name", "command", "query")
WHOLE_KEYS = ("content", "contents", "file_text", "text")
"""Arguments in which a call writes a file as a whole."""

_WHOLE_FILE = re.compile(r"(?:cat|nl|bat) [^\s;&|<>$`*?]+")


@dataclass(slots=True)
class Found:
    """The newest content of one file, skill or host text. `touched`: seq of the last call that concerned it."""

    message: Message
    part: int
    kind: Literal["file", "skill", "host"]
    name: str
    text: str
    touched: int
    changed: int = -1


def newest_first(path: Path, covered: Ranges) -> Iterator[Found]:
    """What covered messages hold, the last touched first. Only as much of the path is looked at as is asked for."""
    for given, found in enumerate(_Backwards(path, covered).run()):
        if found is None:  # the order of these two is that in which they came up first
            every = (f for f in in_order(path) if contains(covered, f.message.seq))
            yield from sorted(every, key=lambda f: -f.touched)[given:]
            return
        yield found


def only_files(path: Path) -> bool:
    """Does the path hold contents of files alone? Asked for once there are enough of those, to look no further."""
    return path.once(_only_files)


def _only_files(path: Path) -> bool:
    for message in path:
        if message.origin == "host" or any(plain_name(call.name) in SKILL_TOOLS for _, call in message.calls):
            return False
    return True


class _Backwards:
    """From the last message to the first. What was found waits until nothing that is still to come can be newer."""

    def __init__(self, path: Path, covered: Ranges) -> None:
        self._path = path
        self._covered = covered
        self._pairs = pair(path)
        self._known: set[tuple[str, str]] = set()  # what there is no more to find out about
        self._touched: dict[str, int] = {}  # files that were changed after the content that is looked for
        self._answered: dict[Place, int] = {}  # calls still to come, by the seq of their result
        self._waiting: list[tuple[int, int, Found]] = []  # a heap: the last touched on top

    def run(self) -> Iterator[Found | None]:
        """In the order of `touched`; None, and nothing more, where that does not decide."""
        for i in range(len(self._path) - 1, -1, -1) if self._path.ascending else ():
            self._look(i)
            latest = max(self._path[i - 1].seq if i else -1, _first(self._answered), _first(self._touched))
            ready: list[Found] = []
            while self._waiting and -self._waiting[0][0] > latest:
                ready.append(heappop(self._waiting)[2])
            if len({found.touched for found in ready}) < len(ready):
                names = {found.name for found in ready if found.kind == "file"}
                came_up = [found.name for found in in_order(self._path, names)]
                if len(came_up) < len(ready):  # not files alone
                    yield None
                    return
                ready.sort(key=lambda found: (-found.touched, came_up.index(found.name)))
            yield from ready
        if self._waiting or not self._path.ascending:
            yield None

    def _look(self, i: int) -> None:
        message = self._path[i]
        for part, _ in message.results:
            call = self._pairs.call_of.get((i, part))
            if call is not None and call[0] < i:
                self._answered[call] = message.seq
        for number, call_part in reversed(message.calls):
            self._answered.pop((i, number), None)
            answer = self._pairs.result_of.get((i, number))
            if answer is not None:
                answered = self._path[answer[0]]
                result = answered.parts[answer[1]]
                if isinstance(result, ToolResultPart):
                    self._call(message, number, call_part, answered, answer[1], result)
        if message.origin == "host" and message.text.strip():
            self._found(_of_host(message))

    def _call(
        self, message: Message, number: int, call: ToolCallPart, answered: Message, part: int, result: ToolResultPart
    ) -> None:
        if plain_name(call.name) in SKILL_TOOLS:
            if not failed(result, call):
                self._found(_of_skill(call, answered, part, result))
            return
        done = operations(call)
        if not done or failed(result, call):
            return
        for path, what in reversed(done):
            if ("file", path) in self._known:
                continue
            alone = len(done) == 1 and not result.media
            if (held := _of_file(path, what, message, number, call, answered, part, result, alone=alone)) is not None:
                if path in self._touched:
                    held.touched = held.changed = self._touched.pop(path)
                self._found(held)
            elif _takes_away(what):
                self._known.add(("file", path))
                self._touched.pop(path, None)
            elif what != "read":
                self._touched.setdefault(path, message.seq)

    def _found(self, found: Found) -> None:
        key = (found.kind, found.text if found.kind == "host" else found.name)
        if key in self._known:
            return
        self._known.add(key)
        if found.text.strip() and contains(self._covered, found.message.seq):
            heappush(self._waiting, (-found.touched, len(self._known), found))


def in_order(path: Path, names: Collection[str] | None = None) -> list[Found]:
    """The newest content of each file and skill, and each text of the host's, in the order in which they came up.

    names: only of these files.
    """
    pairs = pair(path)
    files: dict[str, Found] = {}
    others: dict[tuple[str, str], Found] = {}
    for i, message in enumerate(path):
        if names is None and message.origin == "host" and message.text.strip():
            told = _of_host(message)
            others["host", told.text] = told
        for number, call in message.calls:
            loads = plain_name(call.name) in SKILL_TOOLS
            done = [] if loads else operations(call)
            if names is not None and not any(file in names for file, _ in done):
                continue
            answer = pairs.result_of.get((i, number))
            if answer is None:
                continue
            answered = path[answer[0]]
            result = answered.parts[answer[1]]
            if not isinstance(result, ToolResultPart) or failed(result, call):
                continue
            if loads:
                skill = _of_skill(call, answered, answer[1], result)
                others["skill", skill.name] = skill
                continue
            for file, what in done:
                alone = len(done) == 1 and not result.media
                held = _of_file(file, what, message, number, call, answered, answer[1], result, alone=alone)
                if held is not None:
                    files[file] = held
                elif _takes_away(what):
                    files.pop(file, None)
                elif what != "read" and file in files:
                    files[file].touched = files[file].changed = message.seq
    every = (*files.values(), *others.values())
    return [f for f in every if f.text.strip() and (names is None or f.name in names)]


def _of_host(message: Message) -> Found:
    part = next(i for i, body in enumerate(message.parts) if isinstance(body, TextPart) and body.text.strip())
    text = content(message, part)
    return Found(message, part, "host", one_line(text, 60), text, message.seq)


def _of_skill(call: ToolCallPart, answered: Message, part: int, result: ToolResultPart) -> Found:
    return Found(answered, part, "skill", _skill_name(call), result.text, answered.seq)


def _of_file(
    path: str,
    what: str,
    message: Message,
    number: int,
    call: ToolCallPart,
    answered: Message,
    part: int,
    result: ToolResultPart,
    *,
    alone: bool,
) -> Found | None:
    """The content of a file that one call tells; None where it tells none. alone: it concerns nothing else."""
    if not alone:
        return None
    if what == "read":
        whole = family_of(call) == "read" or _WHOLE_FILE.fullmatch(normalised(command_of(call)))
        return Found(answered, part, "file", path, result.text, answered.seq) if whole else None
    if what in ("written", "created") and (text := _written(call)):
        return Found(message, number, "file", path, text, message.seq)
    return None


def _first(seqs: Mapping[Any, int]) -> int:
    """The highest of seqs that were put in from the highest to the lowest; -1 where there is none."""
    return next(iter(seqs.values()), -1)


def _takes_away(what: str) -> bool:
    return what == "deleted" or what.startswith("moved to")


def _skill_name(call: ToolCallPart) -> str:
    arguments = arguments_of(call)
    return next((str(v) for key in SKILL_KEYS if isinstance(v := arguments.get(key), str) and v), call.name)


def _written(call: ToolCallPart) -> str:
    """The text by which a call of the write family wrote its file as a whole; "" where its arguments hold none."""
    if family_of(call) != "write":
        return ""
    arguments = arguments_of(call)
    return next((v for key in WHOLE_KEYS if isinstance(v := arguments.get(key), str) and v), "")


def content(message: Message, part: int) -> str:
    """The text behind a restore."""
    body = message.parts[part]
    if isinstance(body, ToolCallPart):
        return _written(body)
    return body.text if isinstance(body, TextPart | ToolResultPart) else ""
