"""What a client is told: problems, limits, views with ETags, and what else is asked for."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from offturn import errors
from offturn_config.errors import OffturnError
from offturn_http.handlers import OPERATIONS
from offturn_http.problems import OF_ERROR, problem_of
from tests.acceptance.command import SECONDS
from tests.http.conftest import Ask
from tests.http.serving import CHAT, answered, caller, made_key, says, served, user


def _kinds(root: type[OffturnError]) -> set[type[OffturnError]]:
    return {root, *(one for sub in root.__subclasses__() for one in _kinds(sub))}


def test_every_error_of_the_client_has_a_kind() -> None:
    public = {getattr(errors, name) for name in errors.__all__} & _kinds(OffturnError) - {OffturnError}
    assert public - OF_ERROR.keys() == set()
    names = [kind.name for kind in OF_ERROR.values()]
    assert len({kind.name for kind in OF_ERROR.values()}) == len(names) - 1  # InvalidSetting is the root's own


def test_an_error_that_nobody_knows_says_nothing() -> None:
    class New(OffturnError):
        """Of a later release."""

    told = problem_of(New("holds a secret"))
    assert (told.kind.status, told.detail) == (500, "")


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"{", 400, "malformed"),
        (b"\xff", 400, "malformed"),
        (b'{"messages": [NaN]}', 400, "malformed"),
        (b'{"messages": [1e999]}', 400, "malformed"),
        (b"[" * 5_000, 400, "malformed"),
        (b"[]", 422, "invalid-request"),
        (b'{"message": []}', 422, "invalid-request"),
        (b'{"messages": "hello"}', 422, "invalid-request"),
        (b'{"messages": [{"role": "nobody"}], "session": {"format": "openai-chat"}}', 422, "invalid-message"),
        (b'{"messages": [], "session": {"format": "x"}}', 422, "unknown-format"),
        (b'{"messages": [], "session": {"format": "openai-chat", "policy": "x"}}', 422, "unknown-policy"),
        (b'{"messages": [], "session": {"format": "openai-chat", "window": 5}}', 422, "invalid-policy"),
        (b'{"after": "1.2.x", "session": {"format": "openai-chat"}}', 422, "invalid-setting"),
        (b'{"messages": []}', 404, "no-session"),
    ],
)
def test_what_cannot_be_used_is_told_by_its_kind(body: bytes, status: int, kind: str, ask: Ask) -> None:
    told = ask().post("/v1/sessions/none/turn", content=body, headers={"Content-Type": "application/json"})
    assert (told.status_code, told.json()["type"]) == (status, f"urn:offturn:problem:{kind}")
    assert told.json()["status"] == status


def test_only_json_is_read(ask: Ask) -> None:
    host = ask()
    told = host.post("/v1/sessions/none/turn", content=b"{}", headers={"Content-Type": "text/plain"})
    assert (told.status_code, told.json()["type"]) == (415, "urn:offturn:problem:unsupported-media-type")


def test_a_wrong_field_is_named_and_not_quoted(ask: Ask) -> None:
    told = ask().post("/v1/sessions/none/turn", json={"messages": [], "after": {"my": "secret"}})
    assert told.json()["errors"][0]["field"] == "after"
    assert "secret" not in told.text


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        ({"message": []}, "message", "no such field: one of after, messages, "),
        ({"messages": [], "session": {**CHAT, "windows": 1}}, "session.windows", "no such field: /openapi.json "),
    ],
)
def test_a_field_that_is_not_there_comes_with_those_that_are(
    ask: Ask, body: dict[str, Any], field: str, problem: str
) -> None:
    (told,) = ask().post("/v1/sessions/none/turn", json=body).json()["errors"]
    assert told["field"] == field
    assert told["problem"].startswith(problem)


def test_a_message_comes_back_as_it_was_recorded(ask: Ask) -> None:
    host = ask()
    strange = {"role": "user", "content": "<b>\x00, \u202e, 🙂", "name": "n", "seed": 2**70, "p": 0.1}
    body = json.dumps({"messages": [strange], "session": CHAT}).encode()
    told = host.post("/v1/sessions/chat/turn", content=body, headers={"Content-Type": "application/json"})
    assert told.status_code == 200, told.text
    assert json.loads(told.text)["view"]["tail"] == [strange]
    assert json.loads(host.get("/v1/sessions/chat/history").text)["messages"][0]["message"] == strange


def test_a_message_that_no_provider_would_take_is_named(ask: Ask) -> None:
    body = json.dumps({"messages": [user("fine"), user("half an emoji \ud83d")], "session": CHAT}).encode()
    told = ask().post("/v1/sessions/chat/turn", content=body, headers={"Content-Type": "application/json"})
    assert (told.status_code, told.json()["index"], told.json()["field"]) == (422, 1, "content")


def test_an_unchanged_view_is_not_sent_again(ask: Ask) -> None:
    host, reader = ask(), ask("reader")
    told = host.post("/v1/sessions/chat/turn", json={"messages": [user("hello")], "session": CHAT}).json()
    for client in (host, reader):
        first = client.get("/v1/sessions/chat/view")
        again = client.get("/v1/sessions/chat/view", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        other = client.get("/v1/sessions/chat/view?tail=false", headers={"If-None-Match": first.headers["etag"]})
        assert other.status_code == 200
    host.post("/v1/sessions/chat/turn", json={"after": told["cursor"], "messages": [says("hi")]})
    new = host.get("/v1/sessions/chat/view", headers={"If-None-Match": first.headers["etag"]})
    assert (new.status_code, len(new.json()["view"]["tail"])) == (200, 2)


def test_the_request_is_what_the_provider_takes(ask: Ask) -> None:
    given = {
        "messages": [user("hello")],
        "session": {"format": "anthropic"},
        "want": {"system": "Be kind.", "request": True},
    }
    view = ask().post("/v1/sessions/chat/turn", json=given).json()["view"]
    assert view["method"] == "messages.create"
    assert view["request"] == {"messages": [user("hello")], "system": "Be kind."}


def test_methods_and_addresses_that_are_none(ask: Ask) -> None:
    host = ask()
    other = host.put("/v1/sessions/chat")
    assert (other.status_code, other.headers["allow"]) == (405, "DELETE, GET, HEAD")
    assert other.json()["type"] == "urn:offturn:problem:method-not-allowed"
    none = host.get("/v1/none")
    assert (none.status_code, none.json()["type"]) == (404, "urn:offturn:problem:not-found")
    assert host.get("/v1/sessions/%ff").status_code == 422
    assert host.get("/v1/sessions/" + "x" * 257).status_code == 422


def test_no_other_site_is_let_in(ask: Ask) -> None:
    told = ask().get("/v1/policies", headers={"Origin": "https://elsewhere.example"})
    assert [name for name in told.headers if name.startswith("access-control")] == []


def test_a_service_has_limits(valkey_url: str, tenant: str) -> None:
    given = {"OFFTURN_HTTP_BODY_BYTES": "2000", "OFFTURN_HTTP_REQUESTS_PER_MINUTE": "5"}
    with served(valkey_url, given) as small:
        host, other = (caller(small.url, asyncio.run(made_key(valkey_url, tenant, "host"))) for _ in range(2))
        with host, other:
            began = time.monotonic()
            body = json.dumps({"messages": [user("x" * 3000)], "session": CHAT}).encode()
            head = {"Content-Type": "application/json"}
            told = host.post("/v1/sessions/chat/turn", content=body, headers=head)
            assert (told.status_code, told.json()["limit"]) == (413, 2000)
            chunked = host.post("/v1/sessions/chat/turn", content=iter([body[:1500], body[1500:]]), headers=head)
            assert chunked.status_code == 413
            let = 0
            while (more := host.get("/v1/policies")).status_code == 200:
                let += 1
            assert more.status_code == 429
            assert int(more.headers["retry-after"]) >= 1
            again = int(5 * (time.monotonic() - began) / 60)  # the bucket fills as time goes by
            assert 3 <= let <= 3 + again
            assert other.get("/v1/policies").status_code == 200


def test_what_is_logged_names_no_content(valkey_url: str, tenant: str) -> None:
    with served(valkey_url, {"OFFTURN_LOG_LEVEL": "debug"}) as running:
        key = asyncio.run(made_key(valkey_url, tenant, "host"))
        with caller(running.url, key) as host:
            body: dict[str, Any] = {"messages": [user("my secret words")], "session": CHAT}
            host.post("/v1/sessions/chat/turn", json=body)
            host.post("/v1/sessions/chat/turn", json={**body, "after": "my secret words"})
            host.get("/v1/sessions/chat/search?text=secret words")
        code, errors_ = running.stop()
    assert code == 0
    assert "secret" not in errors_
    assert key not in errors_
    assert "stopped" in errors_


def test_probes_need_no_key(service: Any) -> None:
    with httpx.Client(base_url=service.url, timeout=SECONDS, trust_env=False) as stranger:
        assert [stranger.get(path).status_code for path in ("/livez", "/openapi.json")] == [200, 200]
        answered(stranger, "/readyz")
        assert stranger.get("/openapi.json").json()["openapi"] == "3.1.0"


def test_every_operation_is_in_the_document(service: Any) -> None:
    with httpx.Client(base_url=service.url, timeout=SECONDS, trust_env=False) as stranger:
        paths = stranger.get("/openapi.json").json()["paths"]
    told = {op["operationId"]: op for methods in paths.values() for op in methods.values()}
    assert told.keys() == {operation.name for operation in OPERATIONS}


@pytest.mark.parametrize("text", ["2\t", " 2", "+2", "1_0", "2.0", "02", "-0.0", "1e1", "٣", "true", "", "9" * 5_000])
def test_numbers_of_a_query_are_those_of_json(text: str, ask: Ask) -> None:
    told = ask().get("/v1/sessions", params={"limit": text})
    assert (told.status_code, told.json()["errors"][0]["field"]) == (422, "limit")


@pytest.mark.parametrize(("text", "status"), [("true", 200), ("false", 200), ("1", 422), ("yes", 422), ("True", 422)])
def test_flags_of_a_query_are_those_of_json(text: str, status: int, ask: Ask) -> None:
    host = ask()
    host.post("/v1/sessions/chat/turn", json={"messages": [user("hello")], "session": CHAT})
    assert host.get("/v1/sessions/chat/view", params={"tail": text}).status_code == status
