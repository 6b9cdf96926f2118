"""Does a sentence give other amounts than a constraint that is otherwise the same? In whatever units both are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import product

from offturn_engine.amounts import Amount
from offturn_engine.statement_words import AT_LEAST, AT_MOST, DEMANDING, FACTORS, HAS, MONEY, UNITS
from offturn_engine.statements import Statement
from offturn_engine.supporting import Source

FEW = 2  # words shared with a sentence up to which that has to be a constraint by its cues


def recounted(
    one: Statement, other: Statement, later: Iterable[Statement], source: Source, *, binds: Callable[[], bool]
) -> bool:
    """It has other amounts, and no human gave these of it later, nor anything in the source. `binds`: is `other` a constraint?"""
    if not one.numbers or not other.numbers or one.names != other.names & one.names:
        return False
    turned = _turned(one, other)
    if not turned and (one.numbers & other.numbers or _equal(one, other)):
        return False
    frame = one.bag & other.bag
    if not _alike(one, other, frame):
        return False
    nearly = len(frame) > FEW and len(frame) * 5 >= 3 * max(len(one.bag), len(other.bag))
    if not nearly and not binds() and DEMANDING.search(other.text) is None:
        return False
    if _within(one, other) or (not turned and not frame & UNITS and _converted(one, other)):
        return False
    if any(source.gives(amount, frame) for amount in turned or one.amounts if not amount.bare):
        return False
    if not turned and any(source.supports(number, frame, number=True) for number in one.numbers):
        return False
    return not any(h.bag & frame and _gave(h, one, turned) for h in later)


def _turned(one: Statement, other: Statement) -> list[Amount]:
    """The amounts that have the other's digits and another unit of the same kind."""
    return [
        mine
        for mine in one.amounts
        if not any(mine.same(theirs) for theirs in other.amounts)
        and any(mine.digits == theirs.digits and (mine.kinds & theirs.kinds) - {"count"} for theirs in other.amounts)
    ]


def _equal(one: Statement, other: Statement) -> bool:
    return any(mine.same(theirs) or mine.rounds(theirs) for mine, theirs in product(one.amounts, other.amounts))


def _gave(human: Statement, one: Statement, turned: Sequence[Amount]) -> bool:
    if turned:
        return any(mine.same(theirs) for mine, theirs in product(turned, human.amounts))
    return bool(human.numbers & one.numbers) or _equal(human, one) or _converted(human, one)


def _alike(one: Statement, other: Statement, frame: frozenset[str]) -> bool:
    about = frame - UNITS - MONEY
    same = bool(about) and about == one.bag - UNITS - MONEY == other.bag - UNITS - MONEY
    return same or (len(frame) >= 2 and len(frame) * 2 >= max(len(one.bag), len(other.bag)))


def _within(one: Statement, other: Statement) -> bool:
    """Does it tell of an amount that keeps the limit which the other sets?"""
    if HAS.search(one.text) is None or AT_MOST.search(one.text) or AT_LEAST.search(one.text):
        return False
    mine, theirs = _comparable(one, other)
    if not mine or not theirs:
        return False
    if AT_MOST.search(other.text):
        return max(mine) <= max(theirs)
    return AT_LEAST.search(other.text) is not None and min(mine) >= min(theirs)


def _comparable(one: Statement, other: Statement) -> tuple[list[Decimal], list[Decimal]]:
    """The amounts of both in a unit that they share; by their digits where they share none."""
    kinds = [{kind for amount in each.amounts for kind in amount.kinds} - {"count"} for each in (one, other)]
    if shared := kinds[0] & kinds[1]:
        kind = min(shared)
        mine, theirs = ([v for amount in s.amounts for k, v in amount.readings if k == kind] for s in (one, other))
        return mine, theirs
    try:
        return [Decimal(n) for n in one.numbers], [Decimal(n) for n in other.numbers]
    except ArithmeticError:
        return [], []


def _converted(one: Statement, other: Statement) -> bool:
    """May it be the same in another unit, one that the table of units does not know? Not sums, nor what is in thousands."""
    amounts = (*one.amounts, *other.amounts)
    known = all(not amount.bare for amount in amounts)
    if amounts and (known or any(amount.scaled or "money" in amount.kinds for amount in amounts)):
        return False
    return any(_factor(a, b) for a, b in product(one.numbers, other.numbers))


def _factor(a: str, b: str) -> bool:
    try:
        low, high = sorted((float(a), float(b)))
    except ValueError:
        return True
    return low > 0 and round(high / low, 6) in FACTORS
