"""Files that are broken, mixed, of another encoding or too large: refused with the line and the remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from offturn_engine import files
from offturn_engine.files import TooLarge, UnreadableFile, source

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


@pytest.mark.parametrize("is_first", [True, False])
def test_messages_of_a_chat_in_a_log_are_refused_with_the_line(is_first: bool) -> None:
    said = {"role": "user", "content": "hi"}
    lines = [said, *PI] if is_first else [*PI, said]
    told = f"line {1 if is_first else 4}: a message of a chat in a file of pi: give one session's file"
    with pytest.raises(UnreadableFile, match=told):
        files.read(text(*lines))


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


def test_another_encoding_is_refused_with_the_line() -> None:
    with pytest.raises(UnreadableFile, match="line 2 is not UTF-8: convert the file"):
        files.read(text(*PI).encode("latin-1"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named_with_the_command_that_helps(encoding: str) -> None:
    with pytest.raises(UnreadableFile, match=r"the file is UTF-16: convert it to UTF-8 \(iconv -f UTF-16 -t UTF-8\)"):
        files.read(text(*PI).encode(encoding))


@pytest.mark.parametrize(
    ("magic", "told"),
    [(b"PK\x03\x04", "a zip archive"), (b"\x1f\x8b\x08", "packed by gzip"), (b"\x28\xb5\x2f\xfd", "zstd")],
)
def test_a_packed_file_is_named_so(magic: bytes, told: str) -> None:
    with pytest.raises(UnreadableFile, match=f"{told}: unpack it"):
        files.read(magic + bytes(range(256)))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\0" * 100, "give the session file that the host wrote"),
        (b"<html></html>", "give the session file that the host wrote"),
        (b'[{"role": "user", "content": "hi"},\n', "it was cut short, give the whole file"),
        (b'[{"role": "user", "content": "hi', "it was cut short, give the whole file"),
        (b'[{"role": "user" "content": 1}]', "repair it there"),
        (b"[" * 100_000, r"nested too deeply\): correct that"),
        (b'[{"role": "user", "content": ' + b"9" * 5000 + b"}]", "a number has more digits than Python reads"),
    ],
)
def test_what_is_no_json_is_refused_with_a_remedy(data: bytes, told: str) -> None:
    with pytest.raises(UnreadableFile, match=told):
        files.read(data)


def test_one_value_counts_like_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST_CONVERSATION", 2**20)
    said = {"role": "user", "content": "x" * (2**19 - 200)}
    with pytest.raises(TooLarge, match="message 2: up to here there are more than 1 MB of messages: split"):
        files.read(json.dumps([said, said, said]))
    monkeypatch.setattr(source, "MOST_RECORDS", 2)
    with pytest.raises(TooLarge, match="record 2: there are more than 2 records"):
        files.read(json.dumps([PI[1]["message"]] * 3))


def test_many_short_messages_count_for_what_is_made_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST_CONVERSATION", 2**13)
    with pytest.raises(TooLarge, match=r"message \d\d: up to here"):
        files.read(json.dumps([{"role": "user", "content": "x"}] * 100))


@pytest.mark.parametrize("data", ["[" + "[]," * 50 + "[]]", '{"role": "user"}\n[' + "{}," * 50 + "{}]"])
def test_more_values_than_memory_holds_are_refused_before_they_are_made(
    data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MOST_VALUES", 50)
    with pytest.raises(TooLarge, match="holds more than 50 values"):
        files.read(data)


def test_commas_of_texts_are_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_VALUES", 50)
    (conversation,) = files.read(json.dumps([{"role": "user", "content": '\\"[{,[{,' * 50}]))
    assert len(conversation.messages) == 1


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
