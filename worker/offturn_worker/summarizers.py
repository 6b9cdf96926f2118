"""From settings to a summarizer: `extractive`, or a route of models."""

from __future__ import annotations

import re

from offturn.summarizer import EXTRACTIVE, AnySummarizer
from offturn_config.errors import InvalidSetting
from offturn_config.settings import WorkerSettings
from offturn_models.remote import Endpoints
from offturn_models.route import parse_route


def endpoints(settings: WorkerSettings) -> Endpoints:
    """The providers' own compaction, for policies that ask for it."""
    return Endpoints(
        keys={"anthropic": settings.anthropic_api_key, "openai": settings.openai_api_key},
        base_urls={"anthropic": settings.anthropic_base_url, "openai": settings.openai_base_url},
        timeout=settings.summarizer_timeout,
    )


def build(settings: WorkerSettings) -> AnySummarizer:
    """Raises InvalidSetting for an unknown provider or a missing key; no request is made."""
    if settings.summarizer == "extractive":
        return EXTRACTIVE
    try:
        return parse_route(
            settings.summarizer,
            keys={"anthropic": settings.anthropic_api_key, "openai": settings.openai_api_key},
            base_urls={"anthropic": settings.anthropic_base_url, "openai": settings.openai_base_url},
            timeout=settings.summarizer_timeout,
            window=settings.summarizer_window,
        )
    except InvalidSetting as error:
        text = re.sub(r"^summarizer '", "OFFTURN_SUMMARIZER = '", str(error))
        raise InvalidSetting(f"{text}; or use extractive, which needs no model") from None
