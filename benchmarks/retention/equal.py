"""Equal tokens, told: presets, peers and the kit on the reported cases; presets where nothing was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.retention import kit, peers, presets, unseen
from benchmarks.retention.bars import Bars, span
from benchmarks.retention.cases import ROUNDS, SHARES, TUNED, reported


def equal_tokens(bars: Bars, quick: bool) -> Iterator[str]:
    """Planted facts, every preset at equal tokens; peers of the package index at the same, the kit's within as many characters."""
    cases = reported(quick=quick)
    yield f"planted facts, {ROUNDS} rounds, mean of the kinds; seeds used while tuning {span(TUNED)}"
    yield f"  reported: {', '.join(case.name for case in cases)}"
    by_preset = presets.scored(cases, SHARES, ROUNDS)
    by_peer = list(peers.scored(cases, SHARES, ROUNDS))
    for peer, made in by_peer:
        if isinstance(made, str):
            yield f"  left out: {peer.package}: {made}"
            continue
        for case, error in made.raised.items():
            yield f"  {peer.package} ended with {error} in {case}: the conversation stays what it was"
    for i, share in enumerate(SHARES):
        yield f"  views of at most {share:.0%} of the tokens"
        for name, score in by_preset[i].items():
            yield f"    {name:22} {_shown(score)}"
        theirs = {peer: made.scores[i] for peer, made in by_peer if not isinstance(made, str)}
        for peer, score in theirs.items():
            yield f"    {peer.name:22} {_shown(score, len(cases))} ({peer.what})"
        for name in kit.PEERS[: 2 if quick else None]:
            yield f"    {name:22} {100 * _of_kit(name, cases, share).share:5.1f} %  (the kit's)"
        others = {name: score.share for name, score in by_preset[i].items() if name != "balanced"}
        best = max(others, key=lambda name: others[name])
        ours = by_preset[i]["balanced"].share
        yield bars.line(
            ours > others[best],
            f"balanced {100 * ours:.1f} % beats every other preset, the best is {best} with {100 * others[best]:.1f} %",
        )
        if theirs:
            ahead = max(theirs, key=lambda peer: theirs[peer].share)
            yield bars.line(
                ours > theirs[ahead].share,
                f"balanced {100 * ours:.1f} % is ahead of every peer, the best is {ahead.name} with "
                f"{100 * theirs[ahead].share:.1f} %",
            )


def _shown(score: presets.Score, cases: int = 0) -> str:
    """cases: of a peer, which has no emergency view."""
    kinds = ", ".join(f"{kind} {score.kept[kind]}/{n}" for kind, n in score.planted.items())
    odd = f", {score.forced} by the emergency view" if score.forced else ""
    if score.failed:
        odd += f", OVER THE CAP in {score.failed} of {cases}" if cases else f", {score.failed} not at all"
    return f"{100 * score.share:5.1f} %  {score.tokens:>7,} tokens, {score.stale} stale{odd}: {kinds}"


def nothing_chosen(bars: Bars, quick: bool) -> Iterator[str]:
    """Equal tokens in all recorded transcripts of a size, by a rule that stood before the figures."""
    chosen = unseen.files()[: 3 if quick else None]
    yield (
        f"nothing chosen: all recorded transcripts of {unseen.FEWEST:,} to {unseen.MOST:,} tokens, seeds of their names, "
        f"{unseen.ROUNDS} rounds"
    )
    if not chosen:
        yield "  left out: there are no recorded transcripts beside this checkout"
        return
    found = list(unseen.outcomes(chosen))
    for one in found:
        shares = {name: score.share for name, score in one.scores.items() if name != "balanced"}
        best = max(shares, key=lambda name: shares[name])
        yield (
            f"  {one.file} (seed {one.seed}, {one.tokens:,} tokens) at {one.share:.0%}: balanced "
            f"{100 * one.scores['balanced'].share:.1f} %, best other {best} {100 * shares[best]:.1f} %"
        )
    sizes = {"all": 0, f"from {unseen.LARGE:,} tokens": 1, f"below {unseen.LARGE:,} tokens": -1}
    for share in unseen.SHARES:
        at = [one for one in found if one.share == share]
        for name, sign in sizes.items():
            group = [one for one in at if not sign or (one.tokens >= unseen.LARGE) == (sign > 0)]
            if group:
                yield from _compared(bars, f"{share:.0%}, {name}, {len(group)} files", group, told=not sign)


def _compared(bars: Bars, where: str, group: Sequence[unseen.Outcome], *, told: bool) -> Iterator[str]:
    means = {name: unseen.mean(group, name) for name in group[0].scores}
    others = sorted((name for name in means if name != "balanced"), key=lambda name: -means[name])
    pairs = []
    for name in others:
        ahead = [one.ahead(name) for one in group]
        pairs.append(f"{name} {100 * means[name]:.1f} ({ahead.count(1)}/{ahead.count(0)}/{ahead.count(-1)})")
    fits = sum(any(not score.failed for score in one.scores.values()) for one in group)
    yield (
        f"  {where}, of which something fits in {fits}: balanced {100 * means['balanced']:.1f} %; others, and how often it "
        f"wins/ties/loses: {', '.join(pairs)}"
    )
    for name in ("balanced", others[0]):
        kinds = ", ".join(f"{kind} {100 * kept:.0f}" for kind, kept in unseen.by_kind(group, name).items())
        yield f"    {name} by kind in %: {kinds}"
    if told:
        yield bars.line(
            means["balanced"] > means[others[0]],
            f"{where}: balanced {100 * means['balanced']:.1f} % is ahead of every other preset in the mean, the best is "
            f"{others[0]} with {100 * means[others[0]]:.1f} %",
        )


def _of_kit(name: str, cases: Sequence[presets.Case], share: float) -> presets.Score:
    wanted = []
    for case in cases:
        turns = presets.said(case)
        budget = int(share * sum(len(turn["text"]) for turn in turns))
        wanted.append({"name": name, "turns": turns, "budget": budget, "rounds": ROUNDS})
    score = presets.Score()
    for case, made in zip(cases, kit.runs(wanted), strict=True):
        presets.count(score, case, made["text"])
    return score
