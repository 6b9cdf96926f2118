"""How fast tokens are estimated, beside what is demanded and beside an exact count of the same texts."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.peers.histories import history
from benchmarks.retention.environments import NotInstalled, python_of
from benchmarks.retention.transcripts import SHARED
from benchmarks.speed.figures import Figure
from benchmarks.speed.rounds import p50
from benchmarks.speed.stage import Run

from offturn_engine.tokens import estimate_text

PART = "engine"
MEGABYTES = 100.0  # a second
EXACT = "quicktok-v1==0.4.0"
MOST, CHUNK = 6_000_000, 8_192  # characters


def figures(run: Run) -> None:
    """The estimate's rate, and the exact counter's."""
    given = texts()
    size = sum(len(text.encode()) for text in given) / 1e6
    rounds = run.rounds(9)
    spent: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        tokens = sum(estimate_text(text) for text in given)
        spent.append(time.process_time() - began)
    ours = size / p50(spent)
    common = {"part": PART, "samples": rounds}
    run.add(
        Figure(
            name="token estimate of text",
            ours=ours,
            other=MEGABYTES,
            unit="MB/s",
            against="limit",
            target=1,
            least=True,
            **common,
        )
    )
    try:
        exact = _exact(given, rounds)
    except NotInstalled as why:
        run.skip("engine, an exact counter", str(why))
        return
    rate = size / p50(exact["seconds"])
    run.add(
        Figure(
            name="the same, beside an exact count",
            ours=ours,
            other=rate,
            unit="MB/s",
            against=f"exact, {EXACT}",
            **common,
        )
    )
    run.add(
        Figure(
            name="tokens estimated",
            ours=tokens / 1e6,
            other=exact["tokens"] / 1e6,
            unit="million",
            against=f"exact, {EXACT}",
            **common,
        )
    )


def texts() -> list[str]:
    """Recorded transcripts as they are in their files, else a made history; in pieces as long as a message."""
    if SHARED.exists():
        files = sorted(SHARED.glob("*.json*"), key=lambda file: file.stat().st_size)
        whole = "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
    else:
        whole = json.dumps(history(2_000, 1), ensure_ascii=False)
    return [whole[low : low + CHUNK] for low in range(0, min(len(whole), MOST), CHUNK)]


def _exact(given: list[str], rounds: int) -> dict[str, list[float]]:
    python = python_of([EXACT])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        clean = [text.encode("utf-8", "replace").decode() for text in given]
        file.write_text(json.dumps(clean), encoding="utf-8")
        command = [python, Path(__file__).with_name("exact_in_venv.py"), file, str(rounds)]
        return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
