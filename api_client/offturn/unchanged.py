"""A handle's last view, given again where the same is asked of a session in which nothing has changed since.

The look at the store asks for a few small fields only. Whatever a view is made of cannot change without one of them: new
messages, another path, another generation, a redaction or other settings each leave a value that comes back only where the store loses writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import time
from typing import Self

from offturn.cache import Cache
from offturn.copying import changed, copied, is_json
from offturn.store.state import Meta, Stamp
from offturn.view import Options, View

TOUCH = 8
"""After one part in so many of a session's TTL the whole state is asked for, which tells the store that a host is there."""


@dataclass(frozen=True, slots=True)
class Kept:
    """`options`: what the call asked for; `given`: the view as it went out, both with copies of what its host may change.
    `stamp` and `meta`: of the session then, `at` in seconds since the epoch, because other
    clocks stand still while a machine sleeps.

    A store that has lost writes may have the stamp again: so it counts only where this handle has written nothing since.
    """

    options: Options
    given: View
    stamp: Stamp
    meta: Meta
    at: float

    @classmethod
    def of(cls, cache: Cache, options: Options, view: View) -> Self | None:
        """None where the next call has to do more than look: what is current waits to be adopted, or something gave way;
        and where the view itself has changed the session, or the call has objects of an SDK, which may change unseen."""
        meta = cache.meta
        if (
            meta is None
            or meta is not cache.stamped
            or cache.stale
            or not cache.settled
            or meta.adopted != meta.current
            or not is_json([options.system, options.tools])
        ):
            return None
        asked = replace(options, system=copied(options.system), tools=copied(options.tools))
        given = changed(view, messages=list(view.messages), system=copied(view.system), options=asked)
        return cls(asked, given, cache.stamp, meta, cache.read_at)

    def answers(self, options: Options, cache: Cache) -> bool:
        """May it be the answer to this call, if the store tells that nothing has changed?"""
        meta = self.meta
        if cache.meta is not meta or cache.stale or options != self.options:
            return False
        return not meta.ttl or 0 <= (time() - self.at) * 1000 * TOUCH < meta.ttl

    def again(self) -> View:
        """The same, in a list and with a system prompt of the caller's own."""
        messages = list(self.given.messages)
        return changed(self.given, messages=messages, prefix=len(messages), system=copied(self.given.system))
