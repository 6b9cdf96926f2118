"""While the store is away the service says so, keeps nothing of its own, and is there again when the store is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.acceptance.command import offturn
from tests.acceptance.servers import server
from tests.http.serving import CHAT, caller, made_key, says, served, user


def test_an_outage_is_told_and_over_when_it_is_over(tmp_path: Path) -> None:
    with server(tmp_path / "store") as store, served(store.url, {"OFFTURN_TIMEOUT": "1"}) as service:
        key = asyncio.run(made_key(store.url, "acme", "host"))
        with caller(service.url, key) as host:
            body = {"messages": [user("one")], "session": CHAT}
            told = host.post("/v1/sessions/chat/turn", json=body).json()
            new = {"after": told["cursor"], "messages": [says("two")]}
            head = {"Idempotency-Key": "two"}
            with store.frozen():
                away = host.post("/v1/sessions/chat/turn", json=new, headers=head)
                assert (away.status_code, away.json()["type"]) == (503, "urn:offturn:problem:store-unavailable")
                assert (away.headers["retry-after"], away.json()["retryable"]) == ("1", True)
                assert [host.get(path).status_code for path in ("/livez", "/readyz")] == [200, 503]
            again = host.post("/v1/sessions/chat/turn", json=new, headers=head)
            while again.status_code == 503:
                again = host.post("/v1/sessions/chat/turn", json=new, headers=head)
            assert again.status_code == 200, again.text
            assert again.json()["view"]["tail"] == [user("one"), says("two")]
            assert host.get("/readyz").status_code == 200


def test_a_service_without_a_store_does_not_start(tmp_path: Path) -> None:
    done = offturn("serve", "--store", f"unix://{tmp_path}/none", "--port", "0")
    assert done.returncode == 2
    assert b"start the server" in done.stderr
