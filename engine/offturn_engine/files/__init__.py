"""Readers of transcript files: `detect` says which format a file has, `read` gives its conversations.

    openai-chat   a list of messages; an object with `messages`; a list of those; JSON lines
    anthropic     the same with anthropic messages, `system` beside them
    taubench      objects with `traj`, alone or in a list
    pi            sessions of the pi coding agent (JSON lines)

Readers repair what recorders leave broken and count every repair in `Conversation.notes`; what `read` returns is
accepted by the strict format.
"""

from __future__ import annotations

from offturn_engine.files import pi
from offturn_engine.files.chats import chats, taubench
from offturn_engine.files.conversation import Conversation, UnreadableFile
from offturn_engine.files.detection import NAMES, detected
from offturn_engine.files.source import Data, Source, load

__all__ = ["NAMES", "Conversation", "UnreadableFile", "detect", "read"]


def detect(data: Data) -> tuple[str, str]:
    """(name of the file's format, why). Raises UnreadableFile where it is none of NAMES."""
    return detected(load(data).records)


def read(data: Data, *, format: str | None = None) -> list[Conversation]:  # noqa: A002 -- the public word for it
    """The conversations of a file, given whole or as lines; `format` is one of NAMES, None to detect it.

    A file without conversations gives []. Raises UnreadableFile naming the line, or the message and field.
    """
    if format is not None and format not in NAMES:
        raise UnreadableFile(f"there is no file format {format!r}: one of {', '.join(NAMES)}")
    source = load(data)
    if source.records in ([], [{}]):
        return []
    return _conversations(source, format or detected(source.records)[0])


def _conversations(source: Source, name: str) -> list[Conversation]:
    if name == "pi":
        return pi.conversations(source)
    return taubench(source) if name == "taubench" else chats(source, name)
