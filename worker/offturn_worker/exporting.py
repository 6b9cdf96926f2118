"""All sessions of a tenant as files: one JSON value a line, as `offturn session export` writes them; archived ones too.

A file is written beside its place and then moved there, so each is whole. One whose first line is that of the session as
it is now is left: an export that was interrupted, or of last week, goes on where something is new.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offturn.errors import Archived, Conflict
from offturn.exporting import export, session_line
from offturn.store.sessions import SessionStore
from offturn_config.errors import InvalidSetting, OffturnError
from offturn_config.keys import SessionKey
from offturn_worker.archive.objects import Objects, file_name
from offturn_worker.archive.reading import exported

EVERY = 10**9


@dataclass(slots=True, kw_only=True)
class Exported:
    """Sessions by what became of their files. `failed`: session -> why, without content."""

    written: int = 0
    unchanged: int = 0
    failed: dict[str, str] = field(default_factory=dict)


async def export_tenant(store: SessionStore, tenant: str, folder: Path, objects: Objects | None) -> Exported:
    """objects: the archive, None: archived sessions fail. Raises InvalidSetting for a folder that cannot be written, and
    StoreUnavailable.

    `store` must not bring sessions back: what leaves for the archive meanwhile is read there.
    """
    done = Exported()
    _made(folder)
    for key in await store.sessions(tenant, EVERY):
        try:
            meta = await store.meta(key)
            if meta is not None:
                await _written(done, folder, key, session_line(key, meta), export(store, key, meta))
        except Archived:  # a moment ago: it is in the list that comes
            continue
        except OffturnError as error:
            _failed(done, key, error)
    for one in await store.archived(tenant, EVERY):
        try:
            stub = await store.stub(one.key)
            if stub is None:
                continue
            if objects is None:
                raise InvalidSetting("it is in the archive: set OFFTURN_ARCHIVE_URL")
            lines = exported(objects, stub)
            await _written(done, folder, one.key, await anext(lines), lines, head=True)
        except OffturnError as error:
            _failed(done, one.key, error)
    return done


def _failed(done: Exported, key: SessionKey, error: OffturnError) -> None:
    if error.retryable and not isinstance(error, Conflict):
        raise error
    done.failed[key.session] = str(error)


async def _written(
    done: Exported,
    folder: Path,
    key: SessionKey,
    first: dict[str, Any],
    lines: AsyncIterator[dict[str, Any]],
    *,
    head: bool = False,
) -> None:
    """head: the first line was taken off the others."""
    path = folder / f"{file_name(key)}.jsonl"
    if _first(path) == first:
        done.unchanged += 1
        return
    part = _Part(path)
    try:
        part.write([first] if head else [])
        async for line in lines:
            part.write([line])
        part.finish()
    finally:
        part.close()
    done.written += 1


class _Part:
    """A file that is not whole yet; only people who may read the folder's owner's files see it."""

    def __init__(self, path: Path) -> None:
        self._path, self._part = path, path.with_name(f"{path.name}.part")
        try:
            self._part.touch(mode=0o600)
            self._file = self._part.open("w", encoding="utf-8")
        except OSError as error:
            raise _unwritable(self._part, error) from None

    def write(self, lines: Iterable[dict[str, Any]]) -> None:
        try:
            self._file.writelines(json.dumps(line) + "\n" for line in lines)
        except OSError as error:
            raise _unwritable(self._part, error) from None

    def finish(self) -> None:
        try:
            self._file.close()
            self._part.replace(self._path)
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def close(self) -> None:
        self._file.close()


def _first(path: Path) -> Any:
    try:
        with path.open(encoding="utf-8") as file:
            return json.loads(file.readline())
    except (OSError, ValueError):
        return None


def _made(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(path: Path, error: OSError) -> InvalidSetting:
    return InvalidSetting(f"{str(path)!r}: {error.strerror or error}: name another folder")
