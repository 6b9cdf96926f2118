"""Would each entry of the route answer? Asked without a call that is billed."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator

from offturn_config.errors import InvalidSetting
from offturn_config.settings import WorkerSettings
from offturn_models.endpoint import KeyMissing
from offturn_models.model import Model
from offturn_models.probe import Probed, probe
from offturn_worker.doctor.findings import Finding, finding
from offturn_worker.summarizers import entries

SECONDS = 5.0
KINDS = {
    "auth": ("route-key-refused", "the key is refused"),
    "not_found": ("route-model-unknown", "the provider has no such model"),
    "quota": ("route-quota", "the budget is spent"),
    "timeout": ("route-silent", f"no answer within {SECONDS:g} s"),
    "unavailable": ("route-unreachable", "no answer"),
    "dropped": ("route-unreachable", "the connection broke off"),
    "rate_limited": ("route-busy", "too many requests at the moment"),
    "overloaded": ("route-busy", "overloaded at the moment"),
    "unlisted": ("route-unlisted", "the server lists models, and this is none of them"),
    "cannot_tell": ("route-untold", "the server has no list of models: only a paid call would tell"),
}
UNKNOWN = ("route-untold", "an answer that says nothing of the model: only a paid call would tell")


async def routes(settings: WorkerSettings, store_option: str) -> list[Finding]:
    """One finding per entry, all asked at once."""
    if settings.summarizer == "extractive":
        return [finding("summarizer", "extractive: no model is asked, no key is needed")]
    made = list(entries(settings))
    if not made:
        return [finding("route-invalid", "OFFTURN_SUMMARIZER names no model")]

    async def one(name: str, model: Model | InvalidSetting) -> list[Finding]:
        if isinstance(model, InvalidSetting):
            return [_unusable(name, model)]
        return list(_judged(model, await probe(model, seconds=SECONDS), store_option))

    return [found for each in await asyncio.gather(*(one(*entry) for entry in made)) for found in each]


def _unusable(name: str, error: InvalidSetting) -> Finding:
    provider = name.partition(":")[0]
    if isinstance(error, KeyMissing):
        return finding("route-key-missing", f"{name}: no key is set", PROVIDER=provider.upper())
    return finding("route-invalid", str(error))


def _judged(model: Model, said: Probed, store_option: str) -> Iterator[Finding]:
    if said.said != "found":
        kind, words = KINDS.get(said.said, UNKNOWN)
        if said.said == "unavailable" and said.status is not None:
            kind = "route-busy"
        status = f" (status {said.status})" if said.status is not None else ""
        yield finding(kind, f"{model.model}: {words}{status}", **_values(model, store_option))
    elif said.lifecycle != "active":
        kind = f"route-model-{said.lifecycle}"
        yield finding(kind, f"{model.model} is {said.lifecycle}", **_values(model, store_option))
    elif said.window is not None and said.window < model.window:
        facts = (
            f"{model.model} reads {said.window:,} tokens, and {model.window:,} are assumed: requests come back too long"
        )
        yield finding("route-window", facts, window=said.window)
    else:
        window = f"window {said.window:,}" if said.window else f"window assumed {model.window:,}"
        yield finding("route", f"{model.model}: key and model are accepted, {window}")


def _values(model: Model, store_option: str) -> dict[str, str]:
    return {
        "provider": model.provider,
        "PROVIDER": model.provider.upper(),
        "name": shlex.quote(model.model),
        "address": shlex.quote(model.address),
        "store": store_option,
    }
