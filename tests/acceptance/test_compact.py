"""`offturn compact` as a process: offline, on real files, and on what is not one."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from typing import Any, cast

import pytest

from offturn_engine.formats import get
from tests.acceptance.command import offturn, on_a_terminal

SHARED = Path(__file__).resolve().parents[3] / "shared" / "transcripts"
needs_transcripts = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the folder shared/transcripts is not beside this checkout"
)


def conversation(turns: int = 30) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Port the parser. Never change the public API."}]
    for i in range(turns):
        arguments = json.dumps({"command": f"pytest tests/test_{i}.py"})
        call = {"id": f"c{i}", "type": "function", "function": {"name": "bash", "arguments": arguments}}
        messages.append({"role": "assistant", "content": f"Running test {i}.", "tool_calls": [call]})
        text = f"test_{i}.py: line of output\n" * 40 + f"{i} passed"
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": text})
    return [*messages, {"role": "assistant", "content": "All ported."}]


@pytest.mark.parametrize("layout", ["list", "lines", "object"])
def test_the_output_is_as_the_file_was(layout: str, tmp_path: Path) -> None:
    talk, out = conversation(), tmp_path / "out"
    given = {
        "list": json.dumps(talk),
        "lines": "\n".join(map(json.dumps, talk)),
        "object": json.dumps({"id": "a", "messages": talk, "tools": [1]}),
    }
    done = offturn("compact", "-", "--output", str(out), stdin=given[layout].encode())
    assert done.returncode == 0, done.stderr
    written = out.read_text()
    if layout == "lines":
        messages = [json.loads(line) for line in written.splitlines()]
    elif layout == "object":
        whole = json.loads(written)
        assert [*whole] == ["id", "messages", "tools"]
        assert whole["tools"] == [1]
        messages = whole["messages"]
    else:
        messages = json.loads(written)
    assert len(messages) == json.loads(done.stdout)["messages"]
    again = offturn("compact", str(out))
    assert json.loads(again.stdout)["messages_before"] == len(messages)


def test_of_a_hosts_log_the_output_is_a_list_and_says_so(tmp_path: Path) -> None:
    said = ({"role": "user", "content": "go"}, {"role": "assistant", "content": [{"type": "text", "text": "ok"}]})
    log = [{"type": "session", "id": "s"}, *({"type": "message", "message": message} for message in said)]
    done = offturn("compact", "-", "--output", str(tmp_path / "out"), stdin="\n".join(map(json.dumps, log)).encode())
    assert b"as a list of anthropic messages: pi has no log that begins compacted" in done.stderr
    assert isinstance(json.loads((tmp_path / "out").read_text()), list)


def test_a_briefing_on_a_terminal_moves_no_cursor_and_in_a_pipe_it_is_as_it_is(tmp_path: Path) -> None:
    evil = "\tred \x1b[31m\x1b]0;title\x07 \u202eback"
    (tmp_path / "talk.json").write_text(json.dumps([{"role": "user", "content": evil}, *conversation()[1:]]))

    shown = on_a_terminal("compact", "talk.json", "--handoff", cwd=tmp_path)
    piped = offturn("compact", str(tmp_path / "talk.json"), "--handoff").stdout.decode()

    assert evil in piped
    assert "\tred \\x1b[31m\\x1b]0;title\\x07 \\u202eback" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_prints_the_account(tmp_path: Path) -> None:
    file, out = tmp_path / "talk.json", tmp_path / "out.json"
    file.write_text(json.dumps(conversation()))

    done = offturn("compact", str(file), "--json", "--output", str(out))

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert {"messages", "tokens_before", "tokens_after", "method", "ranges", "audit", "outcome"} <= set(facts)
    assert facts["outcome"] in ("pruned", "compacted")
    assert facts["tokens_after"] < facts["tokens_before"] * 0.8
    written = json.loads(out.read_text())
    assert len(written) == facts["messages"]
    assert get("openai-chat").problems(written) == []
    assert "Never change the public API." in json.dumps(written)


def test_a_given_window_that_is_far_away_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    messages = conversation(1)[:2] + conversation(1)[2:]
    file.write_text(json.dumps(messages[:1] + messages[-1:]))

    facts = json.loads(offturn("compact", str(file), "--json", "--output", str(tmp_path / "out.json")).stdout)

    assert facts["outcome"] == "skipped"
    assert facts["reason"] == "nothing_to_cover"
    assert json.loads((tmp_path / "out.json").read_text()) == messages[:1] + messages[-1:]


@pytest.mark.parametrize("data", [b'[{"role":"robot"}]', b'{"messages":[{"role":"robot","content":""}]}'])
def test_messages_of_no_known_role_are_no_empty_conversation(data: bytes) -> None:
    done = offturn("compact", "-", "--json", stdin=data)

    assert done.returncode == 2
    assert b"message 0, field 'role'" in done.stderr


@pytest.mark.parametrize("data", [b"", b"[]", b'{"messages": []}'])
def test_no_conversation_is_no_error(data: bytes) -> None:
    done = offturn("compact", "-", "--json", stdin=data)

    assert done.returncode == 0
    assert json.loads(done.stdout)["messages"] == 0


def test_several_conversations_give_a_list(tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([conversation(5), conversation(9)]))

    facts = json.loads(offturn("compact", str(file), "--json").stdout)
    refused = offturn("compact", str(file), "--output", str(tmp_path / "out.json"))
    chosen = offturn("compact", str(file), "--index", "1", "--json", "--output", str(tmp_path / "out.json"))

    assert [fact["tokens_before"] > 0 for fact in facts] == [True, True]
    assert refused.returncode == 2
    assert b"--index" in refused.stderr
    assert chosen.returncode == 0
    assert (tmp_path / "out.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("compact", "missing.json"), "missing.json"),
        (("compact", "-", "--policy", "nope"), "choose one of"),
        (("compact", "-", "--window", "10"), "window 10"),
        (("compact", "-", "--format", "nope"), "nope"),
        (("compact", "-", "--summarizer", "nope:x"), "provider"),
        (("compact", "-", "--summarizer", ""), "--summarizer ''"),
        (("compact", "-", "--output", "nowhere/out.json"), "--output 'nowhere/out.json'"),
        (("compact", "-", "--output", "."), "--output '.'"),
        (("demo", "--out", "/dev/null/demo"), "--out '/dev/null/demo'"),
        (("session", "list", "--store", "redis://127.0.0.1:9/0"), "127.0.0.1"),
        (("session", "list", "--store", "http://127.0.0.1:9/0"), "redis://"),
        (("session", "show", "nobody", "--store", "redis://127.0.0.1:9/0"), "store"),
        (("policies", "show", "nope"), "balanced"),
        (("policies", "show", "balanced", "--window", "300000000", "--nope"), "--nope"),
        (("nope",), "nope"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], told: str) -> None:
    done = offturn(*arguments, stdin=json.dumps(conversation()).encode())

    text = done.stderr.decode()
    assert done.returncode == 2, text
    assert told in text
    assert "Traceback" not in text
    assert [line for line in text.splitlines() if line.startswith("offturn: ")]


def test_a_demo_without_its_key_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    done = offturn("demo", variables={"OFFTURN_SUMMARIZER": "anthropic:some-model"})

    assert done.returncode == 2
    assert b"set OFFTURN_ANTHROPIC_API_KEY" in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_import_names_the_bad_message_and_leaves_nothing(tmp_path: Path) -> None:
    file, store = tmp_path / "talk.json", f"embedded://{tmp_path}/store"
    talk: list[dict[str, Any]] = [{"role": "user", "content": f"message {i}"} for i in range(200)]
    talk[150]["name"] = reduce(lambda inner, _: [inner], range(300), cast("Any", []))
    file.write_text(json.dumps(talk))

    refused = offturn("import", str(file), "--session", "s", "--store", store, "--format", "openai-chat")

    assert refused.returncode == 2
    assert b"message 150" in refused.stderr
    assert not (tmp_path / "store").exists()


def test_a_model_that_cannot_be_asked_is_one_line_and_exit_code_2() -> None:
    talk = [
        {"role": ("user", "assistant")[i % 2], "content": f"sentence {i}, and more of it. " * 60} for i in range(40)
    ]

    done = offturn("compact", "-", "--summarizer", "openai:x@http://127.0.0.1:9/v1", stdin=json.dumps(talk).encode())

    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"openai:x" in done.stderr.splitlines()[-1]


@needs_transcripts
@pytest.mark.parametrize("name", ["pi_before-compaction.jsonl", "taubench_airline_bundle_a.json"])
def test_real_files(name: str, tmp_path: Path) -> None:
    done = offturn("compact", str(SHARED / name), "--json", "--index", "0", "--output", str(tmp_path / "out.json"))

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["outcome"] in ("pruned", "compacted")
    written = json.loads((tmp_path / "out.json").read_text())
    fmt = get("anthropic" if name.startswith("pi") else "openai-chat")
    assert [p for p in fmt.problems(written) if p.rule != "pending"] == []
