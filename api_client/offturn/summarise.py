"""A summary of what a plan covers, and where paid answers are kept."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from offturn.asking import Asking, BadAnswer, Paid
from offturn.outlasting import outlasting
from offturn.progress import Progress
from offturn.store.errors import StoreFull, StoreUnavailable
from offturn.store.sessions import SessionStore
from offturn.summarizer import AnySummarizer, Extractive
from offturn.unsaved import UNSAVED
from offturn_config.keys import SessionKey
from offturn_engine.compaction import NO_SECTIONS, NOTHING_SPENT, Opaque, Sections, Spent
from offturn_engine.errors import SummarizerError
from offturn_engine.plan import Summarise

BAD_ANSWER = "bad_answer"
"""The kind of a failure that was paid: the model answered, and that was no summary, nor once repaired."""

FACTS_LOST = "facts_lost"
"""Another such kind: with the summary fewer facts are kept or recoverable than the policy demands, also once repaired."""

PAID_IN_VAIN = frozenset({BAD_ANSWER, FACTS_LOST})


@dataclass(frozen=True, slots=True)
class Written:
    """Sections of the whole middle, and what they cost.

    masked: secrets taken out of it first. head_trimmed: its oldest messages, left out because the summarizer could not
    take all of it. own_model: whether the session's own model wrote it, or why not; see there.
    """

    sections: Sections
    spent: Spent
    model: str
    masked: int = 0
    head_trimmed: int = 0
    opaque: Opaque | None = None  # in place of sections: a provider's own item
    own_model: str = ""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No usable summary. `kind`: of the provider's error, or BAD_ANSWER; `try_again`: it may pass by itself."""

    kind: str
    try_again: bool
    retry_after: float
    spent: Spent


@dataclass(frozen=True, slots=True)
class PaidInSession:
    """Kept beside the session, also after the claim was lost: a retry pays only for what is missing.

    What the store does not take now stays in this process, and is offered again when a job asks for it.
    """

    store: SessionStore
    session: SessionKey
    incarnation: int
    redactions: int
    progress: Progress

    async def get(self, key: str) -> str | None:
        found = await outlasting(partial(self.store.chunk, self.session, key))
        if found is None and (found := UNSAVED.get((self.session, self.incarnation, key))) is not None:
            await self.put(key, found)
        return found

    async def put(self, key: str, value: str) -> None:
        place = self.session, self.incarnation, key
        UNSAVED.add(place, value)
        with suppress(StoreUnavailable, StoreFull):  # the result itself is still good
            lives = {"incarnation": self.incarnation, "redactions": self.redactions}
            await self.store.save_chunk(self.session, **lives, chunk_key=key, value=value)
            UNSAVED.drop(place)
        self.progress.made()


async def summarise(wanted: Summarise, summarizer: AnySummarizer, paid: Paid) -> Written | Unavailable:
    """The sections of a plan. Extractive: none, the ledger is the summary."""
    if isinstance(summarizer, Extractive):
        return Written(NO_SECTIONS, NOTHING_SPENT, "")
    asking = Asking(wanted, summarizer, paid)
    try:
        sections, model = await asking.run()
    except BadAnswer:
        return Unavailable(BAD_ANSWER, try_again=False, retry_after=0, spent=asking.spent)
    except SummarizerError as error:
        return Unavailable(error.kind, error.retryable, error.retry_after or 0, asking.spent)
    return Written(sections, asking.spent, model, asking.masked, asking.head_trimmed)
