"""Objects of the archive, through fsspec: any of its back ends, whose package and credentials are the user's.

Each is JSON lines, gzipped, written once and never over another; its last line is the SHA-256 of those before it.
fsspec is imported by the first use: only workers with an archive have it. Blocking calls run in threads.

    ArchiveError
    ├── ArchiveAway      the object store does not answer, or refuses; retryable
    ├── ArchiveMissing   the object is not there
    └── ArchiveDamaged   what is there is not what was written
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from secrets import token_hex
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

from offturn_config.errors import InvalidSetting, OffturnError
from offturn_config.keys import SessionKey

T = TypeVar("T")

BATCH = 262_144  # bytes handed to a thread at once
LONGEST_NAME = 180  # bytes of a session's name as a folder; file systems take 255
NEEDS = "OFFTURN_ARCHIVE_URL: {} is not installed: in a clone of offturn, pip install '.[archive]', and its back end's package"


class ArchiveError(OffturnError):
    """An object could not be written or read. `trouble` is what hosts are told."""

    trouble: ClassVar[str] = "away"


class ArchiveAway(ArchiveError):
    """The object store does not answer, or refuses."""

    retryable = True


class ArchiveMissing(ArchiveError):
    """The object is not there."""

    trouble = "missing"


class ArchiveDamaged(ArchiveError):
    """The object is not what was written: its end or its hash is another."""

    trouble = "damaged"


def file_name(key: SessionKey) -> str:
    """A session's id as one part of a path: percent-encoded, and where that is too long, its beginning and a hash."""
    name = quote(key.session, safe="").replace(".", "%2E")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 64]}~{sha256(key.session.encode()).hexdigest()[:32]}"


class Objects:
    """The archive at a URL. Raises InvalidSetting where nothing can be there, and ArchiveError."""

    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise InvalidSetting(NEEDS.format("fsspec")) from None
        try:
            self._fs, root = url_to_fs(url)
        except ImportError as error:
            raise InvalidSetting(NEEDS.format(error.name or "its back end")) from None
        except ValueError:
            raise InvalidSetting(
                "OFFTURN_ARCHIVE_URL names no protocol that fsspec knows: use file:///PATH, s3://..."
            ) from None
        self._root = str(root).rstrip("/")

    def name(self, key: SessionKey, incarnation: int) -> str:
        """A name that no other object has."""
        return f"{key.tenant}/{file_name(key)}/{incarnation}-{token_hex(8)}.jsonl.gz"

    async def writer(self, name: str) -> Writer:
        """Lines for a new object, which is there when the writer is closed."""
        return Writer(await _written(lambda: self._open(name)), self._fs)

    async def read(self, name: str, sha: str) -> AsyncIterator[Any]:
        """Each line's value but the last one's, read in batches. At the end it is checked that they are those of this hash."""
        file = await _threaded(lambda: self._fs.open(self._path(name), "rb"))
        lines = _lines(file)
        seen = sha256()
        last = b""
        try:
            while batch := await _threaded(lambda: next(lines, [])):
                for line in batch:
                    if last:
                        seen.update(last)
                        yield _value(last)
                    last = line
        finally:
            await _threaded(file.close)
        if not last or _value(last) != {"sha256": sha} or seen.hexdigest() != sha:
            raise ArchiveDamaged(f"object {name} is not whole, or has been changed")

    async def size(self, name: str) -> int:
        """Bytes."""
        return int(await _threaded(lambda: self._fs.size(self._path(name)) or 0))

    async def delete(self, name: str) -> None:
        """Also where it is not there."""
        try:
            await _threaded(lambda: self._fs.rm_file(self._path(name)))
        except ArchiveMissing:
            return

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _open(self, name: str) -> Any:
        path = self._path(name)
        if _is_local(self._fs):  # object stores have no folders
            self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        return self._fs.open(path, "wb")


class Writer:
    """Lines of an object: `line` each, then `close`, which gives their hash."""

    def __init__(self, file: Any, fs: Any) -> None:
        self._file, self._fs = file, fs
        self._zip = gzip.GzipFile(fileobj=file, mode="wb", mtime=0)
        self._waiting = bytearray()
        self._seen = sha256()

    async def line(self, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._seen.update(text)
        self._waiting += text
        if len(self._waiting) >= BATCH:
            await self._flush()

    async def close(self) -> str:
        told = self._seen.hexdigest()
        self._waiting += json.dumps({"sha256": told}).encode() + b"\n"
        await self._flush()
        await _written(self._end)
        return told

    async def abandon(self) -> None:
        """After an error: nothing of it is needed."""
        try:
            await _threaded(self._file.close)
        except ArchiveError:
            return

    async def _flush(self) -> None:
        text, self._waiting = bytes(self._waiting), bytearray()
        await _written(lambda: self._zip.write(text))

    def _end(self) -> None:
        self._zip.close()
        if _is_local(self._fs):
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()


def _is_local(fs: Any) -> bool:
    return "file" in ((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol)


def _lines(file: Any) -> Iterator[list[bytes]]:
    """The lines of a gzipped file, about BATCH bytes at a time."""
    with gzip.GzipFile(fileobj=file, mode="rb") as unzipped:
        while batch := unzipped.readlines(BATCH):
            yield batch


def _value(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise _damaged(error) from None


async def _threaded(work: Callable[[], T]) -> T:
    def told() -> T:
        with _told():
            return work()

    return await asyncio.get_running_loop().run_in_executor(None, told)  # it waits, and takes no turn of what computes


async def _written(work: Callable[[], T]) -> T:
    """What is missing where something is to be written is no object: a bucket, or a folder that was taken away."""
    try:
        return await _threaded(work)
    except ArchiveMissing:
        raise ArchiveAway("the archive is not there: no such bucket or folder") from None


@contextmanager
def _told() -> Iterator[None]:
    """Errors of the back end as errors of the archive. Their texts may name accounts, so only the kind goes on.

    Only what gzip says is damage: a ValueError may be a certificate that is not trusted.
    """
    try:
        yield
    except FileNotFoundError:
        raise ArchiveMissing("the object is not in the archive") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(error) from None
    except Exception as error:  # noqa: BLE001 - back ends raise what they like
        raise ArchiveAway(f"the archive does not answer ({type(error).__name__})") from None


def _damaged(error: Exception) -> ArchiveDamaged:
    return ArchiveDamaged(f"the object cannot be read ({type(error).__name__})")
