"""Odd cases of recorded chats that need no reader of their own; they are skipped where the recordings are missing."""

from __future__ import annotations

from typing import Any

import pytest

from offturn_engine import files, formats
from offturn_engine.groups import pair
from tests.engine.test_files import MISSING, TRANSCRIPTS, sendable

pytestmark = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)


def recorded(file: str) -> files.Conversation:
    (conversation,) = files.read((TRANSCRIPTS / file).read_bytes())
    sendable(conversation)
    return conversation


def test_case_01_one_id_for_several_calls() -> None:
    conversation = recorded("taubench_airline_052.json")
    ids: dict[int, str] = {
        i: call["id"] for i, m in enumerate(conversation.messages) for call in m.get("tool_calls") or ()
    }
    assert ids[24] == ids[46] == ids[60]
    assert (ids[4], ids[26], ids[32]) == (ids[50], ids[42], ids[58])
    parsed = [formats.get("openai-chat").parse(raw) for raw in conversation.messages]
    pairs = pair(parsed)
    assert pairs.orphans == ()
    assert pairs.open_calls == ()


@pytest.mark.parametrize(
    ("file", "calls"),
    [("taubench_airline_052.json", 25), ("inspect_browser.json", 4), ("tau2_20260601-041221.json", 4 + 3)],
)
def test_case_07_calls_without_a_word_beside_them(file: str, calls: int) -> None:
    """Null in one file, an empty text in another; a provider takes null."""
    said: list[Any] = [m for m in recorded(file).messages if m.get("tool_calls") and not m["content"]]
    assert len(said) == calls
    assert all(message["content"] is None for message in said)


@pytest.mark.parametrize(
    ("file", "message", "least"), [("invariant_sample_2.json", 3 + 1, 273_000), ("swesmith_adp_4.json", 3, 100_000)]
)
def test_case_09_one_huge_message(file: str, message: int, least: int) -> None:
    """In the first one a call before it was never answered: its synthetic result stands before."""
    sizes = [len(str(raw["content"])) for raw in recorded(file).messages]
    assert sizes.index(max(sizes)) == message
    assert max(sizes) >= least


def test_calls_without_ids_are_answered_by_order() -> None:
    conversation = recorded("invariant_webarena_1.json")
    assert sum(len(m.get("tool_calls") or ()) for m in conversation.messages) == 7 + 1
    assert conversation.notes == (
        "7 arguments that were objects written as JSON text",
        "14 missing tool ids given by order",
        "1 results without a call given one",
    )


def test_what_an_llm_log_holds_beside_its_messages_is_not_read() -> None:
    conversation = recorded("ohsdk_llmlog_claude.json")
    assert conversation.source_format == "openai-chat"
    assert len(conversation.messages) == 12
    assert conversation.notes == tuple(
        f"1 {name} beside the messages not read" for name in ("tools", "kwargs", "response")
    )
