"""What one service may take and give; `offturn_config.settings.HttpSettings` reads it from the environment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """body_bytes: of one request; requests_per_minute: of one key, 0: no limit; wrong_keys_per_minute: of one
    address; streams: event streams at a time; streams_per_key: of one key; handles: sessions whose log is kept at hand; login_seconds: that a browser stays signed in.
    """

    body_bytes: int = 32 * 1024 * 1024
    requests_per_minute: int = 0
    wrong_keys_per_minute: int = 60
    streams: int = 1_000
    streams_per_key: int = 250
    handles: int = 500
    login_seconds: int = 12 * 3600
