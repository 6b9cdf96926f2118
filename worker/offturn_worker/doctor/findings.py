"""What the doctor can find: each finding's name, how bad it is, and the command that helps. docs/doctor.md explains them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line. `name` is stable, for programs; `facts` holds no content and no secret; `remedy` is a command or ""."""

    name: str
    level: Level
    facts: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A remedy's `{cli}` is redis-cli with its server, `{store}` the option that names the store where one was given."""

    level: Level
    remedy: str = ""


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "settings": Kind("ok"),
        "settings-invalid": Kind("fail", "unset {variable}"),
        "settings-unknown": Kind("warn", "unset {variables}"),
        "store": Kind("ok"),
        "store-absent": Kind("fail", "offturn local --data {path}"),
        "store-unreachable": Kind("fail", "export OFFTURN_STORE_URL=redis://HOST:6379/0"),
        "store-silent": Kind("fail", "{cli} PING"),
        "store-refused": Kind("fail", "export OFFTURN_STORE_URL=redis://USER:PASSWORD@HOST:6379/0"),
        "store-unready": Kind("fail", "{cli} INFO persistence"),
        "store-old": Kind("fail", "docker pull valkey/valkey:8"),
        "store-untold": Kind("warn", "{cli} INFO server"),
        "role": Kind("ok"),
        "role-replica": Kind("fail", "export OFFTURN_STORE_URL=redis://{primary}/{db}"),
        "append-only": Kind("ok"),
        "append-only-off": Kind("fail", "{cli} CONFIG SET appendonly yes"),
        "append-only-failing": Kind("fail", "{cli} INFO persistence"),
        "append-only-lazy": Kind("warn", "{cli} CONFIG SET appendfsync everysec"),
        "append-only-untold": Kind("warn", "{cli} CONFIG GET append*"),
        "eviction": Kind("ok"),
        "eviction-on": Kind("fail", "{cli} CONFIG SET maxmemory-policy noeviction"),
        "eviction-untold": Kind("warn", "{cli} CONFIG GET maxmemory-policy"),
        "headroom": Kind("ok"),
        "headroom-low": Kind("warn", "{cli} CONFIG SET maxmemory {bytes}"),
        "headroom-none": Kind("fail", "{cli} CONFIG SET maxmemory {bytes}"),
        "clock": Kind("ok"),
        "clock-skew": Kind("warn", "sudo timedatectl set-ntp true"),
        "clock-wrong": Kind("fail", "sudo timedatectl set-ntp true"),
        "queue": Kind("ok"),
        "queue-absent": Kind("fail", "offturn local --data {path}"),
        "queue-unreachable": Kind("fail", "export OFFTURN_QUEUE_URL=redis://HOST:6379/0"),
        "queue-silent": Kind("fail", "{cli} PING"),
        "queue-refused": Kind("fail", "export OFFTURN_QUEUE_URL=redis://USER:PASSWORD@HOST:6379/0"),
        "queue-unready": Kind("fail", "{cli} INFO persistence"),
        "queue-old": Kind("fail", "docker pull valkey/valkey:8"),
        "queue-untold": Kind("warn", "{cli} INFO server"),
        "queue-cluster": Kind("fail", "export OFFTURN_QUEUE_URL=redis://HOST:6379/0"),
        "queue-replica": Kind("fail", "export OFFTURN_QUEUE_URL=redis://{primary}/{db}"),
        "queue-evicts": Kind("fail", "{cli} CONFIG SET maxmemory-policy noeviction"),
        "queue-long": Kind("warn", "offturn worker{store}"),
        "workers": Kind("ok"),
        "workers-none": Kind("fail", "offturn worker{store}"),
        "workers-idle": Kind("warn", "offturn worker{store}"),
        "workers-gone": Kind("warn", "offturn worker{store}"),
        "worker-version": Kind("warn", "pip install '.[worker]'  # in a clone of offturn {version}"),
        "worker-policies": Kind("warn", "pip install '.[worker]'  # in a clone of offturn {version}"),
        "worker-queue-name": Kind("fail", "pip install '.[worker]'  # in a clone of offturn {version}"),
        "worker-queue-server": Kind("fail", "export OFFTURN_QUEUE_URL={queue}"),
        "paused": Kind("ok"),
        "paused-some": Kind("warn", "offturn resume{tenant}{store}"),
        "archived": Kind("ok"),
        "archived-unset": Kind("warn", "export OFFTURN_ARCHIVE_URL=s3://BUCKET/PREFIX"),
        "archived-troubled": Kind("fail", "offturn session restore {session}{tenant}{store}"),
        "due": Kind("ok"),
        "due-late": Kind("warn", "offturn session events {session}{tenant}{store}"),
        "due-stuck": Kind("fail", "offturn session events {session}{tenant}{store}"),
        "parked": Kind("ok"),
        "parked-some": Kind("warn", "offturn session unblock {session}{tenant}{store}"),
        "breakers": Kind("ok"),
        "breakers-open": Kind("warn", "offturn doctor{store}"),
        "breakers-repair": Kind("fail", "kubectl exec deploy/offturn-worker -- offturn doctor"),
        "summarizer": Kind("ok"),
        "summarizer-own-model": Kind("warn", "export OFFTURN_SUMMARIZER={provider}"),
        "route": Kind("ok"),
        "route-invalid": Kind("fail", "export OFFTURN_SUMMARIZER=extractive"),
        "route-key-missing": Kind("fail", "export OFFTURN_{PROVIDER}_API_KEY=KEY"),
        "route-key-refused": Kind("fail", "export OFFTURN_{PROVIDER}_API_KEY=KEY"),
        "route-model-unknown": Kind("fail", "export OFFTURN_SUMMARIZER={provider}:MODEL"),
        "route-model-retired": Kind("fail", "export OFFTURN_SUMMARIZER={provider}:MODEL"),
        "route-model-deprecated": Kind("warn", "export OFFTURN_SUMMARIZER={provider}:MODEL"),
        "route-unreachable": Kind("fail", "curl -sS -o /dev/null {address}"),
        "route-silent": Kind("fail", "curl -sS -o /dev/null {address}"),
        "route-quota": Kind("fail", "export OFFTURN_SUMMARIZER=extractive"),
        "route-busy": Kind("warn", "offturn doctor{store}"),
        "route-unlisted": Kind("warn", "curl -sS {address}/models"),
        "route-untold": Kind("warn", "offturn compact FILE --summarizer {name}"),
        "route-window": Kind("warn", "export OFFTURN_SUMMARIZER_WINDOW={window}"),
    }
)
"""Every finding, in the order they are told. What differs with the level has a name of its own."""

_PLACE = {name: number for number, name in enumerate(KINDS)}


def finding(kind: str, facts: str, **values: object) -> Finding:
    """A finding of this kind; `values` fill in its remedy."""
    known = KINDS[kind]
    return Finding(name=kind, level=known.level, facts=_plain(facts), remedy=_plain(known.remedy.format(**values)))


def in_order(findings: list[Finding]) -> list[Finding]:
    """As they are told."""
    return sorted(findings, key=lambda one: _PLACE[one.name])


def _plain(text: str) -> str:
    """On one line, and nothing a terminal would act on: names of workers and sessions come from elsewhere."""
    return "".join(c if c.isprintable() else "?" for c in text)
