"""The example in Node answers each message, also while the service is dead, and tells it afterwards what it missed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tarfile
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from offturn import CompactionClient
from offturn.embedded_port import free_port
from offturn_worker.fake_model.server import FakeModel
from tests.acceptance.command import SECONDS
from tests.http.serving import made_key, served
from tests.packaging.sources import ROOT

BOT = ROOT / "examples/node-bot/bot.mts"
NODE = shutil.which("node")
COMPILER = (("@types/node", "20.19.0"), ("undici-types", "6.21.0"), ("typescript", "5.9.3"))
TURNS = 22
PATIENCE = "SECONDS = 5;"
LONG = "Please look into the parser once more, it still reads the block in the wrong order. " * 24


def _fetched(npm: str, into: Path, name: str, version: str) -> bool:
    """A package of npm, unpacked where programs look for it."""
    with suppress(subprocess.TimeoutExpired):
        command = [npm, "pack", f"{name}@{version}", "--json"]
        done = subprocess.run(command, cwd=into, capture_output=True, timeout=30, check=False)
        if done.returncode == 0:
            with tarfile.open(into / json.loads(done.stdout)[0]["filename"]) as packed:
                top = Path(packed.getnames()[0]).parts[0]
                packed.extractall(into, filter="data")
            place = into / "node_modules" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            (into / top).rename(place)
            return True
    return False


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bot as every Node runs it, its types checked on the way; by a compiler from npm."""
    npm, compiler = shutil.which("npm"), tmp_path_factory.mktemp("typescript")
    if NODE is None or npm is None:
        pytest.skip("node or npm is not installed")
    if not all(_fetched(npm, compiler, *package) for package in COMPILER):
        pytest.skip("needs a TypeScript compiler: npm cannot fetch it")
    tsc = compiler / "node_modules/typescript/bin/tsc"
    folder = tmp_path_factory.mktemp("bot")
    types = ["--types", "node", "--typeRoots", str(compiler / "node_modules/@types")]
    rules = ["--strict", "--module", "nodenext", "--target", "es2022", "--outDir", str(folder)]
    done = subprocess.run([NODE, str(tsc), *rules, *types, str(BOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    bot = folder / "bot.mjs"
    text = bot.read_text()
    assert text.count(PATIENCE) == 1
    bot.write_text(text.replace(PATIENCE, f"SECONDS = {SECONDS};"))  # a busy machine must not pass for an outage
    return bot


async def _said(bot: Process, line: str) -> str:
    assert bot.stdin is not None
    assert bot.stdout is not None
    bot.stdin.write(f"{line}\n".encode())
    return (await asyncio.wait_for(bot.stdout.readline(), SECONDS)).decode().strip()


def _sent(model: FakeModel) -> list[dict[str, Any]]:
    found: Any = model.calls[-1].body
    messages: list[dict[str, Any]] = found["messages"]
    return messages


async def test_it_answers_while_the_service_is_dead(compiled: Path, valkey_url: str, tenant: str) -> None:
    key, port = await made_key(valkey_url, tenant, "host"), str(free_port())
    fixed = {"OFFTURN_HTTP_PORT": port}
    async with (
        FakeModel(keep_bodies=True) as model,
        CompactionClient.from_url(valkey_url, tenant=tenant, timeout=SECONDS) as client,
    ):
        given = {"OFFTURN_URL": f"http://127.0.0.1:{port}", "OFFTURN_KEY": key, "MODEL_URL": f"{model.url}/v1"}
        bot = await asyncio.create_subprocess_exec(
            str(NODE), str(compiled), "chat", stdin=PIPE, stdout=PIPE, stderr=PIPE, env={**os.environ, **given}
        )
        try:
            with served(valkey_url, fixed, port=None) as service:
                for i in range(TURNS):
                    assert await _said(bot, f"{i}: {LONG}")
                session = client.session("chat", format="openai-chat", window=16_000)
                await session.request()
                await client.run_due()
                assert await _said(bot, f"{TURNS}: and now?")
                compacted = _sent(model)
                assert len(compacted) < 2 * TURNS
                service.process.kill()
                service.process.wait()
            assert await _said(bot, f"{TURNS + 1}: is anybody there?")
            alone = _sent(model)
            assert alone[: len(compacted)] == compacted
            assert [one["role"] for one in alone[len(compacted) :]] == ["assistant", "user"]
            with served(valkey_url, fixed, port=None):
                assert await _said(bot, f"{TURNS + 2}: welcome back")
            assert (await session.status()).messages == 2 * TURNS + 5
            recorded = [line["message"]["content"] async for line in session.export() if line["kind"] == "message"]
            assert [text.partition(":")[0] for text in recorded[::2]] == [str(i) for i in range(TURNS + 3)]
        finally:
            bot.kill()
            _, errors = await bot.communicate()
    assert errors.decode().count("without offturn") == 1


async def test_it_names_the_variables_it_needs(compiled: Path) -> None:
    bot = await asyncio.create_subprocess_exec(
        str(NODE), str(compiled), stdin=PIPE, stderr=PIPE, env={"PATH": os.environ["PATH"]}
    )
    _, errors = await asyncio.wait_for(bot.communicate(b"Hello.\n"), SECONDS)

    assert bot.returncode == 2
    assert errors.decode().count("\n") == 1
    assert "OFFTURN_KEY (`offturn keys add --role host` makes one)" in errors.decode()


async def test_it_goes_on_where_the_model_does_not_answer(compiled: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    given = {"OFFTURN_URL": nowhere, "OFFTURN_KEY": "offturn_0_x", "MODEL_URL": f"{nowhere}/v1"}
    bot = await asyncio.create_subprocess_exec(
        str(NODE), str(compiled), stdin=PIPE, stderr=PIPE, env={"PATH": os.environ["PATH"], **given}
    )
    _, errors = await asyncio.wait_for(bot.communicate(b"Hello.\nStill there?\n"), SECONDS)

    assert bot.returncode == 0
    assert errors.decode().count("no answer: ") == 2
