"""Dead letters: sessions that are worked on no more, since when and why; never content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from offturn.store.entries import loads, text_of
from offturn.store.scripted import Scripted
from offturn.store.state import End, ends_of
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey

PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A parked session. `since`: ms of Redis TIME; `attempts`: jobs begun since the last that ended well; `ends`: how the
    newest of them ended, oldest first.
    """

    key: SessionKey
    since: int
    reason: str
    attempts: int
    ends: tuple[End, ...]

    @property
    def why(self) -> str:
        """For people: `6 jobs in a row ended badly: 5 x died, 1 x bug`."""
        told = counted(self.ends)
        return f"{self.attempts} jobs in a row ended badly" + (f": {told}" if told else "")


def counted(ends: Iterable[End]) -> str:
    """`5 x died, 1 x bug`, most first; "" for none."""
    return ", ".join(f"{count} x {kind}" for kind, count in Counter(end.kind for end in ends).most_common())


class DeadLetters(Scripted):
    """The part of the store that tells what is parked."""

    async def dead_letters(self, tenant: str | None, limit: int = 1_000) -> list[DeadLetter]:
        """Parked sessions of a tenant (None: of all), longest first; what names no session, or does not say why, is passed."""
        found: list[DeadLetter] = []
        cursor = 0
        while True:
            cursor, page = await self._command(
                "HSCAN", keys.dead(self._shard), cursor, "MATCH", f"{tenant or '*'}:*", "COUNT", PAGE
            )
            found += [letter for member, value in page.items() if (letter := _letter(member, value))]
            if not cursor or len(found) >= limit:
                return sorted(found, key=lambda letter: letter.since)[:limit]


def _letter(member: bytes, value: bytes) -> DeadLetter | None:
    try:
        key = SessionKey.of_member(text_of(member))
        fields = loads(value)
        ends = ends_of(fields.get("ends") or ())
        return DeadLetter(key=key, since=fields["at"], reason=fields["reason"], attempts=fields["attempts"], ends=ends)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidSetting):
        return None
