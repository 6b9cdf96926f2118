"""`offturn compact --report` and `--handoff`: a page that runs nothing, and a briefing to paste."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from offturn_engine.compaction import NOTHING, Audit, Compaction, KindAudit, NotKept
from offturn_engine.formats import get
from offturn_engine.report import report
from offturn_worker.reporting.page import html, visible
from tests.acceptance.command import offturn
from tests.acceptance.test_compact import conversation
from tests.engine.raws import calls, human, placed, result

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'></pre></details></body>{{ 7 * 7 }}{% raw %}"
    "\x1b[31m\u202egnp.exe\u2066\x00" + "x" * 5_000
)
SECRET = "sk-ant-api03-" + "a1B2c3D4" * 6
VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """Tags, those still open, attributes that could run or load anything, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.suspect: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open += [] if tag in VOID else [tag]
        for name, value in attrs:
            loads = name in ("src", "srcset", "action", "data") or (name == "href" and not str(value).startswith("#"))
            self.suspect += [f"{tag} {name}"] if loads or name.startswith("on") else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page(text: str, record: Compaction = NOTHING) -> tuple[Page, str]:
    path = placed([human(text), calls("c", text=text, arguments=json.dumps({"command": text})), result("c", text)])
    made = report(path, (record, NOTHING) if record.number else (NOTHING,), get("openai-chat"))
    written = html(made, title=text, policy=text, outcome=text, notes=(text,))
    return Page(written), written


def test_hostile_text_stays_text() -> None:
    record = Compaction(
        number=2,
        covered=((0, 1),),
        summary=HOSTILE,
        model=HOSTILE,
        method="model",
        concessions={HOSTILE: 1},
        audit=Audit(kinds=(KindAudit(kind=HOSTILE, lost=1),), not_kept=(NotKept(kind=HOSTILE, seq=0, verdict="lost"),)),
    )
    read, written = page(HOSTILE, record)

    assert read.open == []
    assert not read.tags & {"script", "img", "iframe", "object", "link", "base", "form"}
    assert read.suspect == []
    assert "<script>alert(1)</script>" in "".join(read.words)
    assert "{{ 7 * 7 }}" in "".join(read.words)
    assert not re.search("[\x00\x1b\u202e\u2066]", written)
    assert "␛[31m⟨U+202E⟩gnp.exe⟨U+2066⟩␀" in written
    assert "default-src 'none'" in written
    assert "http" not in written.replace("http-equiv", "")
    written.encode()


def test_facts_are_counted_by_what_became_of_them_and_those_gone_lead_to_their_message() -> None:
    kinds = (KindAudit(kind="file", kept=1_200, recoverable=3), KindAudit(kind="constraint", mutated=1))
    gone = (NotKept(kind="constraint", seq=0, verdict="mutated"), NotKept(kind="file", seq=1, verdict="recoverable"))
    record = Compaction(number=2, covered=((0, 1),), summary="-", audit=Audit(kinds=kinds, not_kept=gone))
    read, written = page("hello", record)
    words = re.sub(r"\s+", " ", " ".join(read.words))
    assert "file 1,200 3 0 0" in words
    assert '<a href="#m0">m0</a> constraint mutated' in written
    assert 'href="#m1"' not in written.split("Facts, by what became")[1].split("Summarizer")[0]


def test_what_is_hidden_becomes_visible_and_lines_stay() -> None:
    assert visible("\ud800a\r\nb\tc\rd\x85\u200be\ufeff") == "⟨U+D800⟩a\nb\tc␍d⟨U+0085⟩⟨U+200B⟩e⟨U+FEFF⟩"
    assert visible("Zażółć 日本語 سلام 👩") == "Zażółć 日本語 سلام 👩"


def test_a_report_says_what_became_of_each_message(tmp_path: Path) -> None:
    file, out = tmp_path / "talk <b>.json", tmp_path / "report.html"
    file.write_text(json.dumps(conversation()))

    done = offturn("compact", str(file), "--report", str(out), "--json")

    assert done.returncode == 0, done.stderr
    facts, written = json.loads(done.stdout), out.read_text()
    read = Page(written)
    assert read.open == []
    words = "".join(read.words)
    assert "talk <b>.json" in words
    assert f"{facts['tokens_before']:,}→{facts['tokens_after']:,}" in words
    assert written.count('class="entry f-cleared"') == facts["edits"]["stub"]
    assert "[cleared: bash pytest tests/test_0.py" in words
    assert "test_0.py: line of output" in words


def test_a_handoff_is_the_briefing_and_nothing_else(tmp_path: Path) -> None:
    talk = [*conversation(3), {"role": "user", "content": f"Use the key {SECRET} now."}]
    out = tmp_path / "briefing.txt"

    done = offturn("compact", "-", "--handoff", stdin=json.dumps(talk).encode())
    as_json = offturn("compact", "-", "--handoff", "--json", "--output", str(out), stdin=json.dumps(talk).encode())

    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert text.startswith("[Briefing on an earlier conversation of 9 messages")
    assert text.endswith("[End of the briefing]\n")
    assert "Never change the public API." in text
    assert b"1 secret masked" in done.stderr
    assert SECRET not in text
    facts: dict[str, Any] = json.loads(as_json.stdout)
    assert (facts["masked"], facts["messages"], facts["text"] + "\n") == (1, 9, text)
    assert out.read_text() == text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--handoff", "--compare"), b"--handoff: is of one policy"),
        (("--report", "x.html", "--compare"), b"--report: is of one policy"),
        (("--report", "nowhere/x.html"), b"--report 'nowhere/x.html'"),
    ],
)
def test_what_does_not_go_together_is_refused(
    options: tuple[str, ...], told: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = offturn("compact", "-", *options, stdin=json.dumps(conversation(3)).encode())

    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("option", [("--report", "x.html"), ("--handoff",)])
def test_several_conversations_have_no_one_report_or_briefing(
    option: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(
        tmp_path
    )  # whether the file can be written is tried before: not in the checkout, which others list
    done = offturn("compact", "-", *option, stdin=json.dumps([conversation(3), conversation(4)]).encode())

    assert done.returncode == 2
    assert f"{option[0]}: the file holds 2 conversations: choose one with --index".encode() in done.stderr


def test_a_file_without_a_conversation_has_an_empty_report(tmp_path: Path) -> None:
    done = offturn("compact", "-", "--report", str(tmp_path / "x.html"), stdin=b"[]")

    assert done.returncode == 0
    assert Page((tmp_path / "x.html").read_text()).open == []
