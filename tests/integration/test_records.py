"""Records of generations as this release keeps them and as older ones did: a view reads its part alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from offturn import StoreFault, UnknownVersion
from offturn.store.entries import dumps, loads
from offturn.store.records import compaction_of, fields_of, half_of, stored, whole
from offturn_config.keys import SessionKey
from offturn_engine.compaction import Audit, Compaction, HumanItem, LedgerItem, Restore, Spent, ViewRecord
from offturn_engine.messages import Edit

KEY = SessionKey("default", "s")
HEADER = b'{"number":1,"nonce":"n","base":0,"replaces":0,"at":7}\n'
RECORD = Compaction(
    summary="Words of it. " * 200,
    covered=((1, 9),),
    edits=(Edit(seq=9, part=0, text="a stub", rule="stub"),),
    restores=(Restore(seq=3, part=0, kind="file", name="a.py", characters=9, tokens=3),),
    spent=Spent(calls=1, output_tokens=9),
    ledger=(LedgerItem(kind="file", key="a.py", text="read", seq=3),),
    human=(HumanItem(seq=2, text="Look into it, please."),),
    audit=Audit(kept=1),
)
COMMITTED = RECORD.model_copy(update={"number": 1, "nonce": "n", "at": 7})
NOT_READ = r"generation 1 of session 's' cannot be read.* rollback\(generation"


def spelled_otherwise(record: Compaction) -> bytes:
    """As a newer release of this major may write it."""
    return json.dumps({"of_tomorrow": 1, **json.loads(stored(record))}).encode()


def older(record: Compaction) -> bytes:
    """As version 1 has it."""
    return dumps(record.model_dump())


def test_records_of_this_and_of_older_releases_are_read() -> None:
    assert fields_of(stored(RECORD)) == fields_of(older(RECORD)) == loads(older(RECORD))
    assert len(stored(RECORD)) < len(older(RECORD)) / 2


@pytest.mark.parametrize("written", [stored, spelled_otherwise, older])
def test_a_view_reads_what_is_written_for_it_and_a_job_all(written: Callable[[Compaction], bytes]) -> None:
    kept = HEADER + written(RECORD)
    half = half_of(KEY, 1, kept)

    assert {name: getattr(half, name) for name in ViewRecord.model_fields} == {
        name: getattr(COMMITTED, name) for name in ViewRecord.model_fields
    }
    assert whole(KEY, half) == compaction_of(KEY, 1, kept) == COMMITTED
    assert whole(KEY, COMMITTED) is COMMITTED
    assert "kept" not in half.model_dump()
    assert "kept" not in repr(half)


def test_a_view_reads_as_much_however_much_was_said() -> None:
    said = tuple(HumanItem(seq=n, text=f"word {n} of it") for n in range(1000))
    few, many = (json.loads(stored(RECORD.model_copy(update={"human": human}))) for human in ((), said))

    assert few["view"] == many["view"]
    assert len(many["rest"]) > 4 * len(few["rest"])


SPOILT: list[Callable[[str], Any]] = [
    lambda _: "",
    lambda rest: rest[:-8],
    lambda rest: rest[8:],
    lambda rest: "-" + rest[1:],
    lambda rest: "!" + rest,
    lambda _: None,
]


@pytest.mark.parametrize("spoilt", SPOILT)
@pytest.mark.parametrize("spelled", [dumps, lambda parts: json.dumps(parts).encode()])
def test_a_view_does_not_mind_what_it_does_not_read(
    spelled: Callable[[Any], bytes], spoilt: Callable[[str], Any]
) -> None:
    parts = json.loads(stored(RECORD))
    half = half_of(KEY, 1, HEADER + spelled(parts | {"rest": spoilt(parts["rest"])}))

    assert (half.summary, half.number) == (RECORD.summary, 1)
    with pytest.raises(StoreFault, match=NOT_READ):
        whole(KEY, half)


@pytest.mark.parametrize(
    "damaged",
    [
        *(b"", b"{}", b'{"v":2}', b'{"v":2,"view":"', b'{"v":2,"view":"AAAA"}', b'{"v":2,"view":"-","rest":"-"}'),
        *(b'{"v":2,"view":7,"rest":7}', b'{"v":2,"view":"","rest":""}', stored(RECORD)[:200], b'{"v":2,"z":"AAAA"}'),
    ],
)
def test_a_damaged_record_is_known_as_one(damaged: bytes) -> None:
    for read in (compaction_of, half_of):
        with pytest.raises(StoreFault, match=NOT_READ):
            read(KEY, 1, HEADER + damaged)


def test_one_cut_short_behind_what_a_view_reads_is_known_by_who_reads_on() -> None:
    kept = (HEADER + stored(RECORD))[:-20]

    assert half_of(KEY, 1, kept).summary == RECORD.summary
    with pytest.raises(StoreFault, match=NOT_READ):
        compaction_of(KEY, 1, kept)


@pytest.mark.parametrize("read", [compaction_of, half_of])
def test_of_another_version_is_neither_part(read: Callable[..., Any]) -> None:
    outer = stored(RECORD).replace(b'"v":2', b'"v":3', 1)
    for payload, version in ((outer, 3), (stored(RECORD.model_copy(update={"v": 2})), 2)):
        with pytest.raises(UnknownVersion, match=f"generation 1 has version {version}"):
            read(KEY, 1, HEADER + payload)
