"""What is no text file: Inspect's .eval archives, the folders of OpenHands' SDK, and what only looks like them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from offturn_config.errors import InvalidSetting
from offturn_engine import files
from offturn_engine.files import UnreadableFile, source
from offturn_worker import inspect_eval
from offturn_worker.cli.reading import conversations_of
from tests.engine.files import opencode_sample
from tests.engine.files.opencode_tables import TABLES, add_messages, add_session
from tests.engine.files.test_inspect_logs import SAMPLE
from tests.engine.files.test_openhands_v1 import EVENTS

SECOND = SAMPLE | {"id": "s2"}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "log.eval"
    with ZipFile(path, "w", ZIP_DEFLATED) as zipped:
        zipped.writestr("_journal/start.json", "{}")
        for sample in (SAMPLE, SECOND):
            zipped.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample, indent=2))
        zipped.writestr("summaries.json", "[]")
    return path


def test_an_eval_archive_reads_like_the_same_log_as_json(archive: Path) -> None:
    as_json = files.read(json.dumps({"eval": {}, "samples": [SAMPLE, SECOND]}))
    assert [one.title for one in as_json] == ["sample s1", "sample s2"]
    assert conversations_of(archive, None) == as_json


def test_another_archive_is_refused(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "a.zip", "w") as zipped:
        zipped.writestr("a.json", "[]")
    with pytest.raises(UnreadableFile, match="a zip archive, and no log of Inspect: unpack it"):
        conversations_of(tmp_path / "a.zip", None)


def test_a_damaged_archive_says_how_to_convert_it(archive: Path) -> None:
    whole = archive.read_bytes()
    for part in range(1, 7):
        archive.write_bytes(whole[: len(whole) * part // 7])
        with pytest.raises(UnreadableFile, match=r"damaged .*: write it as JSON, `inspect log convert FILE --to json"):
            conversations_of(archive, None)


def test_a_method_that_python_lacks_says_how_to_convert_it(archive: Path) -> None:
    deflated, zstd = (8).to_bytes(2, "little"), (93).to_bytes(2, "little")
    data = archive.read_bytes()
    for at in (b"PK\x03\x04", b"PK\x01\x02"):
        skip = 8 if at == b"PK\x03\x04" else 10
        pieces = data.split(at)
        data = at.join(
            piece[: skip - 4] + piece[skip - 4 :].replace(deflated, zstd, 1) if i else piece
            for i, piece in enumerate(pieces)
        )
    archive.write_bytes(data)
    with pytest.raises(UnreadableFile, match="a method that Python lacks: write it as JSON"):
        conversations_of(archive, None)


def test_a_sample_that_unpacks_to_too_much_is_refused(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_eval, "LONGEST", 100)
    with pytest.raises(UnreadableFile, match="a sample is larger than"):
        conversations_of(archive, None)


def test_a_sample_that_is_no_json_is_refused(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "log.eval", "w") as zipped:
        zipped.writestr("header.json", "{}")
        zipped.writestr("samples/a_epoch_1.json", "[" * 100_000)
    with pytest.raises(UnreadableFile, match=r"a sample of the \.eval log is not JSON"):
        conversations_of(tmp_path / "log.eval", None)


@pytest.mark.parametrize("below", ["", "events"])
def test_a_folder_of_openhands_reads_like_its_events(below: str, tmp_path: Path) -> None:
    folder = tmp_path / below
    folder.mkdir(exist_ok=True)
    (tmp_path / "base_state.json").write_text("{}")
    for i, event in enumerate(EVENTS):
        (folder / f"event-{i:05}-{event['id']}.json").write_text(json.dumps(event, indent=1))
    assert conversations_of(tmp_path, None) == files.read("\n".join(map(json.dumps, EVENTS)))
    (folder / "event-00099-x.json").write_text('{"kind"')
    with pytest.raises(UnreadableFile, match=r"event-00099-x.json is not JSON"):
        conversations_of(tmp_path, None)


def test_another_folder_asks_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="is a folder without events of OpenHands: name a file in it"):
        conversations_of(tmp_path, None)


def test_a_database_of_too_many_messages_names_the_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as database:
        database.executescript(TABLES)
        add_session(database, opencode_sample.SESSION)
        add_messages(database, *opencode_sample.MESSAGES)
    monkeypatch.setattr(source, "LARGEST_CONVERSATION", 200)
    with pytest.raises(UnreadableFile, match=r"row \d+: up to here .*: give the one session .*`opencode export"):
        conversations_of(tmp_path / "opencode.db", None)


def test_what_opencode_keeps_beside_results_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST_CONVERSATION", 2**16)
    beside = {"metadata": {"output": "x" * 2**16}}
    state = {"status": "completed", "input": {"command": "ls"}, "output": "a", **beside}
    part = {
        "id": "p",
        "messageID": "m1",
        "sessionID": "s",
        "type": "tool",
        "callID": "c",
        "tool": "bash",
        "state": state,
    }
    info = {"id": "m1", "sessionID": "s", "role": "assistant"}
    (conversation,) = files.read("\n".join(map(json.dumps, (info, part))))
    assert "xxx" not in json.dumps(conversation.messages)
