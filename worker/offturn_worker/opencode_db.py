"""OpenCode's database as lines its reader takes: each session, then its messages and their parts, a JSON document each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from offturn_engine.files import Lines, UnreadableFile
from offturn_engine.messages import Json

MAGIC = b"SQLite format 3\0"
"""How every SQLite file begins."""
EXPORT = "give the one session that you need: `opencode export SESSION > FILE`"
"""What helps where all of them do not fit."""


def lines(database: Path) -> Lines:
    """Reads the database anew each time it is called; never writes, and sees what a running OpenCode has committed.

    Of a copy without the `-wal` file that stood beside it, what was in there is missing.
    Raises UnreadableFile, as its lines are read, where it is damaged or not OpenCode's.
    """
    return lambda: _lines(database)


def _lines(database: Path) -> Iterator[str]:
    # Without a -wal file nobody writes, and a folder that cannot be written to is no hindrance.
    mode = "mode=ro" if database.with_name(f"{database.name}-wal").exists() else "immutable=1"
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?{mode}", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = partial(
                str, encoding="utf-8", errors="replace"
            )  # sqlite3's error quotes the text
            for document in _documents(connection):
                yield json.dumps(document)
    except sqlite3.Error as error:
        raise UnreadableFile(f"the SQLite database cannot be read: {error}") from None


def _documents(connection: sqlite3.Connection) -> Iterator[dict[str, Json]]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "session" not in tables or not tables & {"message", "session_message"}:
        raise UnreadableFile("this SQLite database is not OpenCode's: it has no tables session and message")
    is_first = "message" in tables and connection.execute("SELECT 1 FROM message LIMIT 1").fetchone() is not None
    of_session = _first_generation if is_first else _second_generation
    for session in connection.execute("SELECT * FROM session ORDER BY time_created, id"):
        for i, document in enumerate(of_session(connection, session["id"])):
            if i == 0:
                yield _session(session)
            yield document


def _first_generation(connection: sqlite3.Connection, session: str) -> Iterator[dict[str, Json]]:
    messages = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for row in connection.execute(messages, (session,)):
        yield {**_parsed(row, "data", "message"), "id": row["id"], "sessionID": session}
    parts = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id"
    for row in connection.execute(parts, (session,)):
        ids = {"id": row["id"], "messageID": row["message_id"], "sessionID": session}
        yield {**_parsed(row, "data", "part"), **ids}


def _second_generation(connection: sqlite3.Connection, session: str) -> Iterator[dict[str, Json]]:
    rows = "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq"
    for row in connection.execute(rows, (session,)):
        ids = {"id": row["id"], "sessionID": session, "type": row["type"]}
        yield {**_parsed(row, "data", "session_message"), **ids}


def _session(row: sqlite3.Row) -> dict[str, Json]:
    """Older databases lack a column or another."""
    known = dict(row)
    revert = _parsed(row, "revert", "session") if known.get("revert") else None
    return {"id": row["id"], "parentID": known.get("parent_id"), "title": known.get("title"), "revert": revert}


def _parsed(row: sqlite3.Row, column: str, table: str) -> dict[str, Json]:
    try:
        value = json.loads(row[column])
    except (TypeError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise UnreadableFile(f"table {table}, row {row['id']}, column {column}: is no JSON object")
    return value
