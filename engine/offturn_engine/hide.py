"""Hide: whole old groups leave the view without a model; a line says which, and each can be recalled by its handle.

Source: the pruning of OpenCode (rule O1) and the second tier of Claude Code (rule K5). Human messages never go this
way, nor do system messages and material of the host.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from offturn_engine.groups import spans
from offturn_engine.messages import Message
from offturn_engine.ranges import Ranges, ranges_of

WORK = ("assistant", "tool")


def hidden(
    path: Sequence[Message], *, end: int, keep: Collection[int], never: Collection[str], goal: int | None
) -> tuple[Ranges, int]:
    """The seqs that go, oldest first, and their tokens, until `goal` tokens are freed (None: all that may go).

    Only groups with calls before index `end` whose messages are all the model's or tools', none of them in `keep`
    (seqs) or of a tool named in `never`; an answer without calls stays, it is what was said.
    """
    gone: list[int] = []
    freed = 0
    for low, high in spans(path[:end]):
        if goal is not None and freed >= goal:
            break
        group = path[low:high]
        named = {call.name for message in group for _, call in message.calls}
        if not named or named & set(never) or any(m.origin not in WORK or m.seq in keep for m in group):
            continue
        gone += [m.seq for m in group]
        freed += sum(m.tokens for m in group)
    return ranges_of(gone), freed
