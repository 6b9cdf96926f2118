"""A secret in a session and in a note never reaches a summarizer; generation 0 shows it as it was recorded."""

from __future__ import annotations

from offturn import Compacted, CompactionClient
from offturn.testing import FakeSummarizer
from offturn_engine.summary import SummaryRequest
from tests.engine.mask_samples import HEX, MIXED
from tests.integration.host import human, says, turns
from tests.integration.moved import open_session


async def test_a_planted_secret_reaches_no_summarizer_and_stays_in_the_log(client: CompactionClient) -> None:
    requests: list[SummaryRequest] = []

    async def keep(request: SummaryRequest) -> None:
        requests.append(request)

    session = open_session(client)
    planted = [human(f"Deploy it with DB_PASSWORD={MIXED} please."), says(f"I use Authorization: Bearer {HEX} then.")]
    await session.record([*planted, *turns("openai-chat", 22)])
    raw = await session.view()
    await session.phase_done(f"the token is {HEX}", focus=f"api_key={MIXED}")

    [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=keep))

    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert outcome.masked >= 1
    assert requests
    for request in requests:
        shown = f"{request.system}\n{request.content}\n{request.source}"
        assert MIXED not in shown
        assert HEX not in shown
        assert "[masked: token]" in shown
    await session.rollback(generation=0, force=True)
    assert (await session.view()).messages == raw.messages
    assert MIXED in str(raw.messages)
    assert HEX in str(raw.messages)
    [done] = [event for event in await session.events() if event.fields.get("outcome") == "compacted"]
    assert int(done.fields["masked"]) == outcome.masked
