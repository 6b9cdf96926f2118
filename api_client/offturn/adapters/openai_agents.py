"""OpenAI Agents SDK: a `Session` whose items are recorded, and whose history is the view.

    session = CompactedSession(client.session("chat", format="openai-responses", window=400_000))
    result = await Runner.run(agent, "Hello", session=session)

Each run starts from the newest view and is recorded while it goes on; no run waits for a compaction. It follows the
SDK's protocol and imports nothing of it. Written for openai-agents 0.24.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn.copying import copied
from offturn.errors import InvalidSetting, Refused
from offturn.session import Session
from offturn_engine.formats.openai_responses import OpenAIResponses


class CompactedSession:
    """The SDK's session protocol, and its compaction-aware one, over a session of offturn's.

    session: in format `openai-responses`. Raises InvalidSetting for another one.
    """

    session_settings: Any = None  # the SDK's SessionSettings, with a limit of items

    def __init__(self, session: Session) -> None:
        if session.format != OpenAIResponses.name:
            raise InvalidSetting(
                f"a session in format {session.format!r}: open it with format={OpenAIResponses.name!r}"
            )
        self._session = session
        self.session_id = session.key.session

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items to send: the view. limit: of it only the newest so many; the SDK drops outputs that lose their calls."""
        items = [copied(item) for item in (await self._session.view()).messages]
        return items if limit is None else items[len(items) - max(0, min(limit, len(items))) :]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Record new items, in order."""
        if items:
            await self._session.record(items)

    async def pop_item(self) -> Any | None:
        """Take the newest item back: it leaves the path, and stays in the log."""
        await self._session.view()  # what another process has recorded is seen, and may be taken back
        try:
            [item] = await self._session.rewind(messages=1)
        except Refused:
            return None
        return item

    async def clear_session(self) -> None:
        """Delete the session, log and all."""
        await self._session.purge()

    async def run_compaction(self, args: Mapping[str, Any] | None = None) -> None:
        """The SDK calls it after each turn; what was recorded is compacted when the policy says so, in the background.

        With `force` it is asked for now, and not waited for.
        """
        if args and args.get("force"):
            await self._session.request()
