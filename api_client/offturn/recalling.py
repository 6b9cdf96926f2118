"""Giving back what views left out: by handle, by search, and to a model by a tool of the host's."""

from __future__ import annotations

import asyncio
from typing import Any

from offturn.cache import Cache
from offturn.errors import InvalidSetting, OffturnError, Refused
from offturn.handle import Handle
from offturn_engine import recall_tool
from offturn_engine.recalling import LEAST_ROOM, MOST_ROOM, ROOM, TOOL, Archive, Asked, NotThere, answer, recall
from offturn_engine.search import LONGEST_QUERY, Hit

MOST_HITS = 100
AWAY = "The history cannot be read at the moment. Go on without it, or try again later."


class Recalling(Handle):
    """The part of a session that gives back what views left out."""

    async def recall(self, handle: str) -> str:
        """The full text behind a handle (`m181`, or `m181.2` for one part), which a view has where it left that out.

        `m3-m40` gives the messages of the path between the two, and so does what views say of several: `m3 to m40`, and
        `0-2, 7-180`; at most 200,000 characters then. Of a redacted message there is `[redacted]`.
        `recall_tool` lets the model ask by itself. Raises Refused for a handle that names nothing.
        """
        async with self._open(fresh=True) as (_, cache):
            found = await asyncio.to_thread(recall, _archive(cache), _name(handle))
        if isinstance(found, NotThere):
            raise Refused(found.why)
        return found

    async def search(self, text: str, limit: int = 10) -> list[Hit]:
        """The places of the log that hold some words, the best first; each has a handle for `recall`.

        text: words, in any language, whatever their case and accents, and phrases in quotes: a place that holds those
        comes before all others. limit: hits at most, 1 to 100. Parts of messages that have left the path are found too
        and say so (`Hit.on_path`); what is redacted is not. Raises Refused where nothing is recorded, InvalidSetting.
        """
        _check_search(text, limit)
        async with self._open(fresh=True) as (_, cache):
            cache.live  # noqa: B018 -- refuses a session that holds nothing
            archive = _archive(cache)
        return await asyncio.to_thread(archive.found, text, limit=limit)

    def recall_tool(self, format: str | None = None, *, characters: int = ROOM) -> RecallTool:  # noqa: A002 -- the public contract
        """A tool by which the model itself gets back what its view left out; see `RecallTool`.

        format: of the API it is offered to, `openai-chat`, `openai-responses`, `anthropic`, `gemini` or `text`; None: the
        session's. characters: of one answer at most, 1,000 to 1,000,000; a longer text comes in pieces.
        Raises UnknownFormat, InvalidSetting.
        """
        _check_number("characters", characters, LEAST_ROOM, MOST_ROOM)
        return RecallTool(self, recall_tool.checked_dialect(self.format if format is None else format), characters)

    async def _told(self, asked: Asked, room: int) -> tuple[str, bool]:
        try:
            async with self._open(fresh=True) as (_, cache):
                archive = _archive(cache)
        except OffturnError:
            return AWAY, True
        return await asyncio.to_thread(answer, archive, asked, room)


class RecallTool:
    """A tool of one session in one dialect: give `definition` to the model, and its calls to `run`.

    A model asks by handle, or by words to search for: then it gets the best place in full and the names of others. It sees
    the session's path only, so nothing that was taken back, and nothing redacted.
    """

    name = TOOL

    def __init__(self, session: Recalling, dialect: str, characters: int) -> None:
        self._session = session
        self._dialect = dialect
        self._characters = characters

    @property
    def definition(self) -> Any:
        """What belongs into the list of tools, as the dialect's SDK types it; for `text` a paragraph of a system prompt."""
        return recall_tool.definition(self._dialect)

    async def run(self, call: Any) -> Any:
        """The tool result that answers a call: send it to the model, and record it like any other.

        call: as the SDK hands it out, or as JSON: an entry of `tool_calls`, a `function_call` item, a `tool_use` block, a
        part with a `function_call`, or for `text` the message that ends with the call.
        The answer is a `tool` message, a `function_call_output` item, a `tool_result` block, a part with a
        `function_response`, or a text. It never raises for what a model sends, nor where the store is away: the answer says
        what is wrong.
        """
        call_id, asked = recall_tool.asked(self._dialect, call)
        text, error = await self._session._told(asked, self._characters)  # noqa: SLF001 -- its own session
        return recall_tool.result(self._dialect, call_id, text, error=error)


def _archive(cache: Cache) -> Archive:
    return Archive(tuple(cache.log), frozenset(cache.redacted()), frozenset(m.seq for m in cache.path))


def _check_search(text: object, limit: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidSetting("the text to search for is blank, or no text: give some words")
    if len(text) > LONGEST_QUERY:
        raise InvalidSetting(f"a text of {len(text)} characters to search for: use at most {LONGEST_QUERY}")
    _check_number("limit", limit, 1, MOST_HITS)


def _check_number(name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidSetting(f"{name} {value!r:.40}: use a whole number from {least} to {most}")


def _name(handle: object) -> str:
    return handle if isinstance(handle, str) else repr(handle)
