"""Which of the newest messages pruning leaves alone, beside the tail: by tokens, by results, by turns."""

from __future__ import annotations

from collections.abc import Sequence

from offturn_config.groups import Prune
from offturn_engine.messages import Message


def newest(messages: Sequence[Message], policy: Prune, tokens: int) -> set[int]:
    """Seqs that must stay as they are: the newest `tokens` tokens, the newest results and the newest turns."""
    found: set[int] = set()
    turns = results = size = 0
    for message in reversed(messages):
        if size < tokens or turns < policy.protected_turns or (message.results and results < policy.protected_results):
            found.add(message.seq)
        size += message.tokens
        turns += message.origin == "human"
        results += len(message.results)
    return found
