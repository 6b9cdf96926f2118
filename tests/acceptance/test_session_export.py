"""A file of `offturn session export` can be read again: imported into another store, or compacted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from offturn import CompactionClient
from offturn.testing import FakeSummarizer
from tests.acceptance.command import offturn
from tests.integration.host import turns

OBSERVED = [
    {"role": "user", "content": "List the files."},
    {"role": "assistant", "content": "I look.\n```bash\nls\n```"},
    {"role": "user", "content": "README.md"},
    {"role": "assistant", "content": "There is a README."},
    {"role": "user", "content": "Thank you."},
]


@pytest.fixture
def tenant(tmp_path: Path) -> str:
    return "".join(c for c in tmp_path.name.lower() if c.isalnum() or c in "-_")


def on_path(exported: bytes) -> list[Any]:
    """What is shown of the log, in the order of the path, and whose it is."""
    about, *lines = map(json.loads, exported.splitlines())
    logged = {line["seq"]: (line["message"], line["origin"]) for line in lines if line["kind"] == "message"}
    return [logged[seq] for low, high in about["path"] for seq in range(low, high)]


async def test_it_is_imported_as_it_was_shown(valkey_url: str, tenant: str, tmp_path: Path) -> None:
    options = ("--store", valkey_url, "--tenant", tenant)
    async with CompactionClient.from_url(valkey_url, tenant=tenant, timeout=20) as client:
        session = client.session("chat", format="openai-chat", window=16_000)
        await session.record(turns("openai-chat", 20), ids=[f"h{i}" for i in range(80)])
        await session.record({"role": "user", "content": "[the host] the task list is empty"}, origin="host")
        await session.record([{"role": "user", "content": "Wrong."}, {"role": "assistant", "content": "Sorry."}])
        await session.rewind(turns=1)
        await session.amend("h79", {"role": "assistant", "content": "Module 19 is finished."})
        await session.pin("h77")
        await client.run_due(summarizer=FakeSummarizer())
        assert (await session.view()).generation == 1
    exported = offturn("session", "export", "chat", *options).stdout
    for name, file in (
        ("lines", exported),
        ("list", offturn("session", "export", "chat", "--json", *options).stdout),
    ):
        done = offturn("import", "-", "--session", name, "--window", "16000", "--json", *options, stdin=file)
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout)
        again = offturn("session", "export", name, *options).stdout

        assert (facts["format"], facts["from"], facts["generations"]) == ("openai-chat", "offturn", 1)
        assert on_path(again) == on_path(exported)
        assert on_path(again)[-1][1] == "host"
        assert on_path(again)[79][0]["content"] == "Module 19 is finished."
        assert "1 pins not taken over" in facts["notes"]
        assert "80 ids of the host not taken over" in facts["notes"]
        assert "window of 16000" in facts["notes"]
        [was], [made] = (generations(text) for text in (exported, again))
        assert was["sections"]["bodies"][0] in made["sections"]["bodies"][0]
        assert made["covered"] == was["covered"]

    compacted = offturn("compact", "-", "--window", "16000", "--json", stdin=exported)
    assert json.loads(compacted.stdout)["messages_before"] == len(on_path(exported))


def generations(exported: bytes) -> list[Any]:
    return [line for line in map(json.loads, exported.splitlines()) if line["kind"] == "generation"]


async def test_origins_that_a_format_tells_by_neighbours_stay(valkey_url: str, tenant: str) -> None:
    options = ("--store", valkey_url, "--tenant", tenant)
    async with CompactionClient.from_url(valkey_url, tenant=tenant, timeout=20) as client:
        session = client.session("chat", format="text-observation")
        await session.record(OBSERVED)
        await session.record(OBSERVED[1])
        await session.record({"role": "user", "content": "Stop."}, origin="human")
    exported = offturn("session", "export", "chat", *options).stdout
    assert offturn("import", "-", "--session", "again", *options, stdin=exported).returncode == 0

    assert on_path(offturn("session", "export", "again", *options).stdout) == on_path(exported)
    assert [origin for _, origin in on_path(exported)][2::2] == ["tool", "human", "human"]


def changed(at: int, **values: Any) -> Any:
    """An export with other values in a line."""

    def change(lines: list[bytes]) -> list[bytes]:
        line = json.dumps({**json.loads(lines[at]), **values}).encode()
        return [line if i == at else other for i, other in enumerate(lines)]

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], "the export has 3 of 4 messages: make it again"),
        (lambda lines: [*lines[:-1], lines[-2]], "line 5, field 'seq': 2 again, where each number from 0 to 3"),
        (changed(4, seq=4), "line 5, field 'seq': 4, where"),
        (changed(4, seq="secret"), "line 5, field 'seq': a str, where"),
        (changed(4, seq=True), "line 5, field 'seq': a bool, where"),
        (changed(0, messages="4"), "line 1, field 'messages': a str that is no number of them"),
        (changed(0, path=[[0, "4"]]), "line 1, field 'path': a list that is no list of ranges of the 4 messages"),
        (changed(0, path=None), "line 1, field 'path': a NoneType that is no list of ranges"),
        (changed(0, path=[[0, 5]]), "line 1, field 'path': a list that is no list of ranges of the 4"),
        (changed(0, path=[[4, 0]]), "line 1, field 'path': a list that is no list of ranges of the 4"),
        (changed(0, path=[[0, 3]]), "line 1, field 'path': it names other messages than the 4"),
        (changed(0, path=[[0, 3], [2, 4]]), "line 1, field 'path': it names other messages than the 4"),
        (changed(2, on_path=False), "line 1, field 'path': it names other messages than the 3"),
        (changed(4, message=[]), "line 5: "),
        (changed(4, origin="secret"), "line 5, field 'origin': a str that is none of human, assistant"),
        (changed(4, origin=["secret"]), "line 5, field 'origin': a list that is none of human"),
        (
            changed(0, config={"format": "another"}),
            "line 1, field 'config.format': there is no format 'another', one of",
        ),
        (changed(0, config={"format": "it is secret"}), "line 1, field 'config.format': there is no format 'untyped'"),
        (changed(0, config=None), "line 1, field 'config.format': there is no format 'untyped', one of"),
    ],
)
async def test_what_is_damaged_is_told(valkey_url: str, tenant: str, tmp_path: Path, change: Any, said: str) -> None:
    options = ("--store", valkey_url, "--tenant", tenant)
    async with CompactionClient.from_url(valkey_url, tenant=tenant, timeout=20) as client:
        await client.session("chat", format="openai-chat").record(turns("openai-chat", 1))
    exported = offturn("session", "export", "chat", *options).stdout
    file = tmp_path / "chat.jsonl"
    file.write_bytes(b"\n".join(change(exported.splitlines())))
    done = offturn("import", str(file), "--session", "again", *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"FILE '{file}': {said}" in done.stderr.decode()
    assert b"secret" not in done.stderr
    assert offturn("session", "export", "again", *options).returncode == 2  # nothing is recorded


@pytest.mark.parametrize(
    "damage",
    [
        None,
        {"number": "1"},
        {"covered": [[0, "4"]]},
        {"covered": [[0, 4000]]},
        {"covered": [[0, 12], [78, 81]]},
        {"seen": None},
        {"sections": None},
        {"sections": {"titles": ["Goal"], "bodies": [1]}},
    ],
)
async def test_a_generation_in_force_that_is_lost_is_told(valkey_url: str, tenant: str, damage: Any) -> None:
    options = ("--store", valkey_url, "--tenant", tenant)
    async with CompactionClient.from_url(valkey_url, tenant=tenant, timeout=20) as client:
        session = client.session("chat", format="openai-chat", window=16_000)
        await session.record(turns("openai-chat", 20))
        await client.run_due(summarizer=FakeSummarizer())
        assert (await session.view()).generation == 1
    lines = offturn("session", "export", "chat", *options).stdout.splitlines()
    given = b"\n".join(lines[:-1] if damage is None else changed(len(lines) - 1, **damage)(lines))
    done = offturn("import", "-", "--session", "again", "--window", "16000", "--json", *options, stdin=given)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["messages"], facts["generations"]) == (80, 0)
    assert "generation 1 was in force: its line is missing or damaged" in facts["notes"]


async def test_a_fork_and_one_that_was_redacted_are_whole(valkey_url: str, tenant: str) -> None:
    options = ("--store", valkey_url, "--tenant", tenant)
    async with CompactionClient.from_url(valkey_url, tenant=tenant, timeout=20) as client:
        session = client.session("chat", format="openai-chat", window=16_000)
        await session.record(turns("openai-chat", 20), ids=[f"h{i}" for i in range(80)])
        await client.run_due(summarizer=FakeSummarizer())
        assert (await session.view()).generation == 1
        await session.amend("h3", {"role": "assistant", "content": "Another answer."})
        await session.rewind(turns=2)
        await session.redact("h0", reason="personal data")
        await session.fork("branch")
    for name in ("chat", "branch"):
        exported = offturn("session", "export", name, *options).stdout
        done = offturn("import", "-", "--session", f"{name}-again", *options, stdin=exported)
        assert done.returncode == 0, done.stderr
        again = offturn("session", "export", f"{name}-again", *options).stdout
        assert on_path(again) == on_path(exported)
