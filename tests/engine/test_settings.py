"""Settings: what the environment, a secrets directory and arguments give, and how a bad value is told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_config.errors import InvalidSetting
from offturn_config.settings import WorkerSettings, load_client_settings, load_worker_settings
from offturn_config.urls import parse_url, redacted


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("OFFTURN_", "ANTHROPIC_", "OPENAI_")):
            monkeypatch.delenv(name)


def test_defaults() -> None:
    settings = load_worker_settings()
    assert settings.store_url == "redis://localhost:6379/0"
    assert settings.queue_url is None
    assert settings.summarizer == "extractive"
    assert (settings.max_jobs, settings.lease_ms, settings.health_port) == (4, 4000, 8080)
    assert str(os.getpid()) in settings.worker_id
    assert load_client_settings().tenant == "default"


def test_environment_then_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFTURN_MAX_JOBS", "7")
    monkeypatch.setenv("OFFTURN_STORE_URL", "redis://other/3")
    assert load_worker_settings().max_jobs == 7
    assert load_worker_settings(max_jobs=9).max_jobs == 9
    assert load_worker_settings(max_jobs=None).max_jobs == 7
    assert load_client_settings().store_url == "redis://other/3"


def test_an_empty_variable_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFTURN_MAX_JOBS", "")
    monkeypatch.setenv("OFFTURN_QUEUE_URL", "")
    assert load_worker_settings().max_jobs == 4
    assert load_worker_settings().queue_url is None


def test_keys_come_from_both_names_and_ours_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "common")
    key = load_worker_settings().anthropic_api_key
    assert key is not None
    assert key.get_secret_value() == "common"
    monkeypatch.setenv("OFFTURN_ANTHROPIC_API_KEY", "own")
    key = load_worker_settings().anthropic_api_key
    assert key is not None
    assert key.get_secret_value() == "own"


def test_secrets_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "OFFTURN_OPENAI_API_KEY").write_text("from-file\n")
    (tmp_path / "OFFTURN_STORE_URL").write_text("redis://:pw@kept-secret/0\n")
    monkeypatch.setenv("OFFTURN_SECRETS_DIR", str(tmp_path))
    settings = load_worker_settings()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "from-file"
    assert settings.store_url == "redis://:pw@kept-secret/0"


def test_a_missing_secrets_directory_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OFFTURN_SECRETS_DIR", str(tmp_path / "absent"))
    with pytest.raises(InvalidSetting, match=r"OFFTURN_SECRETS_DIR.*no such directory"):
        load_worker_settings()


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("OFFTURN_MAX_JOBS", "many", "'many'"),
        ("OFFTURN_MAX_JOBS", "0", "greater than or equal to 1"),
        ("OFFTURN_LEASE_MS", "10", "greater than or equal to 1000"),
        ("OFFTURN_HEALTH_PORT", "70000", "65535"),
        ("OFFTURN_LOG_LEVEL", "loud", "'debug'"),
        ("OFFTURN_POLL_SECONDS", "nan", "finite number"),
        ("OFFTURN_POLL_SECONDS", "0.000001", "greater than or equal to 0.01"),
        ("OFFTURN_SWEEP_SECONDS", "1e-9", "greater than or equal to 0.01"),
        ("OFFTURN_DRAIN_SECONDS", "-1", "greater than or equal to 0"),
        ("OFFTURN_STORE_URL", "http://host", "use redis://"),
        ("OFFTURN_QUEUE_URL", "redis://host/one", "must be a number"),
        ("OFFTURN_ARCHIVE_URL", "s3:/bucket", "use file:///PATH with three slashes, s3://BUCKET/PREFIX"),
        ("OFFTURN_ARCHIVE_URL", "/var/offturn", "use file:///PATH with three slashes"),
        ("OFFTURN_ARCHIVE_URL", "file://var/offturn", "use file:///PATH with three slashes"),
        ("OFFTURN_ARCHIVE_URL", "memory://x", "goes with it"),
    ],
)
def test_a_bad_value_names_variable_value_and_remedy(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidSetting) as caught:
        load_worker_settings()
    assert variable in str(caught.value)
    assert value in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize("name", ["POLL_SECONDS", "SWEEP_SECONDS", "DRAIN_SECONDS", "JOB_TIMEOUT", "TIMEOUT"])
def test_seconds_are_such_as_an_event_loop_can_wait(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A worker with POLL_SECONDS=1e308 ended with a traceback."""
    monkeypatch.setenv(f"OFFTURN_{name}", "1e308")
    with pytest.raises(InvalidSetting, match=f"OFFTURN_{name} = '1e308': .*2592000"):
        load_worker_settings()


def test_a_bad_archive_is_the_only_complaint_and_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFTURN_ARCHIVE_URL", f"s3:/AKIA:{SECRET}@bucket")
    monkeypatch.setenv("OFFTURN_ARCHIVE_AFTER", "60")
    with pytest.raises(InvalidSetting) as caught:
        load_worker_settings()
    assert SECRET not in str(caught.value)
    assert "OFFTURN_ARCHIVE_AFTER" not in str(caught.value)


@pytest.mark.parametrize("url", ["file:///var/offturn", "s3://bucket/offturn", "simplecache::gs://bucket"])
def test_an_archive_may_be_anywhere_that_outlasts_a_worker(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OFFTURN_ARCHIVE_URL", url)
    assert load_worker_settings().archive_url == url


def test_a_secrets_directory_that_can_be_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFTURN_SECRETS_DIR", "/" + "a" * 300)
    with pytest.raises(InvalidSetting, match="no such directory"):
        load_worker_settings()


def test_a_bad_tenant_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFTURN_TENANT", "Team A")
    with pytest.raises(InvalidSetting, match="OFFTURN_TENANT = 'Team A': use 1 to 64"):
        load_client_settings()


def test_an_unknown_argument_is_told() -> None:
    with pytest.raises(InvalidSetting, match="OFFTURN_MAX_JOB "):
        load_worker_settings(max_job=3)


SECRET = "p4ss-w0rd"


@pytest.mark.parametrize(
    "url",
    [
        f"redis://user:{SECRET}@host:port/0",
        f"redis://:{SECRET}/x@host/0",
        f"redis://:{SECRET}#x@host/0",
        f"redis://:{SECRET}?x@host/0",
        f"redis://:{SECRET}@host/zero",
        f"redis://:{SECRET}@host/0?other=1",
        f"redis://:{SECRET}",
        f"http://user:{SECRET}@host",
        f"user:{SECRET}@host",
    ],
)
def test_no_message_shows_a_password(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OFFTURN_STORE_URL", url)
    with pytest.raises(InvalidSetting) as caught:
        load_worker_settings()
    assert SECRET not in str(caught.value)
    assert "OFFTURN_STORE_URL" in str(caught.value)


def test_no_repr_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    settings = load_worker_settings(store_url=f"redis://:{SECRET}@host/0", queue_url=f"rediss://u:{SECRET}@host/0")
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings)
    address = parse_url(settings.store_url)
    assert address.password == SECRET
    assert SECRET not in repr(address) + str(address)


@given(user=st.text(min_size=1), password=st.text(min_size=1), db=st.integers(0, 99), port=st.integers(1, 65535))
def test_every_password_survives_percent_encoding(user: str, password: str, db: int, port: int) -> None:
    address = parse_url(
        f"rediss://{quote(user, safe='', errors='replace')}:{quote(password, safe='', errors='replace')}@h:{port}/{db}"
    )
    assert address.username == user.encode(errors="replace").decode()
    assert address.password == password.encode(errors="replace").decode()
    assert (address.scheme, address.host, address.port, address.db) == ("rediss", "h", port, db)


@given(url=st.text(), secret=st.from_regex(r"[A-Za-z]{8}", fullmatch=True))
def test_nothing_before_the_last_at_is_shown(url: str, secret: str) -> None:
    assert secret not in redacted(f"redis://{secret}{url}@host").replace("redis://", "", 1)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://localhost", ("redis", "localhost", 6379, "", 0)),
        ("rediss://h:1/2", ("rediss", "h", 1, "", 2)),
        ("redis://[::1]:7/0", ("redis", "::1", 7, "", 0)),
        ("redis://h?db=4", ("redis", "h", 6379, "", 4)),
        ("unix:///run/redis.sock?db=3", ("unix", "", 6379, "/run/redis.sock", 3)),
        ("embedded://data/here", ("embedded", "127.0.0.1", 6379, "data/here", 0)),
        ("embedded:///var/data", ("embedded", "127.0.0.1", 6379, "/var/data", 0)),
    ],
)
def test_parts(url: str, expected: tuple[Any, ...]) -> None:
    address = parse_url(url)
    assert (address.scheme, address.host, address.port, address.path, address.db) == expected


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert parse_url("embedded://~/x").path == "/home/someone/x"


def test_every_field_says_what_it_is() -> None:
    silent = [name for name, field in WorkerSettings.model_fields.items() if not field.description]
    assert silent == []


def test_a_job_may_not_end_before_a_model_call() -> None:
    with pytest.raises(InvalidSetting, match=r"OFFTURN_JOB_TIMEOUT = .*60.*above OFFTURN_SUMMARIZER_TIMEOUT \(120\)"):
        load_worker_settings(job_timeout=60.0)
    assert load_worker_settings(job_timeout=60.0, summarizer_timeout=30.0).job_timeout == 60.0
