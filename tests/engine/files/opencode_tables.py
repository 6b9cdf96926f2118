"""A small database with the tables of OpenCode that a reader needs."""

from __future__ import annotations

import json
import sqlite3

from tests.engine.files.opencode_sample import Raw

TABLES = """
CREATE TABLE session (
    id TEXT PRIMARY KEY, parent_id TEXT, title TEXT NOT NULL, revert TEXT, time_created INTEGER NOT NULL);
CREATE TABLE message (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, data TEXT NOT NULL);
CREATE TABLE session_message (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL);
"""


def add_session(database: sqlite3.Connection, session: Raw, revert: str | None = None) -> None:
    row = (session["id"], session.get("parentID"), session["title"], revert, 1)
    database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?)", row)
    database.commit()


def add_messages(database: sqlite3.Connection, *messages: Raw) -> None:
    for i, message in enumerate(messages):
        info = dict(message["info"])
        id_, session = info.pop("id"), info.pop("sessionID")
        database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (id_, session, i, json.dumps(info)))
        for part in reversed(message["parts"]):
            data = {k: v for k, v in part.items() if k not in ("id", "messageID", "sessionID")}
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (part["id"], id_, session, json.dumps(data)))
    database.commit()


def add_rows(database: sqlite3.Connection, *rows: Raw) -> None:
    for seq, row in enumerate(rows):
        values = (f"msg_{seq}", "ses_1", row["type"], seq, json.dumps(row))
        database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?)", values)
    database.commit()
