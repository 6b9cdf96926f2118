"""A message is named over HTTP as it is in Python: what the client takes is taken, what it refuses is refused, in its words."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import pytest

from offturn import CompactionClient, OffturnError, Session
from offturn_http.problems import problem_of
from tests.http.conftest import Ask, Do
from tests.http.serving import CHAT, says, user

LONG = "x" * 3_000
MESSAGES = [user("one"), says("two"), user("three"), says("four"), user("five"), says("six")]
IDS = ["row-0", None, "m1", "2", LONG, "\ud800"]
REFS = [1, 99, -1, 10**30, "row-0", "m1", "m3", "[m3]", "2", LONG, "\ud800", "", LONG * 2]

Named = Callable[[Session, Any], Awaitable[Any]]
NAMED: dict[str, tuple[str, dict[str, Any], Named]] = {
    "pin": ("ref", {}, lambda session, ref: session.pin(ref)),
    "unpin": ("ref", {}, lambda session, ref: session.unpin(ref)),
    "amend": ("ref", {"message": user("other")}, lambda session, ref: session.amend(ref, user("other"))),
    "rewind": ("to", {}, lambda session, ref: session.rewind(to=ref)),
    "redact": ("refs", {"reason": "x"}, lambda session, ref: session.redact([ref], reason="x")),
    "fork": ("at", {"id": "copy"}, lambda session, ref: session.fork("copy", at=ref)),
}


@pytest.mark.parametrize("ref", REFS, ids=lambda ref: f"{ref!r:.12}")
@pytest.mark.parametrize("name", NAMED)
def test_what_names_a_message(name: str, ref: Any, ask: Ask, do: Do, tenant: str) -> None:
    field, more, work = NAMED[name]
    host = ask("host", f"{tenant}-http")
    begun = {"messages": MESSAGES, "ids": IDS, "session": CHAT}
    assert host.post("/v1/sessions/chat/turn", content=json.dumps(begun)).status_code == 200
    body = {field: [ref] if field == "refs" else ref, **more}
    told = host.post(f"/v1/sessions/chat/{name}", content=json.dumps(body))

    async def python(_: CompactionClient, session: Session) -> tuple[int, Any]:
        await session.record(MESSAGES, ids=IDS)
        try:
            found = await work(session, ref)
        except OffturnError as error:
            return problem_of(error).kind.status, str(error)
        return 200, asdict(found) if name in ("pin", "unpin") else None

    status, said = do(python)
    assert told.status_code == status, (told.text, said)
    if status != 200:
        assert told.json()["detail"] == said
    elif said is not None:
        assert told.json() == {**said, "seqs": list(said["seqs"]), "warnings": list(said["warnings"])}
