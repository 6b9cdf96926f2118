"""`make formats`: 1 where an invariant is broken."""

from __future__ import annotations

import resource
import sys
import time

from offturn_engine.files import LARGEST_CONVERSATION, LONGEST
from tests.formats.large import MOST, WORDS, large
from tests.formats.page import PAGE, page
from tests.formats.run import Found, files, run

MEGABYTE = 2**20


def main() -> int:
    """Prints each file as it is done, then what broke, the time and the most memory it took."""
    if not files():
        print("formats: the folder shared/transcripts is not beside this checkout; docs/formats.md stays as it is")
        return 0
    began, found = time.monotonic(), list[Found]()
    for one in run():
        found.append(one)
        told = one.refused or f"{one.messages} messages, {len(one.violations)} violations"
        print(f"{one.file}: {one.conversations} conversations, {told}", flush=True)
    broken = [f"{one.file}: {told}" for one in found for told in one.violations]
    PAGE.write_text(page(found, longest=LONGEST // MEGABYTE, largest=LARGEST_CONVERSATION // MEGABYTE), "utf-8")
    print("\n".join(broken) or "every invariant holds")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{len(found)} files in {time.monotonic() - began:.0f} s, at most {peak} MB of memory")
    return 1 if broken or _too_large() else 0


def _too_large() -> bool:
    """Does a command on a large file take too much memory, or end without a word about the place?"""
    wrong = 0
    for run_ in large():
        fits = run_.megabytes < MOST and (
            run_.code == 0 or (run_.code == 2 and any(word in run_.said for word in WORDS))
        )
        wrong += not fits
        print(
            f"{run_.name}: exit {run_.code}, {run_.megabytes} MB{'' if run_.code == 0 else f': {run_.said}'}",
            flush=True,
        )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
