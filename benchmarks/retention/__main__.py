"""What survives: every figure of the retention benchmark, with its seeds.

    python -m benchmarks.retention [--quick]

Needs a package index the first time (for what is compared with), and ../shared/transcripts for what is recorded. The last
line tells how many of the bars are reached; exit 1 where one is not. `--quick` takes fewer seeds and transcripts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from benchmarks.retention import generations, kit, side_constraints
from benchmarks.retention.bars import Bars, span
from benchmarks.retention.environments import NotInstalled
from benchmarks.retention.equal import equal_tokens, nothing_chosen
from benchmarks.retention.judges import other_judges

TUNED_KIT, REPORTED_KIT = range(1001, 1013), range(1, 13)
SEED = 31


def main(arguments: Sequence[str]) -> int:
    """Run all, print all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retention", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer seeds and transcripts")
    quick = parser.parse_args(arguments).quick
    bars = Bars()
    for part in (kit_corpus, kit_seeded, fifteen, ten_generations, equal_tokens, nothing_chosen, other_judges):
        try:
            for line in part(bars, quick):
                print(line, flush=True)
        except NotInstalled as why:
            print(bars.line(False, f"{part.__name__} was not measured: {why}"), flush=True)
    print(f"{sum(bars.reached)} of {len(bars.reached)} reached")
    return 0 if all(bars.reached) else 1


def kit_corpus(bars: Bars, quick: bool) -> Iterator[str]:
    """The kit's generated corpus, with and without the types it writes before planted sentences."""
    yield f"{kit.PACKAGES[0]}, generated corpus, {kit.ROUNDS} rounds, survival after the last; no model"
    yield f"  seeds used while tuning {span(TUNED_KIT)}, reported {span(REPORTED_KIT)}"
    reported: dict[float, float] = {}
    for cap in (0.2, 0.3):
        for told, seeds in (("tuned", TUNED_KIT), ("reported", REPORTED_KIT)):
            shown = []
            for strip in (True, False):
                share, inside = _survival("offturn", seeds, cap, strip=strip)
                shown.append(
                    f"{'stripped' if strip else 'with types'} {share:.1f} %{'' if inside else ' OVER THE CAP'}"
                )
                if told == "reported" and strip:
                    reported[cap] = share if inside else 0.0
            yield f"  offturn at {cap:.0%}, {told:8}: {', '.join(shown)}"
        for peer in kit.PEERS[: 2 if quick else None]:
            figures = [_survival(peer, REPORTED_KIT, cap, strip=strip)[0] for strip in (True, False)]
            yield f"  {peer} at {cap:.0%}, reported: stripped {figures[0]:.1f} %, with types {figures[1]:.1f} %"
    yield bars.line(reported[0.2] >= 80, f"at least 80 % at a 20 % cap, types stripped: {reported[0.2]:.1f} %")
    yield bars.line(reported[0.3] >= 97, f"at least 97 % at a 30 % cap, types stripped: {reported[0.3]:.1f} %")


def _survival(compactor: str, seeds: Sequence[int], cap: float, *, strip: bool) -> tuple[float, bool]:
    found = list(kit.runs(kit.want(compactor, seeds, cap, strip=strip)))
    share = 100 * sum(f["kept"][-1] for f in found) / sum(f["of"] for f in found)
    return share, all(f["within"] for f in found)


def kit_seeded(bars: Bars, _: bool) -> Iterator[str]:
    """The kit's scripted session: every type, every round."""
    yield "the kit's seeded check (one scripted session), types stripped"
    for cap in (None, 0.3):
        [found] = kit.runs(kit.want("offturn", [None], cap, strip=True))
        worst = {kind: min(r[kind] for r in found["types"]) for kind in found["types"][0]}
        cliff = len(set(found["kept"])) > 1
        name = "no cap" if cap is None else f"{cap:.0%} cap"
        yield f"  {name}: " + ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in worst.items())
        yield bars.line(
            min(worst.values()) >= 0.9 and not cliff,
            f"{name}: no type below 90 % (least {100 * min(worst.values()):.0f} %), {'a' if cliff else 'no'} cliff over {kit.ROUNDS} rounds",
        )


def fifteen(bars: Bars, quick: bool) -> Iterator[str]:
    """Fifteen side constraints at three places of each haystack."""
    sets = {"ours": side_constraints.ours(), "published with conpact": side_constraints.published(kit.kit_python())}
    for name, constraints in sets.items():
        yield f"fifteen side constraints, {name}, at {side_constraints.RATIO:.0f}x or more; seed {SEED}"
        for kept in side_constraints.kept(constraints, SEED, quick=quick):
            held = not kept.lost and kept.ratio >= side_constraints.RATIO
            yield bars.line(
                held, f"{kept.where}, {kept.place}: {kept.of - len(kept.lost)}/{kept.of} at {kept.ratio:.1f}x"
            )


def ten_generations(bars: Bars, quick: bool) -> Iterator[str]:
    """Generation after generation over the large transcripts."""
    yield f"{generations.GENERATIONS} compactions in a row, policy balanced without a model"
    for name, path, fmt in generations.large(quick=quick):
        made = list(generations.run(path, fmt))
        yield f"  {name}, {len(path)} messages: share of all facts in the view " + " ".join(
            f"{g.share:.2f}" for g in made
        )
        yield f"    tokens {' '.join(str(g.tokens) for g in made)}, target {made[0].target}"
        must = all(g.must_kept == g.must for g in made)
        yield bars.line(
            must,
            f"constraints, open items, last states of files in all: {made[-1].must_kept}/{made[-1].must} at the end",
        )
        lost = sum(len(g.lost) for g in made)
        yield bars.line(
            lost == 0, f"lost {lost}, by handle only {made[-1].recoverable} of {made[-1].must + made[-1].others}"
        )
        yield bars.line(all(g.tokens <= g.target for g in made), f"under target: at most {max(g.tokens for g in made)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
