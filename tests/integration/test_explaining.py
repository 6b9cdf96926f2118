"""`Session.explain`: what became of a message, whatever it is asked by, and off the path too."""

from __future__ import annotations

import pytest

from offturn import CompactionClient, Fate, InvalidSetting, Refused
from offturn.testing import FakeSummarizer
from tests.integration.host import FORMATS, turns
from tests.integration.moved import WINDOW, compacted, covered_end

RULE = "Never touch config/prod.yaml, whatever the tests say."


def told(found: list[Fate]) -> list[tuple[int, str, str, int]]:
    return [(f.seq, f.fate, f.rule, f.generation) for f in found]


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_message_is_named_in_any_way(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt, ids=True)
    end = await covered_end(session)

    asked = await session.explain("please look\n into  MODULE 1.")
    answer = [(3, "summarised", "model", 1)]

    assert told(asked) == [(4, "verbatim", "quoted", 1)]
    assert told(await session.explain(3)) == answer
    assert told(await session.explain("m3")) == answer
    assert told(await session.explain("row 3")) == answer
    assert told(await session.explain("m3.0")) == answer
    assert {f.covered for f in await session.explain(3)} == {(0, end)}
    assert told(await session.explain(end)) == [(end, "verbatim", "kept", 0)]
    assert await session.explain("nobody said this") == []


async def test_the_facts_of_a_message_come_with_its_first_part(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record([{"role": "user", "content": RULE}, *turns("openai-chat", 24)])
    assert [f.facts for f in await session.explain(0)] == [()]
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()

    [asked] = await session.explain(RULE)
    [answer] = [f for f in await session.explain(2) if f.facts]
    assert [(f.kind, f.text, f.fate, f.into) for f in asked.facts if f.kind == "constraint"] == [
        ("constraint", RULE, "kept", None)
    ]
    assert {f.verdict for f in answer.facts} <= {"kept", "recoverable"}


async def test_since_which_generation(client: CompactionClient) -> None:
    session = await compacted(client)
    first = await covered_end(session)
    await session.record(turns("openai-chat", 22, start=22))
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()

    assert told(await session.explain(3)) == [(3, "summarised", "model", 1)]
    assert told(await session.explain(first + 3)) == [(first + 3, "summarised", "model", 2)]

    await session.rollback(generation=0, force=True)
    assert told(await session.explain(3)) == [(3, "verbatim", "kept", 0)]


async def test_what_is_redacted_or_off_the_path_says_so(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 3))
    await session.rewind(turns=1)
    await session.redact([0], reason="asked for")

    assert told(await session.explain("module 2.")) == [(8, "omitted", "off-path", 0)]
    assert told(await session.explain(0)) == [(0, "redacted", "redact", 0)]
    assert await session.explain("module 0.") == []


@pytest.mark.parametrize("ref", [99, -1, "m99"])
async def test_what_names_nothing_is_refused(client: CompactionClient, ref: int | str) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 1))

    with pytest.raises(Refused, match="4 messages"):
        await session.explain(ref)


@pytest.mark.parametrize("ref", [True, None, 1.5, "", " \n"])
async def test_what_is_no_ref_and_no_text_is_refused(client: CompactionClient, ref: object) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 1))

    with pytest.raises(InvalidSetting):
        await session.explain(ref)  # type: ignore[arg-type]
