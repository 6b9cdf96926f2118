"""Two tenants: neither sees, guesses or affects the other's sessions, on any route and with any role."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from offturn_http.handlers import OPERATIONS
from offturn_http.operations import Operation
from tests.acceptance.command import SECONDS
from tests.http.conftest import Ask
from tests.http.serving import CHAT, says, user

ID = "chat/of:one"
PATH = "chat%2Fof%3Aone"
BODIES: dict[str, dict[str, Any]] = {
    "turn": {"after": "*", "messages": [user("from two")]},
    "mirror": {"messages": [user("from two")]},
    "overflow": {"error": {"status": 413}, "sent": "x"},
    "amend": {"ref": 0, "message": user("from two")},
    "fork": {"id": "copy"},
    "rollback": {"generation": 0},
    "redact": {"refs": [0], "reason": "from two"},
    "pin": {"ref": 0},
    "unpin": {"ref": 0},
}
QUERIES = {"explain": "?seq=0", "recall": "?handle=m0", "search": "?text=secret"}
OF_SESSIONS = [operation for operation in OPERATIONS if "{id}" in operation.path]


def _asked(client: httpx.Client, operation: Operation, path: str) -> httpx.Response:
    body = BODIES.get(operation.name, {}) if operation.body else None
    url = operation.path.format(id=path) + QUERIES.get(operation.name, "")
    return client.request(operation.method, url, json=body)


def _whole(client: httpx.Client) -> list[Any]:
    status = client.get(f"/v1/sessions/{PATH}").json()
    return [client.get(f"/v1/sessions/{PATH}/history").json(), status, client.get("/v1/sessions").json()]


@pytest.mark.parametrize("operation", OF_SESSIONS, ids=lambda operation: operation.name)
def test_a_session_of_another_tenant_is_as_one_that_is_nowhere(operation: Operation, ask: Ask, tenant: str) -> None:
    one, two = ask("operator"), ask("operator", f"{tenant}-two")
    told = one.post(f"/v1/sessions/{PATH}/turn", json={"messages": [user("my secret"), says("kept")], "session": CHAT})
    assert told.status_code == 200
    before = _whole(one)
    there, nowhere = _asked(two, operation, PATH), _asked(two, operation, "chat%2Fof%3Anone")
    assert there.status_code == nowhere.status_code
    assert there.status_code == (204 if operation.name == "purge" else 404)
    assert there.text.replace(ID, "ID") == nowhere.text.replace("chat/of:none", "ID")
    assert "secret" not in there.text
    assert _whole(one) == before
    assert two.get("/v1/sessions").json() == {"sessions": []}


def test_lists_hold_the_tenants_own(ask: Ask, tenant: str) -> None:
    one, two = ask("operator"), ask("operator", f"{tenant}-two")
    for client, name in ((one, "of-one"), (two, "of-two")):
        client.post(f"/v1/sessions/{name}/turn", json={"messages": [user(name)], "session": CHAT})
        client.post(f"/v1/sessions/{name}/request", json={})
    assert one.get("/v1/sessions").json() == {"sessions": ["of-one"]}
    assert [row["session"] for row in two.get("/v1/queue").json()["sessions"]] == ["of-two"]
    assert sum(two.get("/v1/queue").json()["totals"].values()) == 1
    assert tenant not in two.get("/v1/health").text + two.get("/metrics").text


def test_the_same_idempotency_key_of_two_tenants_is_two(ask: Ask, tenant: str) -> None:
    for client in (ask(), ask("host", f"{tenant}-two")):
        body = {"messages": [user("hello")], "session": CHAT}
        told = client.post("/v1/sessions/chat/turn", json=body, headers={"Idempotency-Key": "k"}).json()
        assert told["recorded"] == [0, 0]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_route_needs_a_key_and_its_role(operation: Operation, ask: Ask) -> None:
    reader = ask("reader")
    stranger = httpx.Client(base_url=reader.base_url, timeout=SECONDS, trust_env=False)
    with stranger:
        none = _asked(stranger, operation, PATH)
        assert none.status_code == 401
        assert none.headers["www-authenticate"] == "Bearer"
        stranger.headers["Authorization"] = f"{reader.headers['authorization'][:-1]}{'A'}"
        wrong = _asked(stranger, operation, PATH)
    assert wrong.status_code == 401 or reader.headers["authorization"].endswith("A")
    less = _asked(reader, operation, PATH)
    assert (less.status_code == 403) is (operation.role != "reader")
    if operation.role == "operator":
        assert _asked(ask("host"), operation, PATH).status_code == 403
