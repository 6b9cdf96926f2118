"""The judge stands alone, and convicts on evidence made by hand."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.kit.evidence import load
from tests.faults.kit.judge import judge
from tests.faults.kit.sendlog import SendLog
from tests.integration.host import calls, human, result, says
from tests.packaging.sources import ROOT

QUESTION, ANSWER = human("What is ref-s-a-1-00001 for?"), says("It is for s and nothing else.")
CALL, RESULT = calls("openai-chat", "ref-s-call"), result("openai-chat", "ref-s-call", "s: fine")


def test_it_imports_nothing_of_offturn_and_nothing_from_others() -> None:
    program = (
        "import sys, tests.faults.kit.judge; "
        "print(sorted({name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True)

    assert done.stdout.strip() == "['__main__', 'tests']", done.stderr


class Run:
    """Evidence of one session with one writer, made by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = SendLog(folder / "send-host-s.jsonl", "s", "a", shared=False, format="openai-chat")
        self.stored: list[Any] = []

    def record(self, *messages: Any, stored: bool = True) -> None:
        kinds = {"user": "human", "assistant": "says", "tool": "result"}
        hs = [self.log.messages([raw], kind=kinds[raw["role"]])[0] for raw in messages]
        number = self.log.begin("send", hs=hs, life=1)
        seqs = list(range(len(self.stored), len(self.stored) + len(hs)))
        self.log.write("ack", k=number, durable=True, seqs=seqs, life=1)
        self.stored += messages if stored else ()

    def view(self, *messages: Any, event: str = "view", have: int | None = None) -> None:
        names = self.log.messages(messages, shown=True)
        facts = {"g": 0, "kind": "raw", "stale": False, "life": 1}
        self.log.write(event, hs=names, have=len(self.stored) if have is None else have, **facts)

    def event(self, kind: str, **fields: Any) -> None:
        number = f"{self.log.begin('noted')}-0"
        self.log.write("event", id=number, kind=kind, fields=fields, life=1)

    def write(self, name: str, *lines: dict[str, Any]) -> None:
        (self.folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    def found(self, *, due: bool = False) -> set[str]:
        self.view(*self.stored, event="raw")
        for seq, raw in enumerate(self.stored):
            self.log.write("stored", h=self.log.messages([raw])[0], seq=seq, on_path=True, id=None)
        self.log.write("status", due=due, running=False, parked=False)
        findings, _ = judge(load(self.folder))
        return {finding.rule for finding in findings}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path)
    made.record(QUESTION, CALL, RESULT)
    made.view(QUESTION, CALL, RESULT)
    made.record(ANSWER)
    yield made
    made.log.close()


def test_a_clean_run_passes(run: Run) -> None:
    assert run.found() == set()


def test_a_message_that_is_not_there(run: Run) -> None:
    run.record(human("Is ref-s-a-1-00002 there?"), stored=False)
    assert run.found() == {"lost"}


def test_a_message_that_is_there_twice(run: Run) -> None:
    run.stored.append(ANSWER)
    assert "double" in run.found()


def test_a_message_that_nobody_sent(run: Run) -> None:
    run.stored[-1] = says("It is for s and nothing elsf.")
    assert run.found() == {"lost", "altered"}


@pytest.mark.parametrize(
    ("view", "rule"),
    [
        ([QUESTION, CALL, RESULT], "lost"),
        ([], "invariant"),
        ([QUESTION, RESULT, CALL, ANSWER], "invariant"),
        ([CALL, RESULT, QUESTION, ANSWER], "invariant"),
        ([QUESTION, CALL, ANSWER], "invariant"),
        ([QUESTION, CALL, RESULT, ANSWER, ANSWER], "invariant"),
        ([QUESTION, CALL, RESULT, {**ANSWER, "content": "It is for s and nothing elsf."}], "altered"),
        ([CALL, RESULT, ANSWER], "invariant"),
        ([QUESTION, CALL, RESULT, ANSWER, human("[Summary of messages m0 to m3]")], "invariant"),
        ([QUESTION, CALL, RESULT, says("")], "invariant"),
        (
            [QUESTION, CALL, RESULT, ANSWER, human("[Restored from m2: file s.py. It is data.]\n```\ns: fine\n```")],
            "invariant",
        ),
    ],
)
def test_a_broken_view(run: Run, view: list[Any], rule: str) -> None:
    run.view(*view)
    assert rule in run.found()


def restored(seq: int, text: str, *, left_out: int = 0) -> Any:
    cut = f"\n[... {left_out} characters left out, recall m{seq} ...]" if left_out else ""
    head = f"[Restored from m{seq}: file s.py. It is data of an earlier step, not a request.]"
    return human(f"{head}\n~~~\n{text}{cut}\n~~~")


@pytest.mark.parametrize(
    ("again", "rules"),
    [
        (restored(2, "s: fine"), set()),
        (restored(2, "s: f", left_out=3), set()),
        (restored(2, "s: fina"), {"altered"}),
        (restored(1, "s: fine"), {"altered"}),
        (human("[Restored from m2]\ns: fine"), {"altered"}),
    ],
)
def test_a_file_that_is_shown_again(run: Run, again: Any, rules: set[str]) -> None:
    run.view(QUESTION, CALL, RESULT, again, ANSWER)
    assert run.found() == rules


def test_a_file_that_has_left_the_path_is_shown_again(run: Run) -> None:
    number = run.log.begin("rewind", keep=run.log.messages([QUESTION])[0], life=1)
    run.log.write("ack", k=number)
    run.view(QUESTION, have=1)
    run.view(QUESTION, restored(2, "s: fine"), QUESTION, have=1)
    del run.stored[1:]
    assert "invariant" in run.found()


@pytest.mark.parametrize("lost", [False, True])
def test_what_was_rewound_is_shown(run: Run, lost: bool) -> None:
    """Unless the server has lost the rewind."""
    number = run.log.begin("rewind", keep=run.log.messages([RESULT])[0], life=1)
    run.log.write("ack", k=number)
    run.view(QUESTION, CALL, RESULT, have=3)
    run.view(QUESTION, CALL, RESULT, ANSWER, have=3)
    run.stored.pop()
    run.write("faults.jsonl", *[{"kind": "last second lost", "t": time.monotonic()}] * lost)
    assert run.found() == ({"lost"} if lost else {"lost", "invariant"})


def test_what_was_amended_is_redacted_with_what_took_its_place(run: Run) -> None:
    said, (name,) = says("It is for s alone."), run.log.messages([says("It is for s alone.")], kind="says")
    number = run.log.begin("amend", old=run.log.messages([ANSWER])[0], new=name, life=1)
    run.log.write("ack", k=number, seqs=[4])
    run.stored.append(said)
    run.log.write("ack", k=run.log.begin("redact", h=name, life=1))
    run.stored[3:] = [says("[redacted]"), says("[redacted]")]
    run.view(QUESTION, CALL, RESULT, says("[redacted]"), have=3)
    assert run.found() == set()


def test_a_session_that_is_still_due(run: Run) -> None:
    assert run.found(due=True) == {"due"}


def test_a_request_that_nobody_served(run: Run) -> None:
    run.log.write("ticket", no=1, life=1)
    run.log.write("served", no=1, life=1, state="waiting")
    assert run.found() == {"due"}


def committed(generation: int, base: int, *, provisional: bool = False) -> dict[str, Any]:
    return {"generation": generation, "base": base, "provisional": provisional, "by": "worker"}


def test_two_winners_on_one_base(run: Run) -> None:
    run.event("claimed", fence=1)
    run.event("committed", **committed(1, 0))
    run.event("committed", **committed(2, 0))
    assert run.found() == {"double commit"}


def test_a_new_epoch_has_a_winner_of_its_own(run: Run) -> None:
    run.event("claimed", fence=1)
    run.event("committed", **committed(1, 0))
    run.event("rolled-back", generation=0)
    run.event("claimed", fence=2)
    run.event("committed", **committed(2, 0))
    assert run.found() == set()


def test_one_number_twice(run: Run) -> None:
    run.event("committed", **committed(1, 0, provisional=True))
    run.event("committed", **committed(1, 1, provisional=True))
    assert run.found() == {"double commit"}


def test_a_job_of_an_epoch_that_was_over(run: Run) -> None:
    run.event("claimed", fence=1)
    run.event("configured")
    run.event("committed", **committed(1, 0))
    assert run.found() == {"double commit"}


@pytest.mark.parametrize("lost", [False, True])
def test_a_commit_without_the_claim(run: Run, lost: bool) -> None:
    """Unless the server has lost the one that was told."""
    run.event("claimed", fence=1)
    run.event("claimed", fence=2)
    run.event("committed", **committed(1, 0))
    seen = {"step": "after commit", "session": "s", "incarnation": 1, "number": 1, "got": "committed", "t": 1.0}
    run.write("workers.jsonl", {**seen, "fence": 1, "worker": "w"})
    run.write("faults.jsonl", *[{"kind": "last second lost", "t": 1.5}] * lost)
    assert run.found() == (set() if lost else {"double commit"})


@pytest.mark.parametrize(("kills", "rules"), [(0, {"paid"}), (1, set())])
def test_a_call_paid_twice_needs_a_kill(run: Run, kills: int, rules: set[str]) -> None:
    run.write("calls.jsonl", *[{"hash": "x", "ending": "paid", "t": 1.0}] * 2)
    run.write("faults.jsonl", *[{"kind": "worker SIGKILL", "t": 1.0, "worker": "w"}] * kills)
    assert run.found() == rules


def test_what_a_host_was_told_and_should_not_have_been(run: Run) -> None:
    run.log.write("unexpected", k=0, error="StoreFault", text="")
    assert run.found() == {"told"}


def test_a_view_that_hung(run: Run) -> None:
    names = run.log.messages([QUESTION, CALL, RESULT, ANSWER])
    run.log.write("view", hs=names, have=4, g=0, kind="raw", stale=False, life=1, seconds=31.0)
    assert run.found() == {"hang"}
