"""What `offturn session export` and `offturn tenant export` wrote, as a conversation: what the session showed of its log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from offturn_engine.errors import InvalidMessage
from offturn_engine.files import Conversation, Earlier, Lines, UnreadableFile
from offturn_engine.files.conversation import Notes
from offturn_engine.files.source import MOST_RECORDS, Source
from offturn_engine.files.values import count, fields, listed, name, text
from offturn_engine.formats import Format, get, names
from offturn_engine.messages import ORIGINS, Message, Origin
from offturn_engine.ranges import Ranges, inside, length, normalise, place_of, seqs_of

MAGIC = re.compile(rb'\s*(?:\[\s*)?\{\s*"kind"\s*:\s*"session"\s*,\s*"tenant"\s*:')
"""How an export begins, as lines or as the one list that `--json` writes."""
HEAD = 200  # bytes that show it
AGAIN = "make it again"


class _Shown(NamedTuple):
    """A line of a message on the path, and its place in the file."""

    line: Mapping[str, Any]
    place: str


def conversations(lines: Lines) -> list[Conversation]:
    """The one conversation of an export; none where its path is empty. Raises UnreadableFile with the line."""
    source = Source(lines)
    about: Mapping[str, Any] = {}
    first, messages, seqs = "", 0, set[int]()
    shown, generations = list[_Shown](), dict[int, Mapping[str, Any]]()
    for value, place in source.records(kept=False):
        line = fields(value)
        match line.get("kind"):
            case "session":
                about, first, messages = line, place, _messages(line.get("messages"), place)
            case "generation":
                generations[count(line.get("number"))] = line
            case "message":
                seqs.add(_new_seq(line.get("seq"), seqs, messages, place))
                if line.get("on_path"):
                    source.keep(line.get("message"), place)
                    shown.append(_Shown(line, place))
    if len(seqs) != messages:
        raise UnreadableFile(f"the export has {len(seqs)} of {messages} messages: {AGAIN}")
    path = _path(about.get("path"), messages, [count(one.line.get("seq")) for one in shown], first)
    if not shown:
        return []
    shown.sort(key=lambda one: place_of(path, count(one.line.get("seq"))))  # an amended message has a later seq
    config, number = fields(about.get("config")), count(about.get("generation"))
    fmt = _format(config.get("format"), first)
    parsed = list(_parsed(shown, fmt))
    force, lost = generations.get(number, {}), tuple[str, ...]()
    if number and not _is_whole(force, path):
        lost = (f"generation {number} was in force: its line is missing or damaged, and it is not taken over",)
    earlier = _earlier(force, path, shown) if number and not lost else ()
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
                *lost,
                f"it had policy {policy} and a window of {window}: --policy and --window give it them again",
            ),
            origins={i: origin for i, (_, origin) in enumerate(parsed) if origin is not None},
            earlier=earlier,
        )
    ]


def _messages(value: Any, place: str) -> int:
    if type(value) is not int or value < 0:
        raise UnreadableFile(f"{place}, field 'messages': a {type(value).__name__} that is no number of them: {AGAIN}")
    return value


def _new_seq(seq: Any, seqs: AbstractSet[int], messages: int, place: str) -> int:
    """The seq of one more message. Raises UnreadableFile where it is none of the log's, or was there before."""
    if type(seq) is not int or not 0 <= seq < messages or seq in seqs:
        told = f"{seq}{' again' * (seq in seqs)}" if type(seq) is int else f"a {type(seq).__name__}"
        raise UnreadableFile(
            f"{place}, field 'seq': {told}, where each number from 0 to {messages - 1} is to be there once: {AGAIN}"
        )
    return seq


def _path(value: Any, messages: int, shown: Sequence[int], place: str) -> Ranges:
    """What the session showed, in its order: that need not ascend, for an amended message has a later seq."""
    path = _pairs(value, messages)
    if path is None:
        raise UnreadableFile(
            f"{place}, field 'path': a {type(value).__name__} that is no list of ranges of the {messages} messages: "
            f"the export is damaged, {AGAIN}"
        )
    if length(path) != len(shown) or sorted(seqs_of(path)) != sorted(shown):
        raise UnreadableFile(
            f"{place}, field 'path': it names other messages than the {len(shown)} that say `on_path`: "
            f"the export is damaged, {AGAIN}"
        )
    return path


def _pairs(value: Any, messages: int) -> Ranges | None:
    """Ranges of a log of so many messages; None where it is something else."""
    pairs = [listed(pair) for pair in listed(value)]
    whole = isinstance(value, list) and all(
        len(pair) == 2 and all(type(seq) is int for seq in pair) and 0 <= count(pair[0]) < count(pair[1]) <= messages
        for pair in pairs
    )
    return tuple((count(low), count(high)) for low, high in pairs) if whole else None


def _format(value: Any, place: str) -> Format:
    if value not in names():
        raise UnreadableFile(
            f"{place}, field 'config.format': there is no format {name(value)!r}, one of {', '.join(names())}: {AGAIN}, "
            "or import it with the release that wrote it"
        )
    return get(value)


def _is_whole(generation: Mapping[str, Any], path: Ranges) -> bool:
    """Is all there that `_earlier` reads? One in force covers nothing that is off the path."""
    covered = _pairs(generation.get("covered"), MOST_RECORDS)
    sections = fields(generation.get("sections"))
    titles, bodies = sections.get("titles"), sections.get("bodies")
    return (
        covered is not None
        and inside(covered, normalise(path))
        and count(generation.get("seen")) > 0
        and isinstance(titles, list)
        and isinstance(bodies, list)
        and len(titles) == len(bodies)
        and all(isinstance(said, str) for said in (*titles, *bodies))
    )


def _parsed(shown: Sequence[_Shown], fmt: Format) -> Iterator[tuple[Message, Origin | None]]:
    """Each message, and its origin where the format would say another."""
    before: Message | None = None
    for line, place in shown:
        raw, origin = line.get("message"), line.get("origin")
        if origin not in ORIGINS:
            raise UnreadableFile(
                f"{place}, field 'origin': a {type(origin).__name__} that is none of {', '.join(ORIGINS)}: {AGAIN}, "
                "or import it with the release that wrote it"
            )
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
    written = zip(sections["titles"], sections["bodies"], strict=True)
    prose = "\n\n".join(f"## {title}\n{body}" for title, body in written if body.strip())
    covered = force["covered"]
    if not prose or not covered:
        return ()
    upto = 1 + max(place_of(path, high - 1) for _, high in covered)
    at = sum(count(one.line.get("seq")) < count(force.get("seen")) for one in shown)
    return (
        Earlier(at=at, covered=min(upto, len(shown)), summary=prose, tokens_before=count(force.get("tokens_before"))),
    )


def _count(notes: Notes, shown: Sequence[_Shown], generations: int) -> None:
    """What of the export a new session does not get."""
    notes.count("redacted messages, without what they said", sum(one.line.get("redacted") is not None for one in shown))
    notes.count("pins not taken over", sum(bool(one.line.get("pinned")) for one in shown))
    notes.count("ids of the host not taken over", sum(one.line.get("id") is not None for one in shown))
    notes.count("generations not taken over", generations)
