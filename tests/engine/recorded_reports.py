"""What was written about real sessions: summaries that hosts recorded, and assistants' closing reports.

A report is a message of at least `LEAST` characters without calls, after ten others: it tells in other words what the
messages before it hold, as a summary does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from offturn_config.errors import OffturnError
from offturn_engine.files import read
from offturn_engine.formats import get
from offturn_engine.messages import Message
from offturn_engine.transcript_text import serialise, text_of

TRANSCRIPTS = Path(__file__).parents[3] / "shared/transcripts"
LEAST = 300
LARGEST = 3_000_000  # bytes of a file
MOST = 12  # reports of one conversation


@dataclass(frozen=True, slots=True)
class Report:
    """`text` about the messages of `path`; `summary`: written as one."""

    name: str
    text: str
    path: tuple[Message, ...]
    summary: bool

    @property
    def source(self) -> str:
        """As a summarizer is shown it."""
        return text_of(serialise(self.path, {}))


def reports(pattern: str = "*.json*", *, summaries: bool = False) -> Iterator[Report]:
    """All of them, by file; none where the transcripts are not there. `summaries`: no others."""
    for file in sorted(TRANSCRIPTS.glob(pattern)) if TRANSCRIPTS.is_dir() else ():
        if file.name == "MANIFEST.json" or file.stat().st_size > LARGEST:
            continue
        try:
            found = read(file.read_bytes())
        except OffturnError:
            continue
        for number, told in enumerate(found):
            fmt = get(told.format)
            path = tuple(
                fmt.parse(raw, index=i, origin=told.origins.get(i)).placed(i) for i, raw in enumerate(told.messages)
            )
            name = f"{file.name}[{number}]"
            for earlier in told.earlier:
                if earlier.summary:
                    yield Report(f"{name} summary", earlier.summary, path[: earlier.covered], True)
            if summaries:
                continue
            closing = [
                i
                for i, m in enumerate(path)
                if i >= 10 and m.role == "assistant" and not m.calls and len(m.text) >= LEAST
            ]
            for i in closing[-MOST:]:
                yield Report(f"{name} m{i}", path[i].text, path[:i], False)
