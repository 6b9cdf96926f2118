"""Help, version, and how a bad value is told: by the option where one gave it, else by the variable."""

from __future__ import annotations

import json
import signal
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

import offturn as package
from tests.acceptance.command import COMMAND, SECONDS, environment, offturn
from tests.acceptance.test_compact import conversation

TALK = json.dumps(conversation()).encode()


def refused(url: str) -> str:
    """The same server for a user that it does not know."""
    return url.replace("//", "//nobody:hunter2@")


def test_the_version_is_the_installed_one() -> None:
    done = offturn("--version")

    assert package.__version__ == version("offturn")
    assert (done.returncode, done.stdout.decode()) == (0, f"offturn {version('offturn')}\n")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("compact",), "openai:MODEL or openai:MODEL@URL"),
        (("worker",), "openai:MODEL or openai:MODEL@URL"),
        (("local",), "openai:MODEL or openai:MODEL@URL"),
        (("compact",), "A compaction asked for by hand happens at any size."),
        (("session", "list"), "else OFFTURN_STORE_URL, else redis://localhost:6379/0"),
        (("import",), "else OFFTURN_TENANT, else default"),
    ],
)
def test_help_is_whole(command: tuple[str, ...], told: str) -> None:
    text = offturn(*command, "--help", variables={"COLUMNS": "100", "TERM": "dumb"}).stdout.decode()
    words = [word for word in text.split() if word != "│"]
    assert told in " ".join(words)


@pytest.mark.parametrize(
    ("arguments", "variables", "told"),
    [
        (("session", "list", "--store", "http://x"), {}, "--store 'http://x': use redis://"),
        (("session", "list"), {"OFFTURN_STORE_URL": "http://x"}, "OFFTURN_STORE_URL = 'http://x': use redis://"),
        (("session", "list", "--tenant", "A"), {}, "--tenant 'A': use 1 to 64"),
        (("session", "list"), {"OFFTURN_TENANT": "A"}, "OFFTURN_TENANT = 'A': use 1 to 64"),
        (("compact", "-", "--summarizer", "nope:x"), {}, "--summarizer 'nope:x': no provider"),
        (("compact", "-", "--summarizer", "nope:x"), {}, "or use extractive"),
        (("compact", "-"), {"OFFTURN_SUMMARIZER": "nope:x"}, "OFFTURN_SUMMARIZER = 'nope:x': no provider"),
        (("compact", "-", "--window", "10"), {}, "--window 10: a context window has at least"),
        (("compact", "-", "--policy", "nope"), {}, "--policy 'nope': choose one of"),
    ],
)
def test_an_error_names_where_the_value_came_from(
    arguments: tuple[str, ...], variables: dict[str, str], told: str
) -> None:
    done = offturn(*arguments, stdin=TALK, variables=variables)

    assert done.returncode == 2
    assert told in done.stderr.decode()
    assert [line[:9] for line in done.stderr.decode().splitlines()] == ["offturn: "]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("import", "-"), "Missing option '--session'. See `offturn import --help`"),
        (("session", "show"), "See `offturn session show --help`"),
        (("session", "list", "--stor", "x"), "). See `offturn session list --help`"),
        (("session", "shw"), "? See `offturn session --help`"),
        (("nope",), "No such command 'nope'. See `offturn --help`"),
    ],
)
def test_a_usage_error_names_the_help_of_its_command(arguments: tuple[str, ...], told: str) -> None:
    done = offturn(*arguments)

    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert line.endswith(told)


def test_a_worker_that_its_server_refuses_names_the_option(valkey_url: str) -> None:
    done = offturn("worker", "--store", refused(valkey_url))

    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    where = valkey_url.replace("//", "//***@")
    assert line == f"offturn: --store '{where}': the server refused the user or password"


def test_a_worker_warns_of_variables_that_nothing_reads(valkey_url: str) -> None:
    misspelt = {"OFFTURN_MAX_JBOS": "1", "OFFTURN_STORE_URI": "redis://x", "OFFTURN_MAX_JOBS": "2"}
    done = offturn("worker", "--store", refused(valkey_url), variables=misspelt)

    [line] = [line for line in done.stdout.splitlines() + done.stderr.splitlines() if b"unknown_variables" in line]
    assert json.loads(line)["variables"] == ["OFFTURN_MAX_JBOS", "OFFTURN_STORE_URI"]


def test_a_worker_says_at_once_what_it_waits_for_and_ends_when_asked(tmp_path: Path) -> None:
    store = f"unix://{tmp_path}/none"
    given = environment({"OFFTURN_HEALTH_PORT": "0"})
    with subprocess.Popen([*COMMAND, "worker", "--store", store], stderr=subprocess.PIPE, env=given) as worker:
        try:
            assert worker.stderr is not None
            line = json.loads(worker.stderr.readline())
            assert b"server_lost" in worker.stderr.readline()  # it waits
            assert worker.poll() is None
            worker.send_signal(signal.SIGTERM)
            worker.communicate(timeout=SECONDS)
        finally:
            worker.kill()
    assert (line["event"], line["setting"], line["url"]) == ("server_awaited", "OFFTURN_STORE_URL", store)
    assert "start the server" in line["remedy"]
    assert worker.returncode == 0
