"""What `offturn session export` and `offturn tenant export` wrote, as a conversation: what the session showed of its log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from offturn_engine.errors import InvalidMessage
from offturn_engine.files import Conversation, Earlier, Lines, UnreadableFile
from offturn_engine.files.conversation import Notes
from offturn_engine.files.source import Source
from offturn_engine.files.values import count, fields, listed, text
from offturn_engine.formats import Format, get
from offturn_engine.messages import Message, Origin
from offturn_engine.ranges import Ranges, place_of

MAGIC = re.compile(rb'\s*(?:\[\s*)?\{\s*"kind"\s*:\s*"session"\s*,\s*"tenant"\s*:')
"""How an export begins, as lines or as the one list that `--json` writes."""
HEAD = 200  # bytes that show it


class _Shown(NamedTuple):
    """A line of a message on the path, and its place in the file."""

    line: Mapping[str, Any]
    place: str


def conversations(lines: Lines) -> list[Conversation]:
    """The one conversation of an export; none where its path is empty. Raises UnreadableFile with the line."""
    source = Source(lines)
    about: Mapping[str, Any] = {}
    shown, generations, messages = list[_Shown](), dict[int, Mapping[str, Any]](), 0
    for value, place in source.records(kept=False):
        line = fields(value)
        match line.get("kind"):
            case "session":
                about = line
            case "generation":
                generations[count(line.get("number"))] = line
            case "message":
                messages += 1
                if line.get("on_path"):
                    source.keep(line.get("message"), place)
                    shown.append(_Shown(line, place))
    if messages != about.get("messages"):
        raise UnreadableFile(f"the export has {messages} of {count(about.get('messages'))} messages: make it again")
    if not shown:
        return []
    path = _ranges(about.get("path"))
    shown.sort(key=lambda one: place_of(path, count(one.line.get("seq"))))  # an amended message has a later seq
    config, force = fields(about.get("config")), generations.get(count(about.get("generation")), {})
    fmt = get(text(config.get("format")))
    parsed = list(_parsed(shown, fmt))
    earlier = _earlier(force, path, shown)
    _count(source.notes, shown, len(generations) - len(earlier))
    policy, window = text(fields(config.get("policy")).get("name")), count(config.get("window"))
    return [
        Conversation(
            title=text(about.get("session")),
            format=fmt.name,
            messages=tuple(message.raw for message, _ in parsed),
            system=None,
            source_format="offturn",
            notes=(
                *source.notes.lines(),
                f"it had policy {policy} and a window of {window}: --policy and --window give it them again",
            ),
            origins={i: origin for i, (_, origin) in enumerate(parsed) if origin is not None},
            earlier=earlier,
        )
    ]


def _parsed(shown: Sequence[_Shown], fmt: Format) -> Iterator[tuple[Message, Origin | None]]:
    """Each message, and its origin where the format would say another."""
    before: Message | None = None
    for line, place in shown:
        raw, origin = line.get("message"), line.get("origin")
        try:
            message = fmt.after(fmt.parse(raw), before)
            told = None if origin == message.origin else origin
            before = message if told is None else fmt.parse(raw, origin=told)
        except InvalidMessage as error:
            field = f", field {error.field!r}" if error.field else ""
            raise UnreadableFile(f"{place}{field}: {error.problem}") from None
        yield before, told


def _earlier(force: Mapping[str, Any], path: Ranges, shown: Sequence[_Shown]) -> tuple[Earlier, ...]:
    """The generation in force, where a model wrote it: what code took from the transcript, code takes again."""
    sections = fields(force.get("sections"))
    written = zip(listed(sections.get("titles")), listed(sections.get("bodies")), strict=False)
    prose = "\n\n".join(f"## {title}\n{body}" for title, body in written if text(body).strip())
    covered = _ranges(force.get("covered"))
    if not prose or not covered:
        return ()
    upto = 1 + max(place_of(path, high - 1) for _, high in covered)
    at = sum(count(one.line.get("seq")) < count(force.get("seen")) for one in shown)
    return (
        Earlier(at=at, covered=min(upto, len(shown)), summary=prose, tokens_before=count(force.get("tokens_before"))),
    )


def _ranges(value: Any) -> Ranges:
    pairs = [listed(pair) for pair in listed(value)]
    if not all(len(pair) == 2 and all(isinstance(seq, int) for seq in pair) for pair in pairs):
        raise UnreadableFile("a path or covered range is no pair of numbers: the export is damaged, make it again")
    return tuple((count(low), count(high)) for low, high in pairs)


def _count(notes: Notes, shown: Sequence[_Shown], generations: int) -> None:
    """What of the export a new session does not get."""
    notes.count("redacted messages, without what they said", sum(one.line.get("redacted") is not None for one in shown))
    notes.count("pins not taken over", sum(bool(one.line.get("pinned")) for one in shown))
    notes.count("ids of the host not taken over", sum(one.line.get("id") is not None for one in shown))
    notes.count("generations not taken over", generations)
