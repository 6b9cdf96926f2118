"""Real agent histories through the whole path: record -> compact -> view, with every promise kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from offturn import Compacted, CompactionClient, Pruned, Skipped
from offturn_engine.compaction import NOTHING
from offturn_engine.files import Conversation, read
from offturn_engine.formats import get
from offturn_engine.invariants import Shown, violations
from offturn_engine.render import render
from tests.conftest import TIMEOUT

SHARED = Path(__file__).resolve().parents[3] / "shared" / "transcripts"
KINDS = ("openai_chat", "taubench", "taubench_bundle", "pi_session")
AT_MOST = 6  # conversations of one file


def names() -> list[str]:
    if not SHARED.is_dir():
        return []
    manifest = json.loads((SHARED / "MANIFEST.json").read_text())
    return [entry["file"] for entry in manifest["files"] if entry["format"] in KINDS]


@pytest.mark.skipif(not names(), reason="the folder shared/transcripts is not beside this checkout")
@pytest.mark.parametrize("name", names() or ["none"])
async def test_record_compact_view(name: str, valkey_url: str, redis: object) -> None:
    conversations = read((SHARED / name).read_bytes(), format=None)[:AT_MOST]
    assert conversations
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client:
        for index, conversation in enumerate(conversations):
            await _one(client, f"{name}:{index}", conversation)


async def _one(client: CompactionClient, session_id: str, conversation: Conversation) -> None:
    fmt = get(conversation.format)
    session = client.session(session_id, format=conversation.format, window=1_000_000)
    await session.record(conversation.messages)
    raw = await session.view(generation=0)
    assert sorted(map(repr, raw.messages)) == sorted(map(repr, conversation.messages))

    small = client.session(f"{session_id}:small", format=conversation.format, window=max(2_000, int(raw.tokens / 0.6)))
    await small.record(conversation.messages)
    await small.request()
    *_, outcome = await client.run_due()

    path = [fmt.parse(raw, index=i).placed(i) for i, raw in enumerate(conversation.messages)]
    if isinstance(outcome, Skipped):
        assert outcome.reason in ("nothing_to_cover", "no_gain")
        return
    assert isinstance(outcome, Compacted | Pruned)
    view = await small.view()
    waits = any("waiting for their results" in warning for warning in view.warnings)
    assert view.generation == (0 if waits else outcome.generation)  # never adopted inside an open group
    assert view.tokens <= view.limit
    assert outcome.tokens_after <= outcome.tokens_before * 0.8
    before = {p.rule for p in fmt.problems(list(conversation.messages))}
    assert {p.rule for p in fmt.problems(list(view.messages))} <= before | {"pending"}
    record = (await small.generations())[-1]
    assert record.number == outcome.generation
    assert violations(Shown(path, NOTHING, render(path, NOTHING, fmt), fmt)) == {}
