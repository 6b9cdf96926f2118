"""Readers of transcript files: `detect` says which format a file has, `read` gives its conversations.

    claude-code       sessions of Claude Code (JSON lines), agents beside the main conversation; with -loglines their export
    pi                sessions of the pi coding agent, OpenClaw and oh-my-pi (JSON lines)
    codex             rollouts of Codex (JSON lines); its screen log is recognised and refused
    copilot           events of the Copilot CLI (JSON lines)
    kimi              the wire file of the Kimi CLI (JSON lines)
    hermes            sessions of Hermes
    cline             sessions of Cline
    opencode          OpenCode's events, exported documents, and rows of its database
    gemini-cli        sessions of Gemini CLI (JSON, or JSON lines with corrections)
    qwen-code         sessions of Qwen Code (JSON lines)
    openhands         OpenHands' events: a list, or the history of each object
    openhands-v1      events of OpenHands' SDK: the files of a conversation's folder, as lines
    swe-agent         SWE-agent's trajectories
    tau2              tau2 results: an object with simulations
    inspect           Inspect's logs as JSON: an object with samples
    taubench          objects with `traj`, alone or in a list
    gemini            lists of contents, in the same wrappings as `openai-chat`
    text-observation  messages whose tools are called by text: mini-swe-agent, SWE-smith
    anthropic         a list of messages; an object with `messages` and `system`; a list of those; JSON lines
    openai-chat       the same with messages of chat.completions

Readers repair what recorders leave broken and count every repair in `Conversation.notes`; what `read` returns is
accepted by the strict format.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from offturn_engine.files import (
    chats,
    claude_code,
    cline,
    codex,
    copilot,
    gemini_cli,
    hermes,
    inspect_logs,
    kimi,
    opencode,
    openhands,
    openhands_v1,
    pi,
    qwen_code,
    swe_agent,
    tau2,
)
from offturn_engine.files.conversation import Boundary, Conversation, Earlier, TooLarge, UnreadableFile
from offturn_engine.files.reader import Reader
from offturn_engine.files.source import LARGEST_CONVERSATION, LONGEST, Data, Lines, Source
from offturn_engine.files.writing import written
from offturn_engine.messages import Json

__all__ = [
    "LARGEST_CONVERSATION",
    "LONGEST",
    "NAMES",
    "Boundary",
    "Conversation",
    "Data",
    "Earlier",
    "Lines",
    "TooLarge",
    "UnreadableFile",
    "detect",
    "read",
    "written",
]

READERS: tuple[Reader, ...] = (
    claude_code.READER,
    claude_code.LOGLINES,
    pi.READER,
    codex.READER,
    codex.SCREEN_LOG,
    copilot.READER,
    kimi.READER,
    hermes.READER,
    cline.READER,
    opencode.READER,
    gemini_cli.READER,
    qwen_code.READER,
    openhands_v1.READER,
    openhands.READER,
    swe_agent.READER,
    tau2.READER,
    inspect_logs.READER,
    chats.TAUBENCH,
    chats.GEMINI,
    chats.TEXT_OBSERVATION,
    chats.ANTHROPIC,
    chats.OPENAI_CHAT,
)
"""The first that recognises a file reads it: the most particular layouts stand first."""
LOGS = frozenset(
    {"claude-code", "pi", "codex", "copilot", "kimi", "opencode", "gemini-cli", "qwen-code", "openhands-v1"}
)
"""Logs of one host each, as JSON lines that say of themselves what they are."""
NAMES = tuple(reader.name for reader in READERS)


def detect(data: Data) -> tuple[str, str]:
    """(name of the file's format, why). Raises UnreadableFile where it is none of NAMES."""
    reader, why = _recognised(Source(data).head())
    return reader.name, why


def read(data: Data, *, format: str | None = None) -> list[Conversation]:  # noqa: A002 -- the public word for it
    """The conversations of a file, given whole, as lines, or as what reads them; `format` is one of NAMES, None to
    detect it.

    A file without conversations gives []. Raises UnreadableFile naming the line, or the message and field.
    """
    if format is not None and format not in NAMES:
        raise UnreadableFile(f"there is no file format {format!r}: one of {', '.join(NAMES)}")
    source = Source(data)
    head = source.head()
    if head in ([], [{}]):
        return []
    if format is not None:
        return next(r for r in READERS if r.name == format).conversations(source)
    reader, _ = _recognised(head)
    if reader.name in LOGS:
        source.refuse(partial(_of_another, reader))
    return reader.conversations(source)


def _of_another(reader: Reader, value: Json) -> str:
    """Why a line is of another log than the first lines are: two files in one would be read as half of each."""
    if reader.recognise([value]):
        return ""
    others = (other for other in READERS if other.name in LOGS and other.recognise([value]))
    other = next(others, None)
    what = f"a record of {other.name}" if other else "a message of a chat" if chats.is_bare(value) else ""
    return f"{what} in a file of {reader.name}: give one session's file, or name its --format" if what else ""


def _recognised(head: Sequence[Json]) -> tuple[Reader, str]:
    found = ((reader, reader.recognise(head)) for reader in READERS)
    reader, why = next(((reader, why) for reader, why in found if why), (None, ""))
    if reader is None:
        known = ", ".join(NAMES)
        raise UnreadableFile(f"this is no transcript offturn can read: no messages were found (formats: {known})")
    return reader, why
