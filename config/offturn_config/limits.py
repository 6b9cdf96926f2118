"""A policy resolved for one model's window: shares become tokens, and what cannot work is refused with the numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from offturn_config.errors import InvalidPolicy

if TYPE_CHECKING:
    from offturn_config.groups import Amount
    from offturn_config.policy import Policy

SMALLEST_WINDOW = 256
LARGEST_WINDOW = 10_000_000
HARD = 0.85
UNLIMITED = 10**9  # tokens no transcript reaches
USUAL_OUTPUT = 8  # part of a window that an answer needs at most, where no one says otherwise
LESS_OUTPUT = "lower max_output, or give a larger window"
LATE_SOFT = 0.80  # from here the hard level is halfway from soft to the end of the window


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All tokens. A view must fit `usable` minus the overhead of system and tools.

    step: growth after which results are pruned below the soft level too; 0: they are not.
    """

    window: int
    usable: int
    soft: int
    hard: int
    target: int
    ceiling: int
    phase_minimum: int
    idle_floor: int
    minimum_growth: int
    step: int
    tail: int
    protected: int
    human: int
    ledger: int
    summary: int
    restore_file: int
    restore: int
    skills: int


def resolve(policy: Policy, window: int, max_output: int) -> Limits:
    """Raises InvalidPolicy, with the numbers, for a window and policy that cannot work together."""
    _refuse_contradictions(policy)
    usable = _usable(window, max_output)
    trigger, size, after = policy.trigger, policy.size, policy.after
    soft = _soft(policy, window, usable)
    hard = max(min(int(window * hard_share(policy, soft / window)), usable), soft)
    target = soft if size.target is None else min(tokens(size.target, window), _half(soft, policy))
    tail = tokens(policy.boundary.tail, soft if policy.boundary.tail_of == "soft" else window)
    most = policy.boundary.tail_maximum
    human = policy.human.budget
    restore = min(tokens(after.restore_tokens, window), max(0, soft - target))
    limits = Limits(
        window=window,
        usable=usable,
        soft=soft,
        hard=hard,
        target=target,
        ceiling=min(tokens(size.ceiling, window), soft),
        phase_minimum=tokens(trigger.phase_minimum, window),
        idle_floor=tokens(trigger.idle_floor, window),
        minimum_growth=max(1, tokens(trigger.minimum_growth, window)),
        step=max(1, tokens(policy.prune.minimum_gain, window)) if policy.prune.when == "every-turn" else 0,
        tail=min(max(tail, min(policy.boundary.tail_minimum, window // 4)), window if most is None else most),
        protected=tokens(policy.prune.protected_tokens, window),
        human=UNLIMITED
        if human == "unlimited"
        else _at_least(tokens(human, window), policy.human.minimum, window // 4),
        ledger=tokens(policy.ledger.budget, window),
        summary=_summary(policy, window, usable),
        restore_file=min(tokens(after.restore_file_tokens, window), restore),
        restore=restore,
        skills=min(tokens(after.skill_tokens, window), restore),
    )
    _refuse_impossible(policy, limits, max_output)
    return limits


def tokens(amount: Amount, whole: int) -> int:
    """A share of `whole`, or a number of tokens that never exceeds it."""
    return int(whole * amount) if isinstance(amount, float) else min(amount, whole)


def hard_share(policy: Policy, soft: float) -> float:
    """The hard level as a share of the window; `soft`: the soft level as one."""
    trigger = policy.trigger
    late = HARD if soft < LATE_SOFT else (soft + 1) / 2
    if trigger.hard is None:
        return late
    return max(trigger.hard, late) if trigger.pct_override is not None else trigger.hard


def window_filled(policy: Policy, view: int, *, output: Callable[[int], int]) -> int:
    """The window whose soft level a view of so many tokens has just reached, or the least one the policy works with.

    `output` gives the tokens a window of a size keeps free for the answer. Raises InvalidPolicy where no window works.
    """
    low, high = SMALLEST_WINDOW, max(2 * view, SMALLEST_WINDOW)
    while high - low > 1:
        half = (low + high) // 2
        low, high = (low, half) if _soft(policy, half, half - output(half)) >= view else (half, high)
    while True:
        try:
            resolve(policy, high, output(high))
        except InvalidPolicy:
            if high > LARGEST_WINDOW:
                raise
            high = high * 5 // 4
        else:
            return high


def _soft(policy: Policy, window: int, usable: int) -> int:
    """The strictest of the soft levels, less the buffer."""
    trigger = policy.trigger
    if trigger.pct_override is not None:
        return min(window * trigger.pct_override // 100, usable)
    levels = [usable]
    if trigger.soft is not None:
        levels.append(int(window * _soft_share(policy, window)))
    if trigger.soft_tokens is not None and (trigger.soft_tokens_below is None or window < trigger.soft_tokens_below):
        levels.append(trigger.soft_tokens)
    level = min(levels) - min(trigger.buffer, usable // 4)
    return max(level, min(trigger.minimum_soft_tokens, int(usable * HARD)))


def _soft_share(policy: Policy, window: int) -> float:
    trigger = policy.trigger
    share = trigger.soft or 0.0
    small = trigger.small_window is not None and window < trigger.small_window
    return max(share, trigger.small_window_soft or 0.0) if small else share


def _half(soft: int, policy: Policy) -> int:
    """An absolute target, or one of a forced soft level, is at most half of that; else a share means what it says."""
    shares = isinstance(policy.size.target, float) and policy.trigger.pct_override is None
    return soft if shares else soft // 2


def _at_least(amount: int, least: int, most: int) -> int:
    return amount if amount == 0 and least == 0 else min(max(amount, least), max(most, amount))


def _summary(policy: Policy, window: int, usable: int) -> int:
    rules = policy.summary
    cap = max(int(window * rules.budget), rules.minimum)
    return min(cap, window if rules.maximum is None else rules.maximum, window // 8, usable // 4)


def _usable(window: int, max_output: int) -> int:
    if window < SMALLEST_WINDOW:
        raise InvalidPolicy(f"window {window}: a context window has at least {SMALLEST_WINDOW} tokens")
    if max_output < 0:
        raise InvalidPolicy(f"max_output {max_output}: use 0 or more tokens")
    if window - max_output < SMALLEST_WINDOW:
        raise InvalidPolicy(
            f"window {window} minus max_output {max_output} leaves {window - max_output} tokens, fewer than "
            f"{SMALLEST_WINDOW}: give a larger window or a smaller max_output"
        )
    return window - max_output


def _refuse_contradictions(policy: Policy) -> None:
    name, prune = f"policy {policy.name!r}", policy.prune
    if prune.deduplicate_tail and not prune.deduplicate:
        raise InvalidPolicy(
            f"{name}: prune.deduplicate_tail does nothing without prune.deduplicate: set both, or neither"
        )
    if policy.boundary.tail_measured == "pruned" and (policy.gate != "always_summarise" or prune.style == "hidden"):
        raise InvalidPolicy(
            f"{name}: boundary.tail_measured = 'pruned' needs gate = 'always_summarise' and a prune.style that edits, got "
            f"{policy.gate!r} and {prune.style!r}: where not all is pruned, the tail has no such size"
        )


def _refuse_impossible(policy: Policy, limits: Limits, max_output: int) -> None:
    found = _impossible(policy, limits)
    if found is None:
        return
    problem, remedy = found
    output = f" and max_output {max_output}" if max_output else ""
    usual = limits.window // USUAL_OUTPUT
    if max_output > usual and _works(policy, limits.window, usual):
        remedy = LESS_OUTPUT
    raise InvalidPolicy(f"policy {policy.name!r} with window {limits.window}{output}: {problem}: {remedy}")


def _works(policy: Policy, window: int, max_output: int) -> bool:
    try:
        resolve(policy, window, max_output)
    except InvalidPolicy:
        return False
    return True


def _impossible(policy: Policy, limits: Limits) -> tuple[str, str] | None:
    """What is wrong, with the numbers, and which parameter mends it."""
    trigger, target, soft = policy.trigger, limits.target, limits.soft
    parameter = _soft_parameter(policy, limits)
    largest = min(trigger.largest_result, limits.window // 4)
    hard = int(limits.window * hard_share(policy, soft / limits.window))
    if soft <= 0:
        return f"the soft level is {soft} tokens", f"raise {parameter}"
    if soft >= hard:
        both = f"the soft level of {soft} tokens must be below the hard one of {hard}"
        return both, f"lower {parameter} or raise trigger.hard"
    if limits.tail > target:
        both = f"the tail of {limits.tail} tokens is larger than the target of {target}"
        return both, "lower boundary.tail or raise size.target"
    if limits.tail >= soft:
        both = f"head and tail of {limits.tail} tokens leave nothing to cover below the soft level of {soft}"
        return both, "lower boundary.tail"
    if not target <= limits.ceiling <= soft:
        order = "need size.target <= size.ceiling <= trigger.soft"
        return f"{order}, got {target}, {limits.ceiling}, {soft} tokens", "change one of them"
    if soft + limits.summary + largest > limits.window:
        sum_ = f"soft {soft} + summary {limits.summary} + one tool result of {largest} tokens exceed the window"
        return sum_, f"lower {parameter}"
    return None


def _soft_parameter(policy: Policy, limits: Limits) -> str:
    """The parameter that the soft level comes from, where one alone decides."""
    trigger = policy.trigger
    if trigger.pct_override is not None:
        return "trigger.pct_override (OFFTURN_AUTOCOMPACT_PCT)"
    without = policy.model_copy(update={"trigger": trigger.model_copy(update={"minimum_soft_tokens": 0})})
    raised = _soft(without, limits.window, limits.usable) < limits.soft
    return "trigger.minimum_soft_tokens" if raised else "trigger.soft"
