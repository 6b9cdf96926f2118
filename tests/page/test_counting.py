"""Requests to the page are counted by view and status; nothing that was asked for is in a label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import httpx
import pytest

from tests.http.serving import served
from tests.page.conftest import LONG, Page, entered
from tests.page.stage import DEMO, SECRET


def _counted(page: Page) -> dict[tuple[str, str], float]:
    head = {"Authorization": f"Bearer {page.keys['operator']}"}
    text = httpx.get(f"{page.url}/metrics", headers=head, timeout=LONG, trust_env=False).text
    rows = re.findall(r'offturn_http_requests_total\{operation="([^"]*)",status="(\d+)"\} (\S+)', text)
    assert DEMO not in str(rows)
    assert SECRET not in str(rows)
    return {(operation, status): float(number) for operation, status, number in rows}


@pytest.fixture
def own(page: Page) -> Iterator[Page]:
    """A service that nobody else asks: what a browser that has gone away wanted of the other may be counted later."""
    with served(page.store) as running:
        yield replace(page, url=running.url)


@pytest.fixture
def reader(own: Page) -> Iterator[httpx.Client]:
    with closing(entered(own, "reader")) as client:
        yield client


def test_each_view_is_counted_by_its_address(own: Page, reader: httpx.Client) -> None:
    before = _counted(own)
    asked = {
        ("/session", "200"): ("/session", {"id": DEMO}),
        ("/session", "404"): ("/session", {"id": SECRET}),
        ("/session/text", "200"): ("/session/text", {"id": DEMO, "handle": "m1"}),
        ("/", "200"): ("/", {"q": SECRET}),
        ("/static", "200"): ("/static/page.js", {}),
        ("/static", "404"): (f"/static/{SECRET}", {}),
    }
    for path, query in asked.values():
        reader.get(path, params=query)
    with reader.stream("GET", "/live", params={"of": "sessions"}) as stream:
        next(stream.iter_lines())
    assert httpx.get(f"{own.url}/queue", timeout=LONG, trust_env=False).status_code == 303

    after = _counted(own)

    wanted = [*asked, ("/live", "200"), ("/queue", "303")]
    assert {one: after[one] - before.get(one, 0) for one in wanted} == dict.fromkeys(wanted, 1.0)
    reader.get(f"/{SECRET}")
    assert _counted(own).keys() <= {*after, ("metrics", "200")}
