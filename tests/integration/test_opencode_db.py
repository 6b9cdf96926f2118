"""OpenCode's database, as its reader gets it: both generations of its tables, from a file, from a copy, while in use."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from offturn_engine import files
from offturn_engine.files import Earlier, UnreadableFile
from offturn_worker.opencode_db import MAGIC, lines
from tests.engine.files import opencode_sample as sample
from tests.engine.files.opencode_tables import TABLES, add_messages, add_rows, add_session


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as connection:
        connection.executescript(TABLES)
        yield connection


def path_of(database: sqlite3.Connection) -> Path:
    ((_, _, name),) = database.execute("PRAGMA database_list")
    return Path(name)


def test_the_first_generation_reads_like_an_export(database: sqlite3.Connection) -> None:
    add_session(database, sample.SESSION)
    add_messages(database, *sample.MESSAGES)
    assert files.read(lines(path_of(database))) == files.read(json.dumps(sample.EXPORT))


def test_the_first_generation_wins_where_both_are_filled(database: sqlite3.Connection) -> None:
    add_session(database, sample.SESSION)
    add_messages(database, sample.FIRST)
    add_rows(database, {"type": "user", "text": "of the second"})
    (conversation,) = files.read(lines(path_of(database)))
    assert "of the second" not in json.dumps(conversation.messages)


def test_several_sessions_and_a_revert(database: sqlite3.Connection) -> None:
    add_session(database, sample.SUB)
    add_session(database, sample.SESSION, json.dumps({"messageID": "msg_02"}))
    add_messages(database, *sample.MESSAGES, sample.CHILD)
    main, child = files.read(lines(path_of(database)))
    assert [main.title, child.title] == ["Port the parser", "sub-agent: Look around"]
    assert len(main.messages) == 2


def test_what_stands_only_in_the_write_ahead_log_is_read(database: sqlite3.Connection) -> None:
    assert database.execute("PRAGMA journal_mode = wal").fetchone() == ("wal",)
    database.execute("PRAGMA wal_autocheckpoint = 0")
    add_session(database, sample.SESSION)
    add_messages(database, sample.FIRST)
    path = path_of(database)
    before = path.read_bytes()
    assert len(files.read(lines(path))) == 1
    assert path.read_bytes() == before


def test_a_copy_of_a_database_in_write_ahead_mode(database: sqlite3.Connection, tmp_path: Path) -> None:
    add_session(database, sample.SESSION)
    add_messages(database, *sample.MESSAGES)
    path = path_of(database)
    read = files.read(lines(path))
    database.execute("PRAGMA journal_mode = wal")
    database.close()
    data = path.read_bytes()
    assert data.startswith(MAGIC)
    assert data[18:20] == b"\2\2"
    copy = tmp_path / "copy.db"
    copy.write_bytes(data)
    assert files.read(lines(copy)) == read


def test_the_second_generation(database: sqlite3.Connection) -> None:
    done: dict[str, Any] = {"status": "completed", "input": {"path": "a"}}
    done["content"] = [{"type": "text", "text": "out"}, {"type": "file", "mime": "image/png", "uri": sample.PIXEL}]
    failed = {"status": "error", "input": {}, "content": [], "error": {"message": "no"}}
    tools = [
        {"type": "tool", "id": "c1", "name": "read", "state": done, "time": {"pruned": 5}},
        {"type": "tool", "id": "c2", "name": "read", "state": failed},
    ]
    add_session(database, sample.SESSION)
    add_rows(
        database,
        {"type": "agent-switched", "agent": "build"},
        {"type": "system", "text": "rules"},
        {"type": "user", "text": "go", "files": [{"mime": "image/png", "data": "AAAA"}]},
        {"type": "assistant", "content": [{"type": "text", "text": "I look."}, *tools], "tokens": sample.ENDED},
        {"type": "shell", "shellID": "s1", "command": "ls", "output": "a.py"},
        {"type": "compaction", "reason": "auto", "summary": "Goal", "recent": "[User] go"},
        {"type": "synthetic", "text": "note"},
    )
    (conversation,) = files.read(lines(path_of(database)))
    assert [m["role"] for m in conversation.messages] == ["user", *["user", "assistant"] * 2, "user", "user"]
    assert conversation.origins == {0: "host", 6: "host"}
    assert conversation.reported == {2: 130}
    assert conversation.earlier == (Earlier(at=6, covered=6, summary="Goal\n\n[User] go", tokens_before=135),)
    first, second = conversation.messages[3]["content"]
    assert [block["type"] for block in first["content"]] == ["text", "image"]
    assert second == {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True}
    assert conversation.messages[4]["content"][0]["input"] == {"command": "ls"}
    assert conversation.messages[5]["content"][0]["content"] == "a.py"
    assert "1 results the host no longer showed kept" in conversation.notes


def test_sessions_without_messages_do_not_hide_the_others(database: sqlite3.Connection) -> None:
    for number in range(300):
        add_session(database, {"id": f"ses_0_{number}", "title": "empty"})
    add_session(database, sample.SESSION)
    add_messages(database, sample.FIRST)
    assert [c.title for c in files.read(lines(path_of(database)))] == ["Port the parser"]


def test_other_databases_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE cities (name TEXT)")
    with pytest.raises(UnreadableFile, match="no tables session and message"):
        files.read(lines(other))
    other.write_bytes(MAGIC + b"\0" * 200)
    with pytest.raises(UnreadableFile, match="cannot be read"):
        files.read(lines(other))


def test_a_byte_that_is_no_text_costs_its_character_only(database: sqlite3.Connection) -> None:
    add_session(database, sample.SESSION)
    add_messages(database, sample.FIRST)
    broken = json.dumps({"type": "text", "text": "port ~ parser"}).encode().replace(b"~", b"\xff")
    database.execute("UPDATE part SET data = CAST(? AS TEXT) WHERE data LIKE '%port the parser%'", (broken,))
    database.commit()
    (conversation,) = files.read(lines(path_of(database)))
    assert conversation.messages[0]["content"][0] == {"type": "text", "text": "port \ufffd parser"}


def test_a_row_that_is_no_json_is_named(database: sqlite3.Connection) -> None:
    add_session(database, sample.SESSION)
    database.execute("INSERT INTO message VALUES ('msg_1', 'ses_1', 1, 'not json')")
    database.commit()
    with pytest.raises(UnreadableFile, match="table message, row msg_1, column data"):
        files.read(lines(path_of(database)))


def test_an_empty_database_holds_no_conversation(database: sqlite3.Connection) -> None:
    assert files.read(lines(path_of(database))) == []
