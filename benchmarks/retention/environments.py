"""Virtual environments of what is compared with: one per package, beside the checkout and never of our dependencies."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".venv-retention"
MARKER = ".installed"


class NotInstalled(Exception):
    """Why there is no such environment, in one line."""


def python_of(
    packages: Sequence[str], *, folder: Path | None = None, least: tuple[int, int] = (3, 11), alone: bool = False
) -> Path:
    """The interpreter of the packages' environment, made where it is missing (a package index is needed).

    folder: where it is, else below `.venv-retention` by the first package's name. least: the oldest Python they run on.
    alone: without what they depend on. Raises NotInstalled.
    """
    made = folder or HOME / packages[0].partition("==")[0]
    wanted = "\n".join(packages)
    if not (made / MARKER).exists() or (made / MARKER).read_text() != wanted:
        print(f"==> installing {' and '.join(packages)} into {made.relative_to(ROOT)}", file=sys.stderr)
        _run([_base(least), "-m", "venv", "--clear", made])
        _run([made / "bin/python", "-m", "pip", "install", "--quiet", *["--no-deps"] * alone, *packages])
        (made / MARKER).write_text(wanted)
    return made / "bin/python"


def _base(least: tuple[int, int]) -> str:
    for name in (sys.executable, *_newer(least)):
        tells = [name, "-c", f"import sys; sys.exit(sys.version_info < {least})"]
        if shutil.which(name) and subprocess.run(tells, check=False, capture_output=True).returncode == 0:
            return name
    raise NotInstalled(f"needs Python {least[0]}.{least[1]}, which is not there")


def _newer(least: tuple[int, int]) -> Iterator[str]:
    for minor in range(least[1], least[1] + 3):
        yield f"python{least[0]}.{minor}"


def _run(command: Sequence[str | Path]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise NotInstalled((told or done.stderr.splitlines() or ["no reason was told"])[-1][:200])
