"""Other judges, told: where they agree with ours, and where not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from benchmarks.retention import oracles
from benchmarks.retention.bars import Bars
from benchmarks.retention.cases import reported
from benchmarks.retention.environments import NotInstalled


def other_judges(bars: Bars, quick: bool) -> Iterator[str]:
    """Oracles from the package index, where they are right, on the same views."""
    cases = reported(quick=quick)
    yield f"other judges on the same views: {', '.join(case.name for case in cases)}"
    try:
        listed = list(oracles.lists(cases))
        theirs = oracles.said_valid(listed)
    except NotInstalled as why:
        yield f"  left out: {oracles.TESSERA}: {why}"
    else:
        odd = [(one, told) for one, told in zip(listed, theirs, strict=True) if told != one.valid]
        for done, n in Counter(one.done for one in listed).items():
            valid = sum(one.valid for one in listed if one.done == done)
            apart = sum(one.done == done for one, _ in odd)
            yield f"  {oracles.TESSERA}, views {done}: valid by us {valid} of {n}, tessera disagrees on {apart}"
        yield from (f"    {one.where}, {one.done}: we say {one.valid}, it says {told}" for one, told in odd)
        yield bars.line(not odd, f"tessera agrees on {len(listed) - len(odd)} of {len(listed)} lists")
    try:
        judged = list(oracles.judged(cases))
    except NotInstalled as why:
        yield f"  left out: {oracles.GUARD}: {why}"
        return
    sure = [one for one in judged if one.theirs != "unsure"]
    apart = [one for one in sure if one.ours != one.theirs]
    yield (
        f"  {oracles.GUARD}: it judges {len(sure)} of {len(judged)} sentences, and agrees on {len(sure) - len(apart)}"
    )
    for one in apart:
        known = f", truth {one.truth}" if one.truth else ""
        yield f"    {one.where}: we say {one.ours}, it says {one.theirs}{known}: {one.fact}"
    made = [one for one in judged if one.truth]
    right = [sum(said(one) == one.truth for one in made) for said in (lambda o: o.ours, lambda o: o.theirs)]
    yield bars.line(
        right[0] == len(made),
        f"of {len(made)} sentences that stand, are changed or are gone by our hand the audit tells {right[0]} right, "
        f"compaction-guard {right[1]}",
    )
