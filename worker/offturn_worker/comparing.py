"""All policies side by side on one conversation, for one window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from offturn.config import reserved_output
from offturn.summarizer import AnySummarizer
from offturn_config.errors import InvalidPolicy
from offturn_config.limits import window_filled
from offturn_config.policy import Policy
from offturn_engine.economics import account
from offturn_engine.files import Conversation
from offturn_engine.formats import get, parse_all
from offturn_engine.messages import Message, RawMessage
from offturn_engine.ranges import contains
from offturn_models.prices import price_of
from offturn_worker.offline import LEAST_WINDOW, Result, compact_conversation

CLEARED = frozenset({"stub", "duplicate"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one policy makes of it. Tokens are measured with one ruler, whatever the policy's own.

    human_verbatim: of the human messages, those the view shows word for word. results_cleared: results that became
    shorter, or left the view with their group, without a summary. cost: of the calls made, in US dollars; None where no
    model was asked though the policy wants one, or its price is not known.
    """

    policy: str
    outcome: str
    reason: str
    tokens_before: int
    tokens_after: int
    human_verbatim: int
    human_messages: int
    results_cleared: int
    ledger_kept: int
    model_calls: int
    cost: float | None

    def facts(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def common_window(conversation: Conversation, policies: list[Policy]) -> int:
    """The least window in which none of the policies has reached its soft level. Raises InvalidPolicy."""
    free = partial(reserved_output, max_output=None)
    size = sum(m.tokens for m in _parsed(conversation, conversation.messages))
    return max(LEAST_WINDOW, *(window_filled(policy, size, output=free) for policy in policies))


async def compare(
    conversation: Conversation, policies: list[Policy], window: int, summarizer: AnySummarizer
) -> list[Row]:
    """One row for each policy, in the order given; one that refuses the window says so in its row."""
    rows: list[Row] = []
    for policy in policies:
        try:
            result = await compact_conversation(conversation, policy, window, summarizer)
        except InvalidPolicy as refused:
            result = Result.unchanged(conversation, 0, str(refused))
        rows.append(_row(policy, result, conversation))
    return rows


def _row(policy: Policy, result: Result, conversation: Conversation) -> Row:
    record, audit = result.record, result.record.audit
    path = _parsed(conversation, conversation.messages)
    human = [m for m in path if m.origin == "human"]
    told = result.read.base.covered
    pruned = record.covered if record.method == "prune" else ()
    hidden = [m for m in path if contains(pruned, m.seq) and not contains(told, m.seq)]
    cleared = sum(edit.rule in CLEARED for edit in record.edits) + sum(len(m.results) for m in hidden)
    unread = audit.human_cut + audit.human_by_handle
    return Row(
        policy=policy.name,
        outcome=result.outcome,
        reason=result.reason,
        tokens_before=sum(m.tokens for m in path),
        tokens_after=sum(m.tokens for m in _parsed(conversation, result.messages)),
        human_verbatim=len(human) - unread,
        human_messages=len(human),
        results_cleared=cleared,
        ledger_kept=audit.kept,
        model_calls=result.model_calls,
        cost=_cost(result),
    )


def _cost(result: Result) -> float | None:
    if not result.model_calls:
        return 0.0
    made = result.record.spent.calls
    return account(result.record, (), (), factor=1, model=None, prices=price_of).cost if made else None


def _parsed(conversation: Conversation, messages: Sequence[RawMessage]) -> list[Message]:
    return parse_all(get(conversation.format), messages)
