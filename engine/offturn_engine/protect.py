"""What pruning leaves alone beside the tail: the newest messages, the newest results, results that are to stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from offturn_config.groups import Prune
from offturn_engine.groups import Place
from offturn_engine.messages import Message, ToolCallPart
from offturn_engine.path import Path
from offturn_engine.side_effects import changes_outside
from offturn_engine.tools import plain_name, reproducible


def newest(messages: Sequence[Message], policy: Prune, tokens: int) -> set[int]:
    """Seqs that must stay as they are: the newest `tokens` tokens, messages and turns, whole messages."""
    path, found = Path.of(messages), set[int]()
    turns = size = 0
    for message, own in zip(reversed(path), reversed(path.sizes), strict=True):
        if size >= tokens and len(found) >= policy.protected_messages and turns >= policy.protected_turns:
            break
        found.add(message.seq)
        size += own
        turns += message.origin == "human"
    return found


def newest_results(
    messages: Sequence[Message], policy: Prune, call_of: Callable[[int, int], ToolCallPart]
) -> set[Place]:
    """The newest `protected_results` results among those that could be cleared, as (index, part)."""
    found: set[Place] = set()
    for i in range(len(messages) - 1, -1, -1):
        for part, _ in reversed(messages[i].results):
            if len(found) >= policy.protected_results:
                return found
            if may_clear(call_of(i, part), policy):
                found.add((i, part))
    return found


def with_newest_results(messages: Sequence[Message], policy: Prune) -> set[int]:
    """Seqs of the messages that hold the newest `protected_results` results, whatever their tools."""
    found: set[int] = set()
    count = 0
    for message in reversed(messages):
        if count >= policy.protected_results:
            break
        if message.results:
            found.add(message.seq)
            count += len(message.results)
    return found


def may_clear(call: ToolCallPart, policy: Prune) -> bool:
    """May the result of this call be cleared? By the tool's name, and by what the call did."""
    if policy.never and any(plain_name(call.name) == plain_name(name) for name in policy.never):
        return False
    if policy.only == "reproducible" and not reproducible(call):
        return False
    return not (policy.side_effects and changes_outside(call))
