"""What a process that compacts says of itself in its beats."""

from __future__ import annotations

import os
import socket

from offturn._version import __version__
from offturn.store.workers import About
from offturn_config.keys import QUEUE
from offturn_config.presets import load, names


def about(*, max_jobs: int, summarizers: tuple[str, ...]) -> About:
    """Of a worker process of this release."""
    return About(version=__version__, queue=QUEUE, max_jobs=max_jobs, policies=policy_hashes(), summarizers=summarizers)


def about_in_process() -> About:
    """Of a process that calls `run_due` itself."""
    return About(kind="in-process", version=__version__, policies=policy_hashes())


def process_name() -> str:
    """Host name and process id: unique among the processes that run now."""
    return f"{socket.gethostname()}-{os.getpid()}"


def policy_hashes() -> dict[str, str]:
    """Each preset of this release, so that a host's can be compared."""
    return {name: load(name).hash for name in names()}
