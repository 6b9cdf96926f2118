"""`offturn tenant list|show|quota|export` as a person calls them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from offturn_config.keys import SessionKey
from tests.acceptance.command import offturn
from tests.acceptance.test_session_commands import TALK, facts, store

__all__ = ["store"]


def run(store: tuple[str, ...], *arguments: str, **variables: str) -> tuple[int, Any, str]:
    done = offturn("tenant", *arguments, *store[:2], "--json", variables=variables)
    return done.returncode, json.loads(done.stdout or "null"), done.stderr.decode()


def test_usage_and_quotas(store: tuple[str, ...], valkey_url: str) -> None:
    tenant = store[3]
    with Redis.from_url(valkey_url) as redis:
        logged = sum(map(len, redis.lrange(SessionKey(tenant, "chat").key("log"), 0, -1)))
    none = {"archived_sessions": 0, "archived_bytes": 0, "quota_sessions": None, "quota_bytes": None}
    used = {"tenant": tenant, "sessions": 1, "bytes": logged, **none}

    assert run(store, "show", tenant) == (0, used, "")
    assert used in run(store, "list")[1]
    assert run(store, "quota", tenant, "--bytes", "10G")[1] == {**used, "quota_bytes": 10 * 10**9}
    limited = {**used, "quota_bytes": 10 * 10**9, "quota_sessions": 1}
    assert run(store, "quota", tenant, "--sessions", "1")[1] == limited
    refused = offturn("session", "fork", "chat", "copy", *store)
    assert (refused.returncode, b"--sessions" in refused.stderr) == (2, True)
    assert run(store, "quota", tenant, "--none")[1] == used
    assert facts("fork", "chat", "copy", *store)["session"] == "copy"
    for wrong in (("--bytes", "many"), ("--bytes", "0"), (), ("--none", "--sessions", "2")):
        assert run(store, "quota", tenant, *wrong)[0] == 2
    shown = offturn("tenant", "show", tenant, *store[:2]).stdout.decode()
    assert "quota_bytes\tno limit" in shown
    assert offturn("tenant", "list", *store[:2]).stdout.startswith(b"tenant\tsessions\tbytes")
    assert b"at most" in offturn("tenant", "quota", tenant, "--bytes", "5M", *store[:2]).stdout


def test_an_export_goes_on_and_holds_what_is_archived(store: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="no archive to write to: install offturn[archive]")
    tenant, folder = store[3], tmp_path / "out"
    archive = {"OFFTURN_ARCHIVE_URL": (tmp_path / "cold").as_uri(), "PATH": os.environ["PATH"]}
    facts("fork", "chat", "../odd name", *store)
    expected = facts("export", "chat", *store)
    assert offturn("session", "compact", "chat", "--here", *store).returncode == 0
    expected = facts("export", "chat", *store)
    assert offturn("session", "archive", "chat", *store, variables=archive).returncode == 0

    code, done, said = run(store, "export", tenant, str(folder))
    assert (code, done["written"], list(done["failed"])) == (1, 1, ["chat"])
    assert "OFFTURN_ARCHIVE_URL" in said
    code, done, _ = run(store, "export", tenant, str(folder), **archive)
    assert (code, done) == (0, {"written": 1, "unchanged": 1, "failed": {}})
    assert sorted(path.name for path in folder.iterdir()) == ["%2E%2E%2Fodd%20name.jsonl", "chat.jsonl"]
    lines = [json.loads(line) for line in (folder / "chat.jsonl").read_text().splitlines()]
    assert lines == expected
    assert [line["message"] for line in lines if line["kind"] == "message"] == TALK
    assert offturn("session", "list", "--archived", *store).stdout.count(b"\n") == 2

    assert facts("rewind", "../odd name", "--to", "m2", *store)["messages"] == 3
    (folder / "chat.jsonl").write_text("half of a file")
    assert run(store, "export", tenant, str(folder), **archive)[1]["written"] == 2
    assert run(store, "export", tenant, str(folder), **archive)[1]["unchanged"] == 2
    assert run(store, "export", tenant, str(folder / "chat.jsonl"))[0] == 2
