"""`offturn session archive`, `restore` and `list --archived` as a person calls them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.acceptance.command import offturn
from tests.acceptance.test_session_commands import TALK, facts, store

__all__ = ["store"]

SOON = {"OFFTURN_TIMEOUT": "6"}
"""A call for an archived session waits all of it for a worker; within it a busy store has to answer."""


@pytest.fixture
def archived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    pytest.importorskip("fsspec", reason="no archive to write to: install offturn[archive]")
    return {"OFFTURN_ARCHIVE_URL": (tmp_path / "cold").as_uri(), "PATH": os.environ["PATH"]}


def test_there_and_back(store: tuple[str, ...], archived: dict[str, str]) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        done = offturn("session", *arguments, *store, variables=archived)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    before = facts("show", "chat", *store)["status"]
    assert run("archive", "nobody")[0] == 2
    code, told, _ = run("archive", "chat")
    assert (code, f"{len(TALK)} messages are in the archive" in told) == (0, True)
    code, _, said = run("archive", "chat")
    assert (code, "it is in the archive already" in said) == (2, True)
    code, told, said = run("list")
    assert (code, told.count("\n"), "in the archive: 1" in said) == (0, 1, True)
    (listed,) = json.loads(run("list", "--archived", "--json")[1])
    assert (listed["session"], listed["messages"]) == ("chat", len(TALK))
    assert "chat\t" in run("list", "--archived")[1]
    found = offturn("doctor", "--json", *store[:2], variables=archived)
    assert "archived" in {one["name"] for one in json.loads(found.stdout)["findings"]}

    assert run("restore", "chat")[0] == 0
    code, _, said = run("restore", "chat")
    assert (code, "is not in the archive" in said) == (2, True)
    after = facts("show", "chat", *store)["status"]
    assert {**after, "updated": None} == {**before, "updated": None}


def test_what_helps_is_told(store: tuple[str, ...], archived: dict[str, str]) -> None:
    bare = offturn("session", "archive", "chat", *store)
    assert (bare.returncode, b"OFFTURN_ARCHIVE_URL" in bare.stderr) == (2, True)
    odd = offturn("session", "archive", "chat", *store, variables={"OFFTURN_ARCHIVE_URL": "nonsense9://x"})
    assert (odd.returncode, odd.stderr.count(b"\n")) == (2, 1)
    assert offturn("session", "archive", "chat", *store, variables=archived).returncode == 0

    gone = offturn("session", "show", "chat", "--store", store[1], "--tenant", store[3], variables=SOON)
    assert (gone.returncode, b"is in the archive" in gone.stderr) == (2, True)


def test_the_queue_leaves_an_archived_session_where_it_is(store: tuple[str, ...], archived: dict[str, str]) -> None:
    """A host wants it back and no worker is there: it is in the due set, and hides no other from an operator."""
    assert offturn("session", "archive", "chat", *store, variables=archived).returncode == 0
    assert offturn("session", "show", "chat", *store, variables=SOON).returncode == 2

    listed = offturn("queue", "list", *store, "--json")
    replayed = offturn("queue", "replay", "chat", *store)
    dropped = offturn("queue", "drop", "--all", "--yes", *store, "--json")

    assert listed.returncode == 0, listed.stderr
    (row,) = json.loads(listed.stdout)["sessions"]
    assert (row["session"], row["state"], row["why"]) == ("chat", "due", "a host wants it back from the archive")
    assert (replayed.returncode, b"`offturn session restore`" in replayed.stderr) == (2, True)
    assert dropped.returncode == 0, dropped.stderr
    (one,) = json.loads(dropped.stdout)
    assert (one["session"], one["now"]) == ("chat", "in the archive, left as it is")
    assert b"in the archive: 1" in offturn("session", "list", *store).stderr


def test_what_is_lost_is_named_and_can_be_purged(
    store: tuple[str, ...], archived: dict[str, str], tmp_path: Path
) -> None:
    """`purge` asked for the session to be brought back first: of one whose object was lost it never came."""
    assert offturn("session", "archive", "chat", *store, variables=archived).returncode == 0
    (written,) = [path for path in (tmp_path / "cold").rglob("*") if path.is_file()]
    written.unlink()

    lost = offturn("session", "restore", "chat", *store, variables=archived)
    assert (lost.returncode, written.name.encode() in lost.stderr, b"session purge" in lost.stderr) == (2, True, True)
    gone = offturn("session", "purge", "chat", "--yes", "--json", *store)
    assert gone.returncode == 0
    assert json.loads(gone.stdout) == {"session": "chat", "messages": len(TALK), "purged": True}
    assert offturn("session", "purge", "chat", "--yes", *store).returncode == 2
