"""What became of messages and of the facts taken from them: which ones a ref or a text means, and their fates. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from offturn.cache import Cache
from offturn.errors import InvalidSetting, Refused
from offturn.paths import Ref
from offturn_engine.compaction import Compaction
from offturn_engine.fact_fates import FactFate, fact_fates
from offturn_engine.fates import Fate, fates, off_path
from offturn_engine.handles import parse_handle, text_behind

Wanted: TypeAlias = set[tuple[int, int]]
"""(seq, part) of what was asked for."""


def explain(cache: Cache, ref_or_text: Ref, line: Sequence[Compaction]) -> list[Fate]:
    """Fates in the order of the log. `line`: the lineage of the generation in force.

    Raises Refused for a seq or handle that names nothing, InvalidSetting for what is no ref and no text.
    """
    places = wanted(cache, ref_or_text)
    seqs = {seq for seq, _ in places}
    redacted = cache.redacted()
    found = fates(cache.path, line, redacted=redacted, wanted=seqs)
    shown = {message.seq for message in cache.path}
    gone = [cache.log[seq] for seq in seqs - shown]
    found += [fate for message in gone for fate in off_path(message, redacted=message.seq in redacted)]
    asked = sorted((f for f in found if (f.seq, f.part) in places), key=lambda f: (f.seq, f.part))
    return list(_with_facts(asked, fact_fates(cache.path, line[0], cache.fmt, seqs - redacted)))


def _with_facts(found: Sequence[Fate], facts: Mapping[int, tuple[FactFate, ...]]) -> Iterator[Fate]:
    """The first fate of each message gets the message's facts."""
    last = -1
    for fate in found:
        yield replace(fate, facts=facts[fate.seq]) if fate.seq != last and fate.seq in facts else fate
        last = fate.seq


def wanted(cache: Cache, ref_or_text: Ref) -> Wanted:
    """The parts that are meant: of a seq, a handle, one of the host's ids, or that hold a text."""
    if isinstance(ref_or_text, bool) or not isinstance(ref_or_text, int | str):
        raise InvalidSetting(f"a {type(ref_or_text).__name__} names no message: give a seq, a handle, an id or a text")
    if isinstance(ref_or_text, int):
        return _of(cache, [ref_or_text], f"seq {ref_or_text}")
    if not ref_or_text.strip():
        raise InvalidSetting("the text to look for is blank: give some words of the message")
    if ref_or_text in cache.ids:
        return _of(cache, [seq for seq, host_id in enumerate(cache.ids) if host_id == ref_or_text])
    if (named := parse_handle(ref_or_text)) is not None:
        places = _of(cache, [named[0]], f"handle {ref_or_text!r}")
        return places if named[1] is None else places & {(named[0], named[1])}
    words = _plain(ref_or_text)
    return {
        (message.seq, part)
        for message in cache.log
        for part in range(len(message.parts))
        if words in _plain(text_behind(message, part))
    }


def _of(cache: Cache, seqs: Collection[int], name: str = "") -> Wanted:
    if any(not 0 <= seq < len(cache.log) for seq in seqs):
        raise Refused(f"{name}: session {cache.key.session!r} has {len(cache.log)} messages, the first is m0")
    return {(seq, part) for seq in seqs for part in range(len(cache.log[seq].parts))}


def _plain(text: str) -> str:
    """As it is looked for: whatever its case and line breaks."""
    return " ".join(text.casefold().split())
