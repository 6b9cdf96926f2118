"""The audit as `session show` prints it: numbers and handles, whatever a store holds."""

from __future__ import annotations

from typing import Any

import pytest

from offturn_engine.compaction import Audit, KindAudit, NotKept
from offturn_worker.cli.audits import LISTED, print_audits


def generation(number: int, audit: Audit | None) -> dict[str, Any]:
    return {"number": number, "audit": audit and audit.model_dump()}


def test_each_kind_has_a_row_and_what_is_gone_is_named_by_handle(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = (KindAudit(kind="constraint", kept=2, mutated=1), KindAudit(kind="file", recoverable=4, lost=LISTED + 2))
    lost = [NotKept(kind="file", seq=20 + i, verdict="lost") for i in range(LISTED + 2)]
    gone = (
        NotKept(kind="constraint", seq=7, verdict="mutated"),
        *lost,
        NotKept(kind="file", seq=3, verdict="recoverable"),
    )
    print_audits([generation(1, None), generation(2, Audit()), generation(3, Audit(kinds=kinds, not_kept=gone))])
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[0] == "audit: what became of the facts"
    assert lines[2] == "3\tconstraint\t2\t0\t0\t1\tm7 mutated"
    named = ", ".join(f"m{20 + i} lost" for i in range(LISTED))
    assert lines[3] == f"3\tfile\t0\t4\t{LISTED + 2}\t0\t{named}, 2 more"
    assert len(lines) == 4


def test_nothing_is_said_where_nothing_was_audited(capsys: pytest.CaptureFixture[str]) -> None:
    print_audits([generation(1, None), generation(2, Audit(kept=3))])
    assert capsys.readouterr().out == ""


def test_a_kind_from_a_store_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    print_audits([generation(1, Audit(kinds=(KindAudit(kind="\x1b[2J\tfile", lost=1),)))])
    assert "\x1b" not in capsys.readouterr().out
