"""OpenCode's database as lines its reader takes: each session, then its messages and their parts, a JSON document each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from offturn_engine.files import Lines, UnreadableFile
from offturn_engine.messages import Json

MAGIC = b"SQLite format 3\0"
"""How every SQLite file begins."""

_IN_WAL_MODE, _NOT_IN_WAL_MODE = b"\2\2", b"\1\1"
_MODES = slice(18, 20)  # of the file's header: the versions needed to write and to read it


def lines(database: Path | bytes) -> Lines:
    """Reads the database anew each time it is called; never writes, and sees what a running OpenCode has committed.

    Given as bytes, it is what its file held: what still stood in a `-wal` file beside it is not there.
    Raises UnreadableFile, as its lines are read, where it is damaged or not OpenCode's.
    """
    return lambda: _lines(database)


def _lines(database: Path | bytes) -> Iterator[str]:
    try:
        with closing(_opened(database)) as connection:
            if isinstance(database, bytes):
                connection.deserialize(_without_wal(database))
            connection.row_factory = sqlite3.Row
            for document in _documents(connection):
                yield json.dumps(document)
    except sqlite3.Error as error:
        raise UnreadableFile(f"the SQLite database cannot be read: {error}") from None


def _opened(database: Path | bytes) -> sqlite3.Connection:
    if isinstance(database, bytes):
        return sqlite3.connect(":memory:")
    # Without a -wal file nobody writes, and a folder that cannot be written to is no hindrance.
    has_wal = database.with_name(f"{database.name}-wal").exists()
    return sqlite3.connect(f"{database.resolve().as_uri()}?{'mode=ro' if has_wal else 'immutable=1'}", uri=True)


def _without_wal(database: bytes) -> bytes:
    """A database in memory cannot have a write-ahead log, and is refused where its header says so."""
    header = bytearray(database[: _MODES.stop])
    if header[_MODES] == _IN_WAL_MODE:
        header[_MODES] = _NOT_IN_WAL_MODE
    return bytes(header) + database[_MODES.stop :]


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
