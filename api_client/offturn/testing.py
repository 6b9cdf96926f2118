"""For tests of hosts: a real store in a temporary folder, and a summarizer without a model.

    from offturn.testing import FakeSummarizer, offturn_client   # in conftest.py: the fixture

    async def test_my_bot(offturn_client):
        ...
        await offturn_client.run_due(summarizer=FakeSummarizer())

The store needs the embedded server (`pip install '.[embedded]'` in a clone), the fixture pytest and a plugin for async fixtures (pytest-asyncio or anyio).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from offturn.client import CompactionClient
from offturn_engine.language import detect
from offturn_engine.statement_words import LEADS, NEGATIVE
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_engine.tokens import estimate_text

__all__ = ["Asked", "FakeSummarizer", "Scripted", "compaction_client", "summary_of"]

Scripted: TypeAlias = str | SummaryReply | Exception
"""One answer: its text, the whole reply, or what is raised (SummarizerError is what a real one raises)."""

WORDS = 20  # of one section
TIMEOUT = 10.0  # seconds: a machine that runs tests may be busy

_HUMAN = re.compile(r"^\[m\d+ human\]\n(.+)$", re.MULTILINE)
_LANGUAGE = re.compile(r"^- Write in (.+), the user's language\.$", re.MULTILINE)
_LABEL = re.compile(r"^\[m\d+ \w+\]$|^(?:call|result) m\d+\.\d+ |^## .*$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{2,30}")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, without its text: `tokens` are estimated, `key` is what a paid answer is kept under."""

    key: str
    tokens: int
    max_output_tokens: int


class FakeSummarizer:
    """Answers at once, out of the words of the request: a summary that offturn accepts.

    replies: answers to give first, in order. on_request: awaited before each answer, so that a test can do something
    while a summary is being written. `asked` tells what was requested.
    """

    def __init__(
        self,
        replies: Iterable[Scripted] | None = None,
        *,
        model: str = "fake",
        window: int = 100_000,
        on_request: Callable[[SummaryRequest], Awaitable[None]] | None = None,
    ) -> None:
        self.model = model
        self.window = window
        self.asked: list[Asked] = []
        self._replies = iter(replies or ())
        self._on_request = on_request

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The next scripted answer, else a valid one."""
        size = estimate_text(request.system) + estimate_text(request.content)
        self.asked.append(Asked(request.key, size, request.max_output_tokens))
        if self._on_request is not None:
            await self._on_request(request)
        answer = next(self._replies, None)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, SummaryReply):
            return answer
        text = summary_of(request) if answer is None else answer
        return SummaryReply(
            text=text, finish="stop", model=self.model, input_tokens=size, output_tokens=estimate_text(text)
        )


def summary_of(request: SummaryRequest) -> str:
    """A summary with all sections asked for; its words are the request's own, a human's first, in the language asked for."""
    told = _LANGUAGE.search(request.content)
    understood = ("", told[1]) if told else ()
    human = " ".join(line for line in _HUMAN.findall(request.source) if not told or detect([line]) in understood)
    words = _words(human)
    if len(words) < 2:  # two sections have to say something
        words = _words(_LABEL.sub(" ", request.source))
    cut = min(WORDS, max(1, len(words) // 2))
    bodies = {0: words[:cut], 2: words[cut : 2 * cut]}
    lines = [" ".join(bodies.get(i, ())) or "none" for i in range(len(request.titles))]
    return "\n\n".join(f"## {title}\n- {line}" for title, line in zip(request.titles, lines, strict=True))


def _words(text: str) -> list[str]:
    """Each word once. Out of their sentences they may not forbid or ask for anything: that would contradict a human."""
    told = dict.fromkeys(_WORD.findall(text))
    harmless = [word for word in told if word.lower() not in LEADS and NEGATIVE.search(word) is None]
    return [*harmless[-1:], *harmless[:-1]] if len(harmless) > 1 else list(told)


@asynccontextmanager
async def compaction_client(*, tenant: str = "default", timeout: float = TIMEOUT) -> AsyncIterator[CompactionClient]:  # noqa: ASYNC109 -- the client's own deadline
    """A client of an embedded server with an empty folder; both are gone afterwards. `timeout`: seconds."""
    with tempfile.TemporaryDirectory(prefix="offturn-test-") as folder:
        async with CompactionClient.from_url(f"embedded://{folder}", tenant=tenant, timeout=timeout) as client:
            yield client


async def _offturn_client() -> AsyncIterator[CompactionClient]:
    """A client of an embedded server with an empty folder."""
    async with compaction_client() as client:
        yield client


def __getattr__(name: str) -> Any:
    """`offturn_client`, a pytest fixture: made when it is imported, because hosts need not have pytest."""
    if name != "offturn_client":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # anyio's plugin takes plain async fixtures, pytest-asyncio wants its own
    plugin = import_module("pytest_asyncio" if find_spec("pytest_asyncio") else "pytest")
    made = globals()[name] = plugin.fixture(name=name)(_offturn_client)
    return made
