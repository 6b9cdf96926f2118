"""What deletes: what messages say, and whole sessions."""

from __future__ import annotations

from contextlib import suppress

from pydantic import Field
from starlette.responses import Response

from offturn import Session
from offturn.errors import NothingRecorded, StoreFault
from offturn_config.keys import SessionKey
from offturn_http.call import Call
from offturn_http.cursors import cursor_of
from offturn_http.models import Cursor, Ref
from offturn_http.operations import SESSION, Operation
from offturn_http.wire import Answer, Given


class RedactGiven(Given):
    """Whose words, and why; the reason is kept and must not quote them."""

    refs: list[Ref] = Field(default_factory=list, max_length=10_000)
    author: str | None = Field(default=None, max_length=1_000, description="every message whose `name` says so")
    reason: str = Field(min_length=1, max_length=300)


class RedactAnswer(Answer):
    """seqs: of the messages that this request has redacted."""

    seqs: list[int]
    cursor: Cursor


async def redact(call: Call) -> RedactAnswer:
    """Delete what messages say, for good."""
    given, session = call.body(RedactGiven), await call.session()
    seqs = await session.redact(given.refs, author=given.author, reason=given.reason)
    return RedactAnswer(seqs=list(seqs), cursor=cursor_of(await session.place()))


async def purge(call: Call) -> Response:
    """Delete the session; again, it does nothing."""
    call.service.handles.forget(call.caller.tenant, call.id)
    await (await _purgeable(call)).purge()
    call.service.handles.forget(call.caller.tenant, call.id)
    return Response(status_code=204)


async def _purgeable(call: Call) -> Session:
    """Of what is in the archive, cannot be read, or is gone, the format does not matter."""
    store = (await call.service.links()).store
    if await store.stub(SessionKey(call.caller.tenant, call.id)) is None:
        with suppress(NothingRecorded, StoreFault):
            return await call.session()
    return call.client.session(call.id, format="openai-chat")


OPERATIONS = (
    Operation(
        "POST",
        "redact",
        f"{SESSION}/redact",
        redact,
        "Delete what messages say, for good",
        tag="deleting",
        body=RedactGiven,
        answer=RedactAnswer,
    ),
    Operation("DELETE", "purge", SESSION, purge, "Delete a session with all it holds", tag="deleting", status=204),
)
