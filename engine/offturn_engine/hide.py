"""Hide: whole old groups leave the view without a model; a line says which, and each can be recalled by its handle.

Source: the pruning of OpenCode (rule O1) and the second tier of Claude Code (rule K5). Human messages never go this
way, nor do system messages, material of the host, answers (they are what was said) and results that are to stay.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from offturn_config.groups import Prune
from offturn_engine.groups import spans
from offturn_engine.messages import Message
from offturn_engine.protect import may_clear
from offturn_engine.ranges import Ranges, ranges_of

WORK = ("assistant", "tool")


def hidden(
    path: Sequence[Message], *, policy: Prune, keep: Collection[int], goal: int | None = None
) -> tuple[Ranges, int]:
    """The seqs that go, oldest first, and their tokens, until `goal` tokens are freed (None: all that may go).

    Only groups with calls, whose messages are all the model's or tools', none of them in `keep` (seqs), and whose
    results the policy lets be cleared.
    """
    gone: list[int] = []
    freed = 0
    for low, high in spans(path):
        if goal is not None and freed >= goal:
            break
        group = path[low:high]
        calls = [call for message in group for _, call in message.calls]
        if not calls or any(m.origin not in WORK or m.seq in keep for m in group):
            continue
        if all(may_clear(call, policy) for call in calls):
            gone += [m.seq for m in group]
            freed += sum(m.tokens for m in group)
    return ranges_of(gone), freed
