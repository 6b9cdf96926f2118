"""Recorded Claude Code sessions: what each holds, counted by hand in the files."""

from __future__ import annotations

from collections import Counter

import pytest

from offturn_engine import files
from offturn_engine.messages import MediaPart, ThinkingPart
from tests.engine.files.shown import parsed, recorded
from tests.engine.test_files import MISSING, TRANSCRIPTS, sendable

pytestmark = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)


@pytest.mark.parametrize(
    ("name", "origins", "calls", "results"),
    [
        ("cc_episodic_long", {"human": 15, "host": 1, "assistant": 71, "tool": 98}, 98, 98),
        ("cc_episodic_tiny", {"human": 2, "assistant": 3, "tool": 1}, 1, 1),
        ("cc_share_general-tool-calls", {"human": 6, "host": 15, "assistant": 56, "tool": 64}, 65, 64),
        ("cc_share_images-in-user-messages", {"human": 3, "host": 4, "assistant": 3}, 2, 0),
        ("cc_share_images-in-tool-results", {"host": 1, "assistant": 1, "tool": 1}, 1, 1),
        ("cc_share_subagents", {"human": 2, "host": 13, "assistant": 11, "tool": 7}, 7, 7),
        ("cc_log_edge_cases", {"human": 4, "host": 3, "assistant": 4, "tool": 3}, 3, 3),
        ("cc_stage0_drift", {"human": 1, "host": 1, "assistant": 1}, 0, 0),
        ("cc_stage0_large", {"human": 4, "assistant": 5, "tool": 1}, 1, 1),
    ],
)
def test_what_a_session_holds(name: str, origins: dict[str, int], calls: int, results: int) -> None:
    (conversation,) = recorded(f"{name}.jsonl")
    messages = parsed(conversation)
    assert Counter(m.origin for m in messages) == origins
    assert sum(len(m.calls) for m in messages) == calls
    assert sum(len(m.results) for m in messages) == results
    sendable(conversation)


def test_a_session_with_an_agent() -> None:
    main, agent = recorded("cc_share_hook.jsonl")
    assert [m.origin for m in parsed(main)] == ["human", "assistant", "tool", "assistant"]
    assert agent.title == "agent a2018e5"
    assert [m.origin for m in parsed(agent)] == ["host", "assistant", "tool"]


def test_an_export_with_a_compaction() -> None:
    (conversation,) = recorded("cc_loglines_sample.json")
    assert Counter(m.origin for m in parsed(conversation)) == {"human": 5, "assistant": 15, "tool": 12}
    assert [(e.at, e.covered) for e in conversation.earlier] == [(28, 28)]


def test_case_02_replayed_history_after_a_resume() -> None:
    """45 calls stand there twice, under new names: 110 of 65."""
    (conversation,) = recorded("cc_share_general-tool-calls.jsonl")
    ids = [call.id for m in parsed(conversation) for _, call in m.calls]
    assert len(ids) == len(set(ids)) == 65


def test_case_03_parallel_calls_are_one_message_with_its_results_behind_it() -> None:
    """Records 152-157: six calls answered on branches of their own; the resumed copy has kept one of them."""
    (conversation,) = recorded("cc_share_general-tool-calls.jsonl")
    messages = parsed(conversation)
    at = next(i for i, m in enumerate(messages) if len(m.calls) == 6)
    results = [result.call_id for m in messages[at + 1 : at + 7] for _, result in m.results]
    assert sorted(results) == sorted(call.id for _, call in messages[at].calls)
    assert all(m.origin == "tool" for m in messages[at + 1 : at + 7])


def test_case_06_calls_that_end_a_file_stay_open() -> None:
    (first,) = recorded("cc_share_images-in-user-messages.jsonl")
    (second,) = recorded("cc_share_general-tool-calls.jsonl")
    assert [len(parsed(c)[-1].calls) for c in (first, second)] == [2, 1]
    assert not any("interrupted" in note for note in (*first.notes, *second.notes))


def test_case_10_binary_blocks() -> None:
    """A PDF of 343 kB that the host put in, an image a human pasted, an image inside a result: once each."""
    long, user, tool = (
        recorded(f"cc_{name}.jsonl")[0]
        for name in ("episodic_long", "share_images-in-user-messages", "share_images-in-tool-results")
    )
    documents = [(m.origin, p.kind) for m in parsed(long) for p in m.parts if isinstance(p, MediaPart)]
    assert documents == [("host", "document")]
    assert [(m.origin, p.kind) for m in parsed(user) for p in m.parts if isinstance(p, MediaPart)] == [
        ("human", "image")
    ]
    assert sum(result.media for m in parsed(tool) for _, result in m.results) == 1


def test_case_11_signed_reasoning_is_kept_once() -> None:
    """98 blocks stand there, with the copies."""
    (conversation,) = recorded("cc_share_general-tool-calls.jsonl")
    signatures = [b["signature"] for raw in conversation.messages for b in raw["content"] if "signature" in b]
    assert len(signatures) == len(set(signatures)) == 49
    assert sum(isinstance(p, ThinkingPart) for m in parsed(conversation) for p in m.parts) == 49


def test_case_15_lines_that_are_no_objects_and_a_file_without_messages() -> None:
    (conversation,) = recorded("cc_log_edge_cases.jsonl")
    assert "3 lines that are no objects skipped" in conversation.notes
    assert recorded("cc_episodic_medium.jsonl") == []
    assert files.detect((TRANSCRIPTS / "cc_episodic_medium.jsonl").read_bytes())[0] == "claude-code"
