"""Settings from the environment: the only module of offturn that reads it.

Every variable is `OFFTURN_<FIELD>`. A file of that name in the directory `OFFTURN_SECRETS_DIR` is read where the
variable is unset, so that keys can be mounted instead of exported.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AliasChoices, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_config.urls import parse_url, redacted

PREFIX = "OFFTURN_"
_ARCHIVE_URL = re.compile(r"(?!(?:file|local):(?!///))[a-z][a-z0-9+.:-]*://.", re.IGNORECASE)


def _url(value: str) -> str:
    try:
        parse_url(value, "URL")
    except InvalidSetting as error:
        raise ValueError(str(error).partition("': ")[2]) from None
    return value


def _tenant(value: str) -> str:
    try:
        return SessionKey(value, "x").tenant
    except InvalidSetting:
        raise ValueError("use 1 to 64 of a-z, 0-9, _ and -") from None


def _archive_url(value: str) -> str:
    """Without a protocol fsspec would take it for a folder of the working directory, which in a pod goes with the pod."""
    if not _ARCHIVE_URL.match(value):
        raise ValueError("use file:///PATH with three slashes, s3://BUCKET/PREFIX or another URL of fsspec")
    if value.startswith("memory:"):
        raise ValueError("what is in a worker's memory goes with it: use file:///PATH, s3://BUCKET/PREFIX")
    return value


def _networks(value: str) -> str:
    try:
        for one in value.split(","):
            ip_network(one.strip())
    except ValueError:
        raise ValueError("use addresses and networks with commas between them, such as 10.0.0.0/8") from None
    return value


Url = Annotated[str, AfterValidator(_url)]
ArchiveUrl = Annotated[str, AfterValidator(_archive_url)]
LONGEST_IDLE = 10 * 365 * 24 * 3600  # seconds
LONGEST = 30 * 24 * 3600  # seconds; event loops count no further than some decades

Seconds = Annotated[float, Field(gt=0, le=LONGEST, allow_inf_nan=False)]
Pause = Annotated[float, Field(ge=0.01, le=LONGEST, allow_inf_nan=False)]  # shorter ones would keep a core busy


class _Base(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", populate_by_name=True, env_ignore_empty=True
    )


class _Settings(_Base):
    store_url: Url = Field(default="redis://localhost:6379/0", repr=False, description="where sessions are kept")
    queue_url: Url | None = Field(default=None, repr=False, description="where jobs are queued; unset: the store")


class ClientSettings(_Settings):
    """What a host's client reads."""

    tenant: Annotated[str, AfterValidator(_tenant)] = Field(default="default", description="whose sessions")
    timeout: Seconds = Field(default=2.0, description="deadline of one call, seconds")


class TriggerSettings(_Base):
    """What a host's client reads where a session's policy is chosen."""

    autocompact_pct: int | None = Field(
        default=None, ge=1, le=100, description="percent of the window from which a compaction is wanted"
    )


class WorkerSettings(_Settings):
    """What a worker process reads."""

    summarizer: str = Field(
        default="extractive",
        min_length=1,
        description="`extractive`, or PROVIDER:MODEL, or a comma list tried in order",
    )
    summarizer_window: int | None = Field(
        default=None, ge=1024, description="window of the summarizer's model, tokens; unset: 128,000"
    )
    summarizer_timeout: Seconds = Field(default=120.0, description="deadline of one model call, seconds")
    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("OFFTURN_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        description="of the `anthropic` summarizers",
    )
    anthropic_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("OFFTURN_ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL"),
        description="another server of Anthropic's API",
    )
    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("OFFTURN_OPENAI_API_KEY", "OPENAI_API_KEY"),
        description="of the `openai` summarizers",
    )
    openai_base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("OFFTURN_OPENAI_BASE_URL", "OPENAI_BASE_URL"),
        description="any server of OpenAI's API",
    )
    timeout: Seconds = Field(default=10.0, description="deadline of one Redis reply, seconds")
    max_jobs: int = Field(
        default=4,
        ge=1,
        le=100,
        description="jobs at a time in this process; two more may check and commit what their model has answered",
    )
    max_workers: int = Field(
        default=100,
        ge=1,
        le=10_000,
        description="processes at most, all pods together; each looks that far into the queue",
    )
    job_timeout: Seconds = Field(default=600.0, description="longest a job runs without getting on, seconds")
    compactions_per_hour: int = Field(
        default=60, ge=1, le=200, description="automatic compactions of one session in an hour"
    )
    tenant_jobs: int | None = Field(default=None, ge=1, description="jobs at a time of one tenant; unset: no limit")
    requests_per_minute: int | None = Field(
        default=None, ge=1, description="requests of all workers to one provider in a minute; unset: no limit"
    )
    tokens_per_minute: int | None = Field(
        default=None, ge=1, description="tokens of all workers to one provider in a minute; unset: no limit"
    )
    lease_ms: int = Field(default=4000, ge=1000, le=600_000, description="claim and arq lock, renewed four times in it")
    poll_seconds: Pause = Field(
        default=0.5,
        description="between two looks at a queue that holds jobs; an empty one is looked at when a ring is heard",
    )
    sweep_seconds: Pause = Field(default=1.0, description="between two looks at the due set, jittered by half")
    pack_after_seconds: float = Field(
        default=3600.0,
        ge=-1,
        le=LONGEST,
        allow_inf_nan=False,
        description="after which covered messages are packed; -1: never",
    )
    drain_seconds: float = Field(
        default=25.0, ge=0, le=LONGEST, allow_inf_nan=False, description="for running jobs after SIGTERM"
    )
    otlp_endpoint: str | None = Field(
        default=None,
        repr=False,
        pattern="https?://.+",
        description="collector for traces, OTLP over HTTP, as in `http://collector:4318`; unset: none",
    )
    otel_endpoint: str | None = Field(
        default=None,
        repr=False,
        validation_alias=AliasChoices("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        description="set, traces go where the SDK's own variables say",
    )
    health_host: str = Field(default="127.0.0.1", min_length=1, description="address of /livez and /readyz")
    health_port: int = Field(default=8080, ge=-1, le=65535, description="0: a free port; -1: none")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="least level logged")
    log_format: Literal["json", "console"] = Field(default="json", description="`console` is for people")
    archive_url: ArchiveUrl | None = Field(
        default=None,
        repr=False,
        description="where idle sessions are kept: file:///PATH, s3://BUCKET/PREFIX or any URL of fsspec",
    )
    archive_after: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_IDLE,
        allow_inf_nan=False,
        description="seconds without a write after which a session is archived; unset: none is",
    )
    worker_id: str = Field(
        default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}", min_length=1, description="names the process"
    )

    @field_validator("job_timeout")
    @classmethod
    def _longer_than_a_call(cls, value: float, info: ValidationInfo) -> float:
        call = info.data.get("summarizer_timeout", 0)
        if value <= call:
            raise ValueError(
                f"must be above OFFTURN_SUMMARIZER_TIMEOUT ({call:g}), or a call is cut off and paid again"
            )
        return value

    @field_validator("archive_after")
    @classmethod
    def _archived_somewhere(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and info.data.get("archive_url", "") is None:
            raise ValueError("set OFFTURN_ARCHIVE_URL too: where idle sessions are kept")
        return value


class HttpSettings(_Settings):
    """What the HTTP service reads."""

    timeout: Seconds = Field(default=2.0, description="deadline of one call to the store, seconds")
    http_host: str = Field(default="127.0.0.1", min_length=1, description="address of the HTTP service")
    http_port: int = Field(default=8700, ge=0, le=65535, description="0: a free port")
    http_body_bytes: int = Field(default=32 * 1024 * 1024, ge=1024, le=1024**3, description="largest body of a request")
    http_requests_per_minute: int | None = Field(
        default=6_000, ge=1, description="requests of one key in a minute, over all processes"
    )
    http_wrong_keys_per_minute: int = Field(
        default=60, ge=1, description="keys that are none, of one address in a minute, of each process"
    )
    http_proxies: Annotated[str, AfterValidator(_networks)] | None = Field(
        default=None, description="addresses and networks of proxies whose X-Forwarded-For is believed, with commas"
    )
    http_streams: int = Field(default=1_000, ge=1, description="event streams of one process at a time")
    http_streams_per_key: int = Field(default=250, ge=1, description="of them, those of one key")
    http_sessions: int = Field(default=500, ge=1, description="sessions whose log one process keeps at hand")
    http_login_seconds: int = Field(default=12 * 3600, ge=60, le=LONGEST, description="that a browser stays signed in")
    drain_seconds: float = Field(
        default=25.0, ge=0, le=LONGEST, allow_inf_nan=False, description="for running requests after SIGTERM"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="least level logged")
    log_format: Literal["json", "console"] = Field(default="json", description="`console` is for people")


S = TypeVar("S", bound=_Base)


def load_client_settings(**overrides: Any) -> ClientSettings:
    """The client's settings; an override (None: not given) wins over the environment. Raises InvalidSetting."""
    return _load(ClientSettings, overrides)


def load_worker_settings(**overrides: Any) -> WorkerSettings:
    """The worker's settings; an override (None: not given) wins over the environment. Raises InvalidSetting."""
    return _load(WorkerSettings, overrides)


def load_http_settings(**overrides: Any) -> HttpSettings:
    """The HTTP service's settings; an override (None: not given) wins over the environment. Raises InvalidSetting."""
    return _load(HttpSettings, overrides)


def load_trigger_settings() -> TriggerSettings:
    """What the environment says of triggers, and nothing else of it. Raises InvalidSetting."""
    return _load(TriggerSettings, {})


def unknown_variables() -> list[str]:
    """Set variables that start like ours and that nothing reads: typing errors, mostly. Sorted."""
    kinds = (ClientSettings, WorkerSettings, HttpSettings, TriggerSettings)
    fields = {"secrets_dir", *(name for kind in kinds for name in kind.model_fields if name != "otel_endpoint")}
    known = {f"{PREFIX}{field.upper()}" for field in fields}
    return sorted(name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known)


def _load(kind: type[S], overrides: Mapping[str, Any]) -> S:
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return kind(_secrets_dir=_secrets_dir(), **given)
    except ValidationError as error:
        problems = "; ".join(_problem(details) for details in error.errors(include_url=False, include_context=False))
        raise InvalidSetting(problems) from None


def _secrets_dir() -> Path | None:
    name = os.environ.get(f"{PREFIX}SECRETS_DIR")
    if not name:
        return None
    try:
        there = Path(name).is_dir()
    except OSError:  # no name of a file at all
        there = False
    if not there:
        raise InvalidSetting(f"{PREFIX}SECRETS_DIR = {name!r}: no such directory; create it or unset the variable")
    return Path(name)


def _problem(details: Mapping[str, Any]) -> str:
    name = str(details["loc"][0]) if details["loc"] else ""
    variable = name if name.isupper() else f"{PREFIX}{name.upper()}"
    remedy = str(details["msg"]).removeprefix("Value error, ")
    return f"{variable} = {_shown(name.lower(), details['input'])}: {remedy}"


def _shown(name: str, value: object) -> str:
    if "key" in name:
        return "***"
    return repr(redacted(str(value)) if "url" in name or "endpoint" in name else value)
