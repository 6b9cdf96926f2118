"""An `.eval` log of Inspect, a zip archive with a JSON file for each sample, as lines its reader takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from offturn_engine.files import LONGEST, Lines, UnreadableFile
from offturn_engine.files.inspect_logs import counted_only
from offturn_engine.messages import Json

MAGIC = b"PK\x03\x04"
"""How every zip archive that holds a file begins."""
STARTS = ("_journal/start.json", "start.json", "header.json")
"""The files that tell a log from other archives, one of which each version of the format has."""
CONVERT = "write it as JSON, `inspect log convert FILE --to json --output-dir FOLDER`, and give that"
CHUNK = 2**20


def lines(archive: Path) -> Lines:
    """Reads the archive anew each time it is called: a log with one sample, without its events, for each of them.

    Raises UnreadableFile, as its lines are read, where it is damaged, packed by a method that Python lacks, or no log.
    """
    return lambda: _lines(archive)


def _lines(archive: Path) -> Iterator[str]:
    try:
        with ZipFile(archive) as opened:
            names = set(opened.namelist())
            if names.isdisjoint(STARTS):
                raise UnreadableFile("the file is a zip archive, and no log of Inspect: unpack it, give what is in it")
            for info in opened.infolist():
                if info.filename.startswith("samples/") and info.filename.endswith(".json"):
                    yield json.dumps({"eval": {}, "samples": [counted_only(_sample(opened, info))]})
    except NotImplementedError:
        raise UnreadableFile(f"the .eval log is packed by a method that Python lacks: {CONVERT}") from None
    except (BadZipFile, EOFError) as error:
        raise UnreadableFile(f"the .eval log is damaged ({type(error).__name__}): {CONVERT}") from None


def _sample(opened: ZipFile, info: ZipInfo) -> Json:
    """A size in the archive's index may be wrong: what is unpacked is counted."""
    read = bytearray()
    with opened.open(info) as packed:
        while chunk := packed.read(CHUNK):
            read += chunk
            if len(read) > LONGEST:
                raise UnreadableFile(f"a sample is larger than {LONGEST // 2**20} MB: split the log by samples")
    try:
        return json.loads(read)
    except (ValueError, RecursionError):
        raise UnreadableFile(f"a sample of the .eval log is not JSON: {CONVERT}") from None
