"""Another generation in force, where the session still shows what it covers; else the page says why it cannot be."""

from __future__ import annotations

from html import unescape

from tests.page.conftest import Browse
from tests.page.stage import REWOUND
from tests.page.test_routes import Tags, token_of

WHY = "cannot be put in force: messages it covers were taken back or replaced since"


def test_a_generation_of_messages_that_were_taken_back_is_not_offered(browse: Browse) -> None:
    text = browse("host").get("/session", params={"id": REWOUND}).text

    assert "Roll forward to 2" not in text
    assert text.count(WHY) == 1
    assert "Roll back to 0" in text
    assert Tags(text).open == []


def test_who_asks_for_it_all_the_same_is_told_why_not(browse: Browse) -> None:
    host, query = browse("host"), {"id": REWOUND}
    asked = host.get("/session/rollback", params={**query, "generation": "2"})
    assert asked.status_code == 200
    assert f"Generation 2 {WHY}" in unescape(asked.text)
    assert '<button class="main">' not in asked.text
    assert Tags(asked.text).open == []

    told = host.post("/session/rollback", params=query, data={"token": token_of(host), "generation": "2"})
    assert told.status_code == 409
    assert f"Generation 2 {WHY}" in unescape(told.text)
    assert "Also above the ceiling" not in told.text
