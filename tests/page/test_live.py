"""A page that is left open shows what happens: the list, a session, and the queue after a replay."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis

from offturn import CompactionClient
from tests.page.conftest import LONG
from tests.page.conftest import Page as Site
from tests.page.stage import PARKED, TENANT, compact, give_up
from tests.page.test_browser import chromium, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["chromium"]

SESSION = "live"


def apart(work: Coroutine[Any, Any, None]) -> None:
    """On a thread of its own: Playwright's loop runs on this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


async def talk(store: str) -> None:
    async with CompactionClient.from_url(store, tenant=TENANT, timeout=LONG) as client:
        session = client.session(SESSION, format="openai-chat", window=16_000)
        for n in range(20):
            await session.record(
                [{"role": "user", "content": f"{n} " + "words " * 300}, {"role": "assistant", "content": "yes " * 300}]
            )
        await session.request()
        await compact(session)
        await session.view()


async def park(store: str) -> None:
    async with Redis.from_url(store) as redis, CompactionClient.from_url(store, tenant=TENANT, timeout=LONG) as client:
        await give_up(client, redis)


def test_the_list_and_a_session_follow_by_themselves(chromium: Browser, page: Site) -> None:
    with opened(chromium, page, "reader") as browser:
        browser.goto("/")
        browser.locator("#live", has_text="Live").wait_for()
        browser.get_by_label("Part of a session's id").fill("half typed")

        apart(talk(page.store))

        row = browser.get_by_role("link", name=SESSION)
        row.locator("circle").wait_for()
        assert browser.get_by_label("Part of a session's id").input_value() == "half typed"
        row.click()
        browser.locator("#live", has_text="Live").wait_for()
        assert browser.locator(".tile b").nth(2).inner_text() == "40"
        browser.get_by_text("As a table").click()
        apart(talk(page.store))
        browser.locator(".tile b", has_text="80").wait_for()
        assert browser.get_by_role("region", name="Steps", exact=True).is_visible(), "what was open stays open"


def test_a_session_that_was_given_up_is_replayed(chromium: Browser, page: Site) -> None:
    apart(park(page.store))
    with opened(chromium, page) as browser:
        browser.goto("/queue")

        browser.get_by_role("button", name=f"Replay {PARKED}").click()

        assert browser.get_by_role("status").first.inner_text().startswith(f"Session {PARKED}: ")
        assert browser.get_by_text("no session was given up").is_visible()
        apart(park(page.store))
        browser.get_by_role("button", name=f"Replay {PARKED}").wait_for()
