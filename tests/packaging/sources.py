"""The checkout as files: what is shipped, and what git would commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("api_client", "config", "engine", "worker")
PACKAGES = {
    "offturn": "api_client/offturn",
    "offturn_models": "api_client/offturn_models",
    "offturn_config": "config/offturn_config",
    "offturn_engine": "engine/offturn_engine",
    "offturn_worker": "worker/offturn_worker",
    "offturn_http": "worker/offturn_http",
}


def shipped(package: str) -> list[Path]:
    """The modules of one package, as absolute paths."""
    return sorted((ROOT / PACKAGES[package]).rglob("*.py"))


def committed() -> list[str] | None:
    """Tracked files and those git would add, relative to the root; None where git cannot tell."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return sorted({name for name in listed.split("\0") if name and (ROOT / name).is_file()})


def text_of(name: str) -> str | None:
    """A file's text; None for a binary one."""
    data = (ROOT / name).read_bytes()
    return None if b"\0" in data else data.decode(errors="replace")
