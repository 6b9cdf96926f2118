"""Runs an example as its first lines say, but for a client that waits longer: a busy machine must not pass for an outage.

argv: the path of the example. Run it with -P: this folder holds an `http` that is none of Python's.
"""

from __future__ import annotations

import runpy
import sys
from functools import partial

from offturn import CompactionClient

SECONDS = 60.0  # of one call; the default is two

if __name__ == "__main__":
    CompactionClient.from_url = partial(CompactionClient.from_url, timeout=SECONDS)  # type: ignore[method-assign]
    runpy.run_path(sys.argv[1], run_name="__main__")
