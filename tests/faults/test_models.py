"""From any exception to a typed error: raw transport errors, headers, and what none of them may carry on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.provider_errors import Kind
from offturn_models.failure import failure, retry_after

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
REQUEST = httpx2.Request("POST", "http://host/v1")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=90), usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_when_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOW.timestamp()) == seconds


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_header_breaks_it(one: str, other: str) -> None:
    waits = retry_after({"retry-after": one, "retry-after-ms": other}, now=NOW.timestamp())
    assert waits is None or waits >= 0


def _wrapped(cause: Exception) -> Exception:
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind", "raised"),
    [
        (httpx2.RemoteProtocolError("peer closed"), "dropped", "RemoteProtocolError"),
        (httpx2.ReadError("reset"), "dropped", "ReadError"),
        (httpx2.ReadTimeout("slow"), "timeout", "ReadTimeout"),
        (httpx2.ConnectTimeout("black hole"), "unavailable", "ConnectTimeout"),
        (_wrapped(httpx2.ConnectError("refused")), "unavailable", "ConnectError"),
        (_wrapped(httpx2.RemoteProtocolError("peer closed")), "dropped", "RemoteProtocolError"),
        (openai.APITimeoutError(request=REQUEST), "timeout", "APITimeoutError"),
        (ConnectionResetError(), "dropped", "ConnectionResetError"),
        (TimeoutError(), "timeout", "TimeoutError"),
        (ValueError("Expecting value: xylophone"), "garbled", "ValueError"),
        (TypeError("unexpected keyword xylophone"), "unknown", "TypeError"),
    ],
)
def test_what_broke(error: Exception, kind: Kind, raised: str) -> None:
    found = failure(error, model="openai:m")
    assert (found.kind, found.raised) == (kind, raised)
    assert str(found).startswith(f"openai:m: {kind} ({raised})")
    assert "xylophone" not in str(found) + repr(found) + repr(vars(found))


def test_a_request_id_from_outside_is_clipped() -> None:
    response = httpx2.Response(500, headers={"x-request-id": "r" * 5_000}, request=REQUEST)
    found = failure(openai.InternalServerError("boom", response=response, body=None), model="m")
    assert found.request_id == "r" * 100
