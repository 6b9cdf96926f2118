"""Files that are broken, mixed, of another encoding or too large: refused with the line and the remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from offturn_engine import files
from offturn_engine.files import UnreadableFile, source

PI: list[Any] = [
    {"type": "session", "id": "s", "version": 3},
    {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "Übung"}},
    {
        "type": "message",
        "id": "b",
        "parentId": "a",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "ok"}]},
    },
]
CODEX = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "hi"}}
CLAUDE = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}}


def text(*records: Any) -> str:
    return "\n".join(json.dumps(record, ensure_ascii=False) for record in records)


def test_a_truncated_last_line_is_left_out_and_counted() -> None:
    (conversation,) = files.read(text(*PI)[:-20])
    assert len(conversation.messages) == 1
    assert "1 last line cut short, skipped" in conversation.notes


def test_a_truncated_document_names_line_and_column() -> None:
    whole = json.dumps([{"role": "user", "content": "hi"}] * 3, indent=1)
    with pytest.raises(UnreadableFile, match=r"line 11, column \d+ is not JSON"):
        files.read(whole[:-40])


@pytest.mark.parametrize(
    ("other", "told"),
    [(CODEX, "line 4: a record of codex in a file of pi"), (CLAUDE, "line 1: a record of pi in a file of claude-code")],
)
def test_two_logs_in_one_file_are_refused_with_the_line(other: Any, told: str) -> None:
    with pytest.raises(UnreadableFile, match=f"{told}: give one session's file, or name its --format"):
        files.read(text(*PI, other))
    (conversation,) = files.read(text(*PI, other), format="pi")
    assert len(conversation.messages) == 2


def test_the_second_log_may_begin_far_behind_what_a_format_is_recognised_by() -> None:
    many = [PI[0], *(PI[1] | {"id": f"m{i}", "parentId": f"m{i - 1}" if i else None} for i in range(300))]
    with pytest.raises(UnreadableFile, match="line 302: a record of codex"):
        files.read(text(*many, CODEX))


@pytest.mark.parametrize(("encoding", "line"), [("utf-16", 1), ("latin-1", 2)])
def test_another_encoding_is_refused_with_the_line(encoding: str, line: int) -> None:
    with pytest.raises(UnreadableFile, match=f"line {line} is not UTF-8: convert the file"):
        files.read(text(*PI).encode(encoding))


def test_a_conversation_too_large_is_refused_where_it_gets_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST_CONVERSATION", 2**20)
    big = {"type": "message", "message": {"role": "user", "content": "x" * 2**19}}
    with pytest.raises(UnreadableFile, match="line 3: up to here there are more than 1 MB of messages: split"):
        files.read(text(PI[0], big, big, big))


def test_what_a_host_keeps_beside_messages_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST_CONVERSATION", 2**20)
    line = {**CLAUDE, "toolUseResult": {"stdout": "x" * 2**19}}
    lines = [line | {"uuid": f"u{i}", "parentUuid": f"u{i - 1}" if i else None} for i in range(6)]
    (conversation,) = files.read(text(*lines))
    assert len(conversation.messages) == 6


def test_lists_count_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST_CONVERSATION", 2**20)
    said = {"role": "user", "content": "x" * (2**19 - 100)}
    with pytest.raises(UnreadableFile, match="line 3: up to here"):
        files.read(text(said, said, said))


def test_too_many_records_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_RECORDS", 2)
    with pytest.raises(UnreadableFile, match="line 3: there are more than 2 records"):
        files.read(text(*PI))
