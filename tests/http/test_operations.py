"""Every operation does over HTTP what the client does, and a repeat with the same Idempotency-Key does it once."""

from __future__ import annotations

from typing import Any

import pytest

from offturn import CompactionClient, Session
from tests.http.conftest import Ask, Do
from tests.http.serving import CHAT, says, user

LONG = [user("begin"), *(says(f"step {i} " + "I read a file of the parser. " * 150) for i in range(8)), user("go on")]


def _begun(host: Any, messages: list[dict[str, Any]]) -> dict[str, Any]:
    told = host.post("/v1/sessions/chat/turn", json={"messages": messages, "session": CHAT})
    assert told.status_code == 200, told.text
    found: dict[str, Any] = told.json()
    return found


def _compacted(host: Any, do: Do) -> dict[str, Any]:
    _begun(host, LONG)
    host.post("/v1/sessions/chat/request", json={"focus": "the parser"})
    do(lambda client, _: client.run_due())
    found: dict[str, Any] = host.get("/v1/sessions/chat/view").json()["view"]
    assert found["kind"] == "compacted"
    return found


@pytest.mark.parametrize("name", ["phase", "request"])
def test_a_compaction_is_asked_for_once(name: str, ask: Ask, do: Do) -> None:
    host = ask("operator")
    _begun(host, LONG)
    first, again = (host.post(f"/v1/sessions/chat/{name}", json={}, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["request"] >= 1
    assert again.json()["request"] is None
    rows = host.get("/v1/queue").json()
    assert (rows["totals"]["due"], rows["sessions"][0]["session"]) == (1, "chat")
    assert host.post("/v1/sessions/chat/cancel").json() == {"done": True}
    assert host.post("/v1/sessions/chat/unblock").json() == {"done": True}
    host.post(f"/v1/sessions/chat/{name}", json={})
    assert "off due" in host.post("/v1/queue/chat/drop").json()["now"]
    assert host.get("/v1/queue").json()["totals"]["due"] == 0
    assert host.post("/v1/queue/chat/replay").status_code == 200


def test_a_session_is_set_anew(ask: Ask) -> None:
    host = ask()
    _begun(host, LONG)
    given = {"window": 32_000, "policy": "hermes", "adopt": "turn"}
    assert host.post("/v1/sessions/chat/configure", json=given).status_code == 200
    status = host.get("/v1/sessions/chat").json()
    assert (status["window"], status["policy"], status["adopt"]) == (32_000, "hermes", "turn")


def test_rewinds_and_amends_happen_once(ask: Ask) -> None:
    host = ask()
    _begun(host, [user("one"), says("two"), user("three"), says("four"), user("five")])
    for _ in range(2):
        told = host.post("/v1/sessions/chat/rewind", json={"turns": 1}, headers={"Idempotency-Key": "r"})
        assert told.status_code == 200
    assert host.get("/v1/sessions/chat").json()["messages"] == 4
    body = {"ref": 0, "message": user("other one")}
    cursors = [
        host.post("/v1/sessions/chat/amend", json=body, headers={"Idempotency-Key": "a"}).json()["cursor"]
        for _ in range(2)
    ]
    assert cursors[0] == cursors[1] == host.get("/v1/sessions/chat").json()["cursor"]
    view = host.get("/v1/sessions/chat/view").json()["view"]
    assert view["tail"] == [user("other one"), says("two"), user("three"), says("four")]


def test_a_fork_is_another_session(ask: Ask) -> None:
    host = ask()
    _begun(host, [user("one"), says("two"), user("three")])
    body = {"id": "copy", "at": 1}
    first, again = (host.post("/v1/sessions/chat/fork", json=body, headers={"Idempotency-Key": "f"}) for _ in range(2))
    assert first.json() == again.json()
    assert host.get("/v1/sessions/copy/view").json()["view"]["tail"] == [user("one"), says("two")]
    assert host.post("/v1/sessions/chat/fork", json=body).status_code == 409


def test_compactions_are_rolled_back_explained_and_searched(ask: Ask, do: Do) -> None:
    host, reader = ask(), ask("reader")
    view = _compacted(host, do)
    [generation] = reader.get("/v1/sessions/chat/generations").json()["generations"]
    assert (generation["number"], generation["in_force"]) == (view["generation"], True)
    assert generation["audit"]["kinds"] is not None
    fates = reader.get("/v1/sessions/chat/explain", params={"seq": 2}).json()["fates"]
    assert fates[0]["fate"] != "verbatim"
    assert fates[0]["why"]
    hits = reader.get("/v1/sessions/chat/search", params={"text": '"step 2"'}).json()["hits"]
    text = reader.get("/v1/sessions/chat/recall", params={"handle": hits[0]["handle"]}).json()["text"]
    assert "step 2" in text
    assert reader.get("/v1/sessions/chat/explain").status_code == 422
    assert host.post("/v1/sessions/chat/rollback", json={"generation": 0}).json()["type"].endswith(":refused")
    back = {"generation": 0, "force": True}
    assert host.post("/v1/sessions/chat/rollback", json=back).status_code == 200
    raw = host.get("/v1/sessions/chat/view").json()["view"]
    assert (raw["kind"], raw["prefix"] + raw["tail"]) == ("raw", LONG)
    again = host.get("/v1/sessions/chat/view", params={"generation": view["generation"]}).json()["view"]
    assert again["kind"] == "compacted"
    assert host.post("/v1/sessions/chat/rollback", json={"generation": 99}).status_code == 409


def test_who_only_reads_puts_nothing_in_force(ask: Ask, do: Do) -> None:
    host, reader = ask(), ask("reader")
    _begun(host, LONG)
    host.post("/v1/sessions/chat/request", json={})
    do(lambda client, _: client.run_due())
    assert reader.get("/v1/sessions/chat/view").json()["view"]["kind"] == "raw"
    assert reader.get("/v1/sessions/chat").json()["generation"] == 0
    assert host.get("/v1/sessions/chat/view").json()["view"]["kind"] == "compacted"
    assert reader.get("/v1/sessions/chat/view").json()["view"]["kind"] == "compacted"


def test_pins_redactions_and_purges(ask: Ask) -> None:
    host = ask()
    _begun(host, [{**user("my secret"), "name": "ann"}, says("two"), user("three")])
    assert host.post("/v1/sessions/chat/pin", json={"ref": 2}).json()["seqs"] == [2]
    assert host.post("/v1/sessions/chat/unpin", json={"ref": 2}).json()["seqs"] == []
    told = host.post("/v1/sessions/chat/redact", json={"author": "ann", "reason": "asked for"}).json()
    assert told["seqs"] == [0]
    assert "secret" not in host.get("/v1/sessions/chat/history").text
    for _ in range(2):
        assert host.delete("/v1/sessions/chat").status_code == 204
    assert host.get("/v1/sessions/chat").status_code == 404
    assert host.post("/v1/sessions/chat/turn", json={"after": "*", "messages": [user("x")]}).status_code == 404
    other = {"messages": [user("new life")], "session": {"format": "anthropic"}}
    assert host.post("/v1/sessions/chat/turn", json=other).status_code == 200
    assert host.get("/v1/sessions/chat").json()["format"] == "anthropic"
    assert host.delete("/v1/sessions/chat").status_code == 204


def test_a_session_that_others_purge_and_begin_anew_is_followed(ask: Ask, do: Do) -> None:
    host = ask()
    told = _begun(host, [user("one")])

    async def anew(_: CompactionClient, session: Session) -> None:
        await session.purge()
        await session.record([user("another"), says("life")])

    do(anew)
    late = host.post("/v1/sessions/chat/turn", json={"after": told["cursor"], "messages": [says("two")]})
    assert (late.status_code, late.json()["type"]) == (409, "urn:offturn:problem:moved")
    on = host.post("/v1/sessions/chat/turn", json={"after": late.json()["cursor"], "messages": [user("more")]})
    assert on.json()["view"]["tail"] == [user("another"), says("life"), user("more")]


def test_the_history_comes_in_pages(ask: Ask) -> None:
    host = ask()
    messages = [user(str(i)) for i in range(5)]
    _begun(host, messages)
    found, start = list[Any](), 0
    while start is not None:
        page = host.get("/v1/sessions/chat/history", params={"start": start, "limit": 2}).json()
        found += page["messages"]
        start = page["next"]
    assert [one["message"] for one in found] == messages
    assert [one["seq"] for one in found] == list(range(5))
    assert host.get("/v1/sessions/chat/history?start=99").json() == {"messages": [], "next": None}


def test_what_concerns_all_sessions(ask: Ask) -> None:
    reader, operator = ask("reader"), ask("operator")
    assert "balanced" in [one["name"] for one in reader.get("/v1/policies").json()["policies"]]
    told = reader.get("/v1/policy", params={"name": "hermes", "window": 64_000}).json()
    assert told["policy"]["name"] == "hermes"
    assert told["limits"]["usable"] < 64_000
    assert reader.get("/v1/policy?name=x").status_code == 422
    assert reader.get("/v1/health").json()["reachable"] is True
    while "offturn_up_store 1.0" not in (text := operator.get("/metrics").text):
        pass  # a scrape waits a second for the store, and Prometheus scrapes again
    assert 'offturn_http_requests_total{operation="policies",status="200"}' in text
