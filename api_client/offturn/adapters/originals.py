"""A host's own objects for the messages of a view: what no compaction has edited goes back as the object it came from.

So nothing that a conversion to raw messages leaves out (signatures, artifacts, metadata) is lost on the way.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from offturn_engine.messages import RawMessage

T = TypeVar("T")


def restored(
    shown: Sequence[RawMessage], given: Iterable[tuple[RawMessage, T]], made: Callable[[RawMessage], T]
) -> list[T]:
    """An object for each message shown. `given`: what was converted, in order; `made`: one for what is not among them.

    Of equal messages the newest that are left are taken: what leaves a view is mostly old.
    """
    known: dict[str, list[T]] = defaultdict(list)
    for raw, original in given:
        known[_name(raw)].append(original)
    back = [known[name].pop() if known[name := _name(raw)] else made(raw) for raw in reversed(shown)]
    return back[::-1]


def _name(raw: RawMessage) -> str:
    return json.dumps(raw, sort_keys=True)
