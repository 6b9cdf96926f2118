"""`sentinel://` URLs: what is read of them, what is refused, and that no message shows a password."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_config.errors import InvalidSetting
from offturn_config.urls import parse_url, redacted


@pytest.mark.parametrize(
    ("url", "sentinels", "service", "db"),
    [
        ("sentinel://a/main", (("a", 26379),), "main", 0),
        ("sentinel://a:1,b,10.0.0.3:3/main/4", (("a", 1), ("b", 26379), ("10.0.0.3", 3)), "main", 4),
        ("sentinel://[::1]:7,[fe80::1]/my%2Fname/0", (("::1", 7), ("fe80::1", 26379)), "my/name", 0),
    ],
)
def test_hosts_service_and_database(url: str, sentinels: tuple[tuple[str, int], ...], service: str, db: int) -> None:
    address = parse_url(url)
    assert (address.scheme, address.sentinels, address.service, address.db) == ("sentinel", sentinels, service, db)
    assert (address.username, address.password) == (None, None)


@given(user=st.text(min_size=1), password=st.text(min_size=1))
def test_every_password_survives_percent_encoding(user: str, password: str) -> None:
    before = f"{quote(user, safe='', errors='replace')}:{quote(password, safe='', errors='replace')}"
    address = parse_url(f"sentinel://{before}@a,b:2/main/1")
    assert address.username == user.encode(errors="replace").decode()
    assert address.password == password.encode(errors="replace").decode()
    assert repr(address) == repr(parse_url("sentinel://a,b:2/main/1"))  # which shows neither
    assert str(address) == "sentinel://a:26379,b:2/main/1"


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("sentinel://", "name the sentinels and the service"),
        ("sentinel://a:1", "name the sentinels and the service"),
        ("sentinel:///main", "name the sentinels and the service"),
        ("sentinel://a:1,/main", "a sentinel's host is missing"),
        ("sentinel://a:x/main", "host or port cannot be read"),
        ("sentinel://a:1/main/x", "must be a number"),
        ("sentinel://a:1/main/0?x=1", "no option is read"),
        ("sentinel://u:p/w@a:1/main", "percent-encode"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_remedy(url: str, remedy: str) -> None:
    with pytest.raises(InvalidSetting, match=remedy) as caught:
        parse_url(url, "OFFTURN_QUEUE_URL")
    assert "OFFTURN_QUEUE_URL" in str(caught.value)


def test_messages_show_the_hosts_and_no_password() -> None:
    assert redacted("sentinel://u:hunter2@a:1,b:2/main/0") == "sentinel://***@a:1,b:2/main/0"
    assert "hunter2" not in redacted("sentinel://a:1,:hunter2/main")
    with pytest.raises(InvalidSetting) as caught:
        parse_url("sentinel://u:hunter2@a:1/main/x")
    assert "hunter2" not in str(caught.value)
    assert "a:1" in str(caught.value)
