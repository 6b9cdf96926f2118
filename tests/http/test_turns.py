"""One call a turn, over a real process and a real store."""

from __future__ import annotations

import asyncio

from offturn import CompactionClient
from tests.http.conftest import Ask
from tests.http.serving import CHAT, says, user


def test_a_turn_records_and_shows(ask: Ask) -> None:
    host = ask()
    first = host.post("/v1/sessions/chat/turn", json={"messages": [user("hello")], "session": CHAT})
    assert first.status_code == 200, first.text
    told = first.json()
    assert told["recorded"] == [0, 0]
    assert told["view"]["prefix"] + told["view"]["tail"] == [user("hello")]
    answer = {"after": told["cursor"], "messages": [says("hi"), user("again")], "view": told["view"]["id"]}
    usage = {"prompt_tokens": 12, "completion_tokens": 3}
    second = host.post("/v1/sessions/chat/turn", json={**answer, "usage": usage}).json()
    assert "recorded" in second, second
    assert second["recorded"] == [1, 2]
    assert second["view"]["tail"] == [user("hello"), says("hi"), user("again")]
    kinds = [event["kind"] for event in host.get("/v1/sessions/chat/events").json()["events"]]
    assert "usage" in kinds


def test_a_cursor_that_is_not_the_sessions_is_told_where_it_is(ask: Ask) -> None:
    host = ask()
    first = host.post("/v1/sessions/chat/turn", json={"messages": [user("one")], "session": CHAT}).json()
    second = host.post("/v1/sessions/chat/turn", json={"after": first["cursor"], "messages": [says("two")]}).json()
    late = host.post("/v1/sessions/chat/turn", json={"after": first["cursor"], "messages": [says("other")]})
    assert late.status_code == 409
    assert late.headers["content-type"] == "application/problem+json"
    problem = late.json()
    assert problem["type"] == "urn:offturn:problem:moved"
    assert (problem["expected"], problem["got"], problem["cursor"]) == (1, 2, second["cursor"])
    assert host.get("/v1/sessions/chat").json()["messages"] == 2
    new = host.post("/v1/sessions/chat/turn", json={"messages": [user("as if new")], "session": CHAT})
    assert (new.status_code, new.json()["expected"]) == (409, 0)


def test_a_rewind_moves_the_cursor_too(ask: Ask) -> None:
    host = ask()
    given = {"messages": [user("one"), says("two"), user("three")], "session": CHAT}
    first = host.post("/v1/sessions/chat/turn", json=given).json()
    back = host.post("/v1/sessions/chat/rewind", json={"turns": 1}).json()
    assert back["cursor"] != first["cursor"]
    late = host.post("/v1/sessions/chat/turn", json={"after": first["cursor"], "messages": [says("four")]})
    assert late.status_code == 409
    assert (late.json()["expected"], late.json()["got"]) == (3, 3)
    on = host.post("/v1/sessions/chat/turn", json={"after": back["cursor"], "messages": [user("other three")]})
    assert on.json()["view"]["tail"] == [user("one"), says("two"), user("other three")]


def test_a_repeat_with_the_same_key_records_once(ask: Ask) -> None:
    host = ask()
    body = {"messages": [user("once")], "session": CHAT}
    first, again = (host.post("/v1/sessions/chat/turn", json=body, headers={"Idempotency-Key": "a"}) for _ in range(2))
    assert first.json()["cursor"] == again.json()["cursor"]
    assert again.json()["view"]["tail"] == [user("once")]
    assert again.json()["recorded"] is None
    other = host.post(
        "/v1/sessions/chat/turn", json={**body, "messages": [user("twice")]}, headers={"Idempotency-Key": "a"}
    )
    assert (other.status_code, other.json()["type"]) == (422, "urn:offturn:problem:idempotency-key-reused")
    another = {"after": first.json()["cursor"], "messages": [says("new")]}
    assert host.post("/v1/sessions/chat/turn", json=another, headers={"Idempotency-Key": "b"}).status_code == 200
    assert host.get("/v1/sessions/chat").json()["messages"] == 2


def test_a_client_with_a_list_of_its_own_needs_the_prefix_only(ask: Ask, valkey_url: str, tenant: str) -> None:
    host = ask()
    mine = [user("begin")]
    told = host.post("/v1/sessions/chat/turn", json={"messages": mine, "session": CHAT}).json()
    for i in range(12):
        new = [says(f"step {i} " + "I read a file of the parser. " * 120), user(f"go on with {i}")]
        mine += new
        given = {"after": told["cursor"], "messages": new, "want": {"tail": False}}
        told = host.post("/v1/sessions/chat/turn", json=given).json()

    async def compact() -> None:
        async with CompactionClient.from_url(valkey_url, tenant=tenant, timeout=20) as client:
            await client.run_due()

    host.post("/v1/sessions/chat/request", json={})
    asyncio.run(compact())
    told = host.post("/v1/sessions/chat/turn", json={"after": told["cursor"], "want": {"tail": False}}).json()
    view = told["view"]
    assert (view["kind"], view["tail"]) == ("compacted", None)
    assert 0 < view["tail_from"] <= len(mine)
    whole = host.get("/v1/sessions/chat/view").json()["view"]
    assert view["prefix"] + mine[view["tail_from"] :] == whole["prefix"] + whole["tail"]
    mine.append(says("more"))
    host.post("/v1/sessions/chat/turn", json={"after": told["cursor"], "messages": [mine[-1]]})
    later = host.get("/v1/sessions/chat/view").json()["view"]
    assert view["prefix"] + mine[view["tail_from"] :] == later["prefix"] + later["tail"]


def test_a_message_too_large_is_told_with_the_cursor(ask: Ask) -> None:
    host = ask()
    huge = host.post("/v1/sessions/chat/turn", json={"messages": [user("x " * 60_000)], "session": CHAT})
    assert (huge.status_code, huge.json()["type"]) == (422, "urn:offturn:problem:cannot-fit")
    assert huge.json()["cursor"] == host.get("/v1/sessions/chat").json()["cursor"]


def test_an_overflow_gives_a_smaller_view(ask: Ask) -> None:
    host = ask()
    messages = [user("begin"), *(says(f"{i} " + "a line of the log " * 300) for i in range(6)), user("and now?")]
    told = host.post("/v1/sessions/chat/turn", json={"messages": messages, "session": CHAT}).json()
    error = {"status": 400, "error": {"code": "context_length_exceeded", "message": "too long"}}
    less = host.post("/v1/sessions/chat/overflow", json={"error": error, "sent": told["view"]["id"]})
    assert less.status_code == 200, less.text
    assert less.json()["view"]["tokens"] < 0.81 * told["view"]["tokens"]
    other = host.post("/v1/sessions/chat/overflow", json={"error": {"status": 401}, "sent": told["view"]["id"]})
    assert other.status_code == 422


def test_a_mirrored_list_needs_no_cursor(ask: Ask) -> None:
    host = ask()
    mine = [user("one"), says("two"), user("three")]
    for length in (1, 3):
        told = host.post("/v1/sessions/chat/mirror", json={"messages": mine[:length], "session": CHAT}).json()
        assert told["view"]["tail"] == mine[:length]
    assert host.get("/v1/sessions/chat").json()["cursor"] == told["cursor"]
    assert host.post("/v1/sessions/chat/mirror", json={"messages": mine[:1]}).json()["view"]["behind"]
