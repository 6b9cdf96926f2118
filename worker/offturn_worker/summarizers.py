"""From settings to a summarizer: `extractive`, or a route of models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import structlog

from offturn.summarizer import EXTRACTIVE, AnySummarizer
from offturn_config.errors import InvalidSetting
from offturn_config.settings import WorkerSettings
from offturn_models.endpoint import KeyMissing
from offturn_models.model import Model
from offturn_models.remote import Endpoints
from offturn_models.route import Route, names_of, parse_entry, parse_route

log = structlog.get_logger(__name__)


def endpoints(settings: WorkerSettings) -> Endpoints:
    """The providers' own compaction, for policies that ask for it."""
    return Endpoints(**_access(settings))


def build(settings: WorkerSettings) -> AnySummarizer:
    """Raises InvalidSetting for an unknown provider or a missing key; no request is made."""
    if settings.summarizer == "extractive":
        return EXTRACTIVE
    try:
        return parse_route(settings.summarizer, **_arguments(settings))
    except InvalidSetting as error:
        raise _named(error) from None


def build_for_worker(settings: WorkerSettings) -> AnySummarizer:
    """As `build`, but an entry without a key is left out with a warning while another has one: a worker must not stay
    away because a spare is not ready.
    """
    if settings.summarizer == "extractive":
        return EXTRACTIVE
    made = list(entries(settings))
    ready = [model for _, model in made if isinstance(model, Model)]
    broken = [error for _, error in made if isinstance(error, InvalidSetting) and not isinstance(error, KeyMissing)]
    if broken or not ready:
        return build(settings)
    for name, model in made:
        if isinstance(model, KeyMissing):
            log.warning("summarizer_without_key", summarizer=name, remedy=str(model).partition(": ")[2])
    return Route(ready)


def load(summarizer: AnySummarizer) -> None:
    """Load the SDK of the model that is asked first, in a thread, so that the first job does not wait for it. Never raises:
    the call itself meets what is wrong, and tells it.
    """
    first = summarizer.entries[0] if isinstance(summarizer, Route) else summarizer
    if not isinstance(first, Model):
        return
    try:
        first.load()
    except Exception as error:  # noqa: BLE001 - whatever a package does while it is imported
        log.warning("summarizer_not_loaded", summarizer=first.model, error=type(error).__name__)


def entries(settings: WorkerSettings) -> Iterator[tuple[str, Model | InvalidSetting]]:
    """Each entry of the route with its name to show, or what is wrong with it. Nothing for a setting that names none."""
    for name in names_of(settings.summarizer):
        shown = name.partition("@")[0]
        try:
            yield shown, parse_entry(name, **_arguments(settings))
        except InvalidSetting as error:
            yield shown, error if isinstance(error, KeyMissing) else _named(error)


def _arguments(settings: WorkerSettings) -> dict[str, Any]:
    return {**_access(settings), "window": settings.summarizer_window}


def _access(settings: WorkerSettings) -> dict[str, Any]:
    return {
        "keys": {"anthropic": settings.anthropic_api_key, "openai": settings.openai_api_key},
        "base_urls": {"anthropic": settings.anthropic_base_url, "openai": settings.openai_base_url},
        "timeout": settings.summarizer_timeout,
    }


def _named(error: InvalidSetting) -> InvalidSetting:
    text = re.sub(r"^summarizer '", "OFFTURN_SUMMARIZER = '", str(error))
    return InvalidSetting(f"{text}; or use extractive, which needs no model")
