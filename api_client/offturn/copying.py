"""Copies of JSON values: what a host hands in or is handed is its own to change afterwards (cache markers, mostly)."""

from __future__ import annotations

from offturn_engine.messages import Json

LEVELS = 250  # of nesting; the formats refuse a message before that, so what lies deeper is not worth a RecursionError


def copied(value: Json, levels: int = LEVELS) -> Json:
    """The same JSON value, sharing no list and no object with the original; what is not JSON stays as it is."""
    if levels and isinstance(value, dict):
        return {key: copied(item, levels - 1) for key, item in value.items()}
    if levels and isinstance(value, list):
        return [copied(item, levels - 1) for item in value]
    return value
