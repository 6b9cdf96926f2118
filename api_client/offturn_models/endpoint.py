"""Where a model is reached, and with which key."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from ssl import SSLContext
from urllib.parse import urlsplit

from pydantic import SecretStr

from offturn_config.errors import InvalidSetting

CONNECT_SECONDS = 10.0  # to open a connection; a black hole is not worth the whole call's time


@cache
def trusted() -> SSLContext:
    """The certificates every client of this process trusts: reading them takes 40 ms, a third of a small job's CPU time."""
    import httpx2

    return httpx2.create_ssl_context()


class KeyMissing(InvalidSetting):
    """No key for a provider that needs one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A base URL and its key; neither shows in a repr. `own` says whether it is the provider's public address."""

    base_url: str = field(repr=False)
    key: SecretStr = field(repr=False)
    own: bool

    @property
    def fingerprint(self) -> str:
        """Tells one address and key from another, and neither to anybody."""
        return sha256(f"{self.base_url}\n{self.key.get_secret_value()}".encode()).hexdigest()[:8]


def endpoint(
    provider: str, model: str, *, base_url: str | None, default_url: str, key: str | SecretStr | None
) -> Endpoint:
    """The endpoint of one summarizer. Raises InvalidSetting naming the variable to set; never shows a key or a URL.

    A server at an address of your own may need no key; the provider's own always does.
    """
    secret = key.get_secret_value() if isinstance(key, SecretStr) else key or ""
    if find_spec(provider) is None:
        raise InvalidSetting(
            f"summarizer {provider}:{model} needs the package {provider}: in a clone of offturn, pip install '.[worker]'"
        )
    if base_url is None and not secret:
        raise KeyMissing(f"summarizer {provider}:{model} needs a key: set OFFTURN_{provider.upper()}_API_KEY")
    if not secret.isascii() or any(c.isspace() for c in secret):
        raise InvalidSetting(
            f"the key for {provider}:{model} holds white space or other characters no key has: "
            f"check OFFTURN_{provider.upper()}_API_KEY"
        )
    url = base_url if base_url is not None else default_url
    _check(url, f"{provider}:{model}", provider)
    return Endpoint(base_url=url.rstrip("/"), key=SecretStr(secret or "none"), own=base_url is None)


def _check(url: str, name: str, provider: str) -> None:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise InvalidSetting(f"the base URL of {name} must look like http://127.0.0.1:8080/v1")
    if parts.username or parts.password:
        raise InvalidSetting(
            f"the base URL of {name} holds credentials: put the key into OFFTURN_{provider.upper()}_API_KEY instead"
        )
