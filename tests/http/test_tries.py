"""Who tries keys meets a limit by address; who has a right one does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from offturn.links import Connector
from offturn_config.errors import InvalidSetting
from offturn_config.settings import load_http_settings
from offturn_http import tries
from offturn_http.app import application
from offturn_http.keys import StoredKeys
from offturn_http.problems import Problem
from offturn_http.settings import Limits
from offturn_http.tries import Tries
from tests.acceptance.command import SECONDS
from tests.conftest import TIMEOUT
from tests.http.serving import served

KIND = "urn:offturn:problem:too-many-wrong-keys"
WRONG = f"offturn_{'0' * 12}_{'A' * 43}"


@dataclass
class Clock:
    now: float = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(tries, "time", made)
    return made


def _wrong(of: Tries, address: str, times: int) -> int:
    """How many of so many wrong ones were looked up."""
    for count in range(times):
        try:
            with of.entered(address, f"wrong {count}") as none:
                none()
        except Problem:
            return count
    return times


def test_an_address_may_be_wrong_so_often_in_a_minute(clock: Clock) -> None:
    of = Tries(3)
    assert _wrong(of, "192.0.2.1", 9) == 3
    assert _wrong(of, "192.0.2.2", 2) == 2
    clock.now += 20
    with pytest.raises(Problem) as told, of.entered("192.0.2.1", "right"):
        pass
    assert told.value.headers == {"Retry-After": "40"}
    clock.now += 40
    assert _wrong(of, "192.0.2.1", 9) == 3


def test_what_is_right_or_cannot_be_looked_up_does_not_count(clock: Clock) -> None:
    of = Tries(1)
    for _ in range(5):
        with of.entered("192.0.2.1", "right"):
            pass
    with pytest.raises(OSError, match="away"), of.entered("192.0.2.1", "right"):
        raise OSError("away")
    assert _wrong(of, "192.0.2.1", 9) == 1


def test_those_that_are_being_looked_up_count_for_as_long(clock: Clock) -> None:
    of = Tries(1)
    with of.entered("192.0.2.1", "one"), pytest.raises(Problem) as told, of.entered("192.0.2.1", "other"):
        pass
    assert told.value.headers == {"Retry-After": "1"}
    assert _wrong(of, "192.0.2.1", 9) == 1


def test_many_requests_with_one_key_are_one_try(clock: Clock) -> None:
    """A host sends them when a process begins, which has found no key right before."""
    of = Tries(2)
    with ExitStack() as running:
        for _ in range(9):
            running.enter_context(of.entered("192.0.2.1", "right"))
        with of.entered("192.0.2.1", "other"), pytest.raises(Problem), of.entered("192.0.2.1", "third"):
            pass
    assert _wrong(of, "192.0.2.1", 9) == 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("", "192.0.2.1", False),
        ("unknown" * 100, "unknown" * 200, True),
    ],
)
def test_whose_address_it_is(one: str, other: str, same: bool, clock: Clock) -> None:
    of = Tries(1)
    assert _wrong(of, one, 1) == 1
    assert _wrong(of, other, 1) == (0 if same else 1)


def test_so_many_addresses_are_remembered(clock: Clock) -> None:
    of = Tries(1)
    for number in range(tries.REMEMBERED + 50):
        _wrong(of, f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 1)
    assert len(of._of) == tries.REMEMBERED
    assert _wrong(of, "10.0.0.0", 1) == 1


@pytest.fixture
async def asked(redis: Redis, valkey_url: str) -> Any:
    """`asked(address, key)`: clients of one service with a limit of three."""
    connector = Connector(valkey_url, None, TIMEOUT, on_outage="raise")
    keys = StoredKeys(connector.links)
    app = application(connector, keys, Limits(wrong_keys_per_minute=3))
    app.state.keys = keys
    opened: list[httpx.AsyncClient] = []

    def make(address: str, **headers: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app=app, client=(address, 1))
        opened.append(httpx.AsyncClient(transport=transport, base_url="http://here", headers=headers))
        return opened[-1]

    make.keys = keys  # type: ignore[attr-defined]
    yield make
    for one in opened:
        await one.aclose()
    await connector.close()


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def test_keys_cookies_and_the_sign_in_count_together(asked: Any) -> None:
    host = asked("192.0.2.1", Origin="http://here")
    codes = [
        (await host.get("/v1/sessions", headers=_bearer(WRONG))).status_code,
        (await host.get("/v1/sessions", headers={"Cookie": "offturn=x"})).status_code,
        (await host.post("/login", data={"key": WRONG})).status_code,
    ]
    assert codes == [401, 401, 401]
    told = await host.get("/v1/sessions", headers=_bearer(WRONG))
    assert (told.status_code, told.json()["type"]) == (429, KIND)
    assert 0 < int(told.headers["retry-after"]) <= 60
    assert (await host.get("/", headers={"Cookie": "offturn=x"})).status_code == 429
    page = await host.post("/login", data={"key": WRONG})
    assert (page.status_code, "too many keys" in page.text) == (429, True)
    assert (await host.get("/v1/sessions")).status_code == 401  # without a key nothing is tried
    assert (await host.get("/login")).status_code == 200


async def test_a_right_key_works_from_elsewhere_and_where_it_worked_before(asked: Any) -> None:
    key, facts = await asked.keys.add("acme", "reader")
    new, _ = await asked.keys.add("acme", "reader")
    host, elsewhere = asked("192.0.2.1"), asked("192.0.2.2")
    assert (await host.get("/v1/sessions", headers=_bearer(key))).status_code == 200
    for _ in range(5):
        last = await host.get("/v1/sessions", headers=_bearer(WRONG))
    assert last.status_code == 429
    assert (await host.get("/v1/sessions", headers=_bearer(key))).status_code == 200
    assert (await host.get("/v1/sessions", headers=_bearer(new))).status_code == 429
    assert (await elsewhere.get("/v1/sessions", headers=_bearer(new))).status_code == 200
    assert (await host.get("/v1/sessions", headers=_bearer(new))).status_code == 200
    await asked.keys.remove(facts.id)
    asked.keys._known.clear()
    assert (await host.get("/v1/sessions", headers=_bearer(key))).status_code == 429


async def test_refusals_of_a_role_and_of_other_sites_count_for_the_key(asked: Any, redis: Redis) -> None:
    key, _ = await asked.keys.add("acme", "reader")
    host = asked("192.0.2.1", **_bearer(key))
    service = host._transport.app.state.service
    counted = list[str]()

    async def enter(name: str) -> None:
        counted.append(name)

    service.rate = type("Counted", (), {"enter": staticmethod(enter)})()
    assert [(await host.get(path)).status_code for path in ("/metrics", "/metrics")] == [403, 403]
    token = await asked.keys.sign_in(key, 60)
    head = {"Cookie": f"offturn={token}", "Sec-Fetch-Site": "cross-site"}
    browser = asked("192.0.2.1", **head)
    assert (await browser.post("/v1/queue/x/drop")).status_code == 403
    assert len(counted) == 3


@pytest.fixture(scope="module")
def behind(valkey_url: str) -> Iterator[str]:
    """A service behind a proxy on this machine."""
    variables = {"OFFTURN_HTTP_WRONG_KEYS_PER_MINUTE": "2", "OFFTURN_HTTP_PROXIES": "127.0.0.0/8"}
    with served(valkey_url, variables) as running:
        yield running.url


def test_behind_a_proxy_that_is_named_its_clients_count(behind: str) -> None:
    def codes(address: str) -> list[int]:
        head = {**_bearer(WRONG), "X-Forwarded-For": address}
        return [
            httpx.get(f"{behind}/v1/sessions", headers=head, timeout=SECONDS, trust_env=False).status_code
            for _ in range(3)
        ]

    assert codes("192.0.2.1") == [401, 401, 429]
    assert codes("198.51.100.9, 192.0.2.1") == [429, 429, 429]  # what a client claims before its proxy adds the truth
    assert codes("192.0.2.2") == [401, 401, 429]


def test_nobody_else_is_believed(valkey_url: str) -> None:
    with served(valkey_url, {"OFFTURN_HTTP_WRONG_KEYS_PER_MINUTE": "2"}) as running:
        heads = [{**_bearer(WRONG), "X-Forwarded-For": f"192.0.2.{n}"} for n in range(3)]
        codes = [
            httpx.get(f"{running.url}/v1/sessions", headers=head, timeout=SECONDS, trust_env=False).status_code
            for head in heads
        ]
    assert codes == [401, 401, 429]


@pytest.mark.parametrize("value", ["my-proxy", "10.0.0.1/8", "10.0.0.0/8,", "*"])
def test_what_is_no_address_or_network_is_no_proxy(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFTURN_HTTP_PROXIES", value)
    with pytest.raises(InvalidSetting, match="OFFTURN_HTTP_PROXIES"):
        load_http_settings()
