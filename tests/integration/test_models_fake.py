"""The local server's own promises: useful answers to real prompts, both wire formats, one line on the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from offturn_engine.chunks import chunks
from offturn_engine.compaction import Sections
from offturn_engine.formats import get
from offturn_engine.language import detect
from offturn_engine.messages import Message
from offturn_engine.prompt import budget_of, request
from offturn_engine.reply import check
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_engine.templates import NINE_SECTION
from offturn_engine.transcript_text import serialise, text_of
from offturn_models.errors import InputTooLong
from offturn_models.openai import OpenAI
from offturn_worker.fake_model import FakeModel
from offturn_worker.fake_model.summary import summarise

TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "transcripts"
CAP = 2_000

SESSION: list[dict[str, Any]] = [
    {"role": "user", "content": "Please fix the login timeout. Never change the public API in api/session.py."},
    {"role": "assistant", "content": "I read api/login.py and found that the timeout is 30 s."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "run", "arguments": '{"command": "pytest"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "exit code: 1\nTimeoutError: no answer within 30 s"},
    {"role": "assistant", "content": "I decided to retry once because the server drops idle connections."},
    {"role": "assistant", "content": "I am changing api/login.py now."},
]
LATER: list[dict[str, Any]] = [
    {"role": "user", "content": "Good, and add a test for it."},
    {"role": "assistant", "content": "I added tests/test_login.py and it passed. The notes still have to be updated."},
]


def messages(raw: list[dict[str, Any]], first: int = 0) -> list[Message]:
    fmt = get("openai-chat")
    return [fmt.parse(m, index=i).placed(first + i) for i, m in enumerate(raw)]


def prompt(raw: list[Message], previous: Sections | None = None, cap: int = CAP) -> SummaryRequest:
    return request(
        text_of(serialise(raw, {})),
        previous=previous,
        template=NINE_SECTION,
        max_output_tokens=cap,
        focus="",
        note="",
        language="English",
        model="m",
    )


def written(asked: SummaryRequest, language: str = "English") -> Sections:
    """The answer's sections, accepted by the engine's own check."""
    text = summarise(asked.system, asked.content, max_tokens=asked.max_output_tokens)
    reply = SummaryReply(text=text, finish="stop", model="m")
    checked = check(reply, asked, language=language, budget=budget_of(asked.max_output_tokens))
    assert isinstance(checked, Sections), checked
    return checked


def test_a_first_summary_puts_things_where_they_belong() -> None:
    sections = dict(written(prompt(messages(SESSION))).items())
    assert tuple(sections) == NINE_SECTION.titles
    assert "fix the login timeout" in sections["Goal"]
    assert "Never change the public API" in sections["Constraints and Preferences"] + sections["Goal"]
    assert "found that the timeout" in sections["Done"]
    assert "changing api/login.py" in sections["In Progress"]
    assert "because the server" in sections["Key Decisions"]


def test_an_update_keeps_what_was_and_moves_it_on() -> None:
    first = written(prompt(messages(SESSION)))
    updated = dict(written(prompt(messages(LATER, first=6), previous=first)).items())
    assert "fix the login timeout" in updated["Goal"]
    assert "changing api/login.py" in updated["Done"]
    assert "changing api/login.py" not in updated["In Progress"]
    assert "tests/test_login.py" in updated["Done"]
    assert "because the server" in updated["Key Decisions"]


def test_the_same_prompt_gets_the_same_answer() -> None:
    asked = prompt(messages(SESSION))
    assert written(asked) == written(asked)


@pytest.mark.parametrize("cap", [200, 400, 1_000])
def test_an_answer_stays_within_a_small_budget(cap: int) -> None:
    written(prompt(messages(SESSION * 40), cap=cap))


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="needs the folder shared/transcripts beside the repository")
@pytest.mark.parametrize(
    "name", ["taubench_airline_052.json", "taubench_airline_152.json", "taubench_airline_007.json"]
)
def test_real_transcripts_chunk_by_chunk(name: str) -> None:
    found = messages(_conversation(json.loads((TRANSCRIPTS / name).read_text())))
    language = detect([m.text for m in found if m.origin == "human"])
    previous: Sections | None = None
    for chunk in chunks(serialise([m for m in found if m.role != "system"], {}), budget=3_000):
        seqs = range(chunk[0].seq_low, chunk[-1].seq_high)
        previous = written(prompt([m for m in found if m.seq in seqs and m.role != "system"], previous), language)
    assert previous is not None


def _conversation(value: Any) -> list[dict[str, Any]]:
    """The first list of messages inside a file."""
    if isinstance(value, list) and value and all(isinstance(m, dict) and "role" in m for m in value):
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for v in inner if (found := _conversation(v))), [])


async def _post(url: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as response:
        return response.status, await response.json()


async def test_a_plain_call_without_a_stream() -> None:
    said = [{"role": "user", "content": "Please fix the login timeout.\n## Goal"}]
    async with FakeModel(key="sk-k") as server:
        chat = {"model": "m", "messages": said, "max_tokens": 100}
        status, body = await _post(f"{server.openai_url}/chat/completions", chat, {"authorization": "Bearer sk-k"})
        assert (status, body["choices"][0]["finish_reason"]) == (200, "stop")
        text = body["choices"][0]["message"]["content"]
        assert "login timeout" in text
        status, body = await _post(f"{server.url}/v1/messages", chat, {"x-api-key": "sk-k"})
        assert (status, body["stop_reason"], body["content"][0]["text"]) == (200, "end_turn", text)
        assert [call.auth for call in server.calls] == ["authorization", "x-api-key"]


@pytest.mark.parametrize(
    "body", [{}, {"model": "m", "messages": "x", "max_tokens": 1}, {"model": "m", "messages": [{}]}]
)
async def test_a_request_that_is_none(body: dict[str, Any]) -> None:
    async with FakeModel() as server:
        for path in ("/v1/messages", "/v1/chat/completions"):
            assert (await _post(server.url + path, body, {}))[0] == 400


async def test_a_window_makes_long_prompts_too_long() -> None:
    async with FakeModel(window=300) as server:
        model = OpenAI("m", base_url=server.openai_url)
        with pytest.raises(InputTooLong) as caught:
            await model.summarize(prompt(messages(SESSION)))
        assert caught.value.limit == 300


async def test_lists_its_models() -> None:
    async with (
        FakeModel() as server,
        aiohttp.ClientSession() as session,
        session.get(f"{server.openai_url}/models") as response,
    ):
        assert [model["id"] for model in (await response.json())["data"]] == ["fake"]


def test_an_unknown_behaviour_is_refused() -> None:
    with pytest.raises(ValueError, match="no behaviour 'explode'"):
        FakeModel().script(["explode"])  # type: ignore[list-item]


def test_the_command_prints_its_address_and_stops_on_request() -> None:
    command = [sys.executable, "-m", "offturn_worker.fake_model", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        assert line["openai_url"] == f"{line['url']}/v1"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
