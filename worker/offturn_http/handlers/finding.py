"""What became of messages, and what they said: fates, the text behind a handle, and search."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from pydantic import Field

from offturn.errors import InvalidSetting
from offturn_http.call import Call
from offturn_http.models import JsonObject
from offturn_http.operations import SESSION, Operation
from offturn_http.wire import Answer, Given


class ExplainQuery(Given):
    """Which messages: one by its seq, or those that a handle, an id of yours or a text names."""

    seq: int | None = Field(default=None, ge=0, le=2**53)
    text: str | None = Field(default=None, min_length=1, max_length=4_000)


class ExplainAnswer(Answer):
    """fates: of each part of each message, what became of it in the view in force, by which rule, since which generation."""

    fates: list[JsonObject]


class RecallQuery(Given):
    """A handle as a view has it, such as m181, m181.2 or m3-m40."""

    handle: str = Field(min_length=1, max_length=1_000)


class RecallAnswer(Answer):
    """The full text."""

    text: str


class SearchQuery(Given):
    """Words, and phrases in quotes."""

    text: str = Field(min_length=1, max_length=1_000)
    limit: int = Field(default=10, ge=1, le=100)


class SearchAnswer(Answer):
    """hits: the best first; `handle` is for `recall`."""

    hits: list[JsonObject]


async def explain(call: Call) -> ExplainAnswer:
    """What became of messages."""
    query, session = call.query(ExplainQuery), await call.session()
    named = query.text if query.seq is None else query.seq
    if named is None or (query.text is not None and query.seq is not None):
        raise InvalidSetting("name the messages: `seq`, or `text`, not both")
    return ExplainAnswer(fates=[{**asdict(fate), "why": fate.why} for fate in await session.explain(named)])


async def recall(call: Call) -> RecallAnswer:
    """The full text behind a handle."""
    query, session = call.query(RecallQuery), await call.session()
    return RecallAnswer.model_construct(text=await session.recall(query.handle))


async def search(call: Call) -> SearchAnswer:
    """Where words were said."""
    query, session = call.query(SearchQuery), await call.session()
    return SearchAnswer(hits=[asdict(hit) for hit in await session.search(query.text, query.limit)])


_find = partial(Operation, "GET", tag="finding", role="reader")

OPERATIONS = (
    _find(
        "explain",
        f"{SESSION}/explain",
        explain,
        "What became of messages, by which rule, since when",
        query=ExplainQuery,
        answer=ExplainAnswer,
    ),
    _find(
        "recall",
        f"{SESSION}/recall",
        recall,
        "The full text behind a handle of a view",
        query=RecallQuery,
        answer=RecallAnswer,
    ),
    _find(
        "search",
        f"{SESSION}/search",
        search,
        "Find words in all that was recorded",
        query=SearchQuery,
        answer=SearchAnswer,
    ),
)
