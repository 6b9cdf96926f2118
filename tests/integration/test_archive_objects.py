"""Objects of the archive: what is said where a back end has no place for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from offturn_config.keys import SessionKey
from offturn_worker.archive.objects import ArchiveAway, ArchiveMissing, Objects

pytest.importorskip("fsspec", reason="no archive to write to: install offturn[archive]")

KEY = SessionKey("default", "chat")


def no_bucket(*_: Any, **__: Any) -> Any:
    raise FileNotFoundError("The specified bucket does not exist")


@pytest.mark.parametrize("step", ["open", "close"])
async def test_a_bucket_that_is_not_there_is_an_archive_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    objects = Objects(tmp_path.as_uri())
    name = objects.name(KEY, 1)
    if step == "open":
        monkeypatch.setattr(objects, "_open", no_bucket)
        with pytest.raises(ArchiveAway, match="bucket"):
            await objects.writer(name)
        return
    writer = await objects.writer(name)
    monkeypatch.setattr(writer, "_end", no_bucket)
    with pytest.raises(ArchiveAway, match="bucket"):
        await writer.close()


async def test_an_object_that_is_not_there_is_missing(tmp_path: Path) -> None:
    objects = Objects(tmp_path.as_uri())
    with pytest.raises(ArchiveMissing):
        await anext(aiter(objects.read(objects.name(KEY, 1), "")))
    await objects.delete(objects.name(KEY, 1))
