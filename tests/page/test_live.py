"""A page that is left open shows what happens: the list, a session, and the queue after a replay."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from tests.page.conftest import LONG
from tests.page.conftest import Page as Site
from tests.page.stage import PARKED, TENANT, WINDOW, compact, give_up, play
from tests.page.test_browser import arrive, at, chromium, opened, see

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["chromium"]

SESSION = "live"

pytestmark = pytest.mark.timeout(600)  # seconds: a slow machine must not pass for a hang


def apart(work: Coroutine[Any, Any, None]) -> None:
    """On a thread of its own: Playwright's loop runs on this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


async def talk(store: str, name: str = SESSION) -> None:
    async with CompactionClient.from_url(store, tenant=TENANT, timeout=LONG) as client:
        session = client.session(name, format="openai-chat", window=16_000)
        for n in range(20):
            await session.record(
                [{"role": "user", "content": f"{n} " + "words " * 300}, {"role": "assistant", "content": "yes " * 300}]
            )
        await session.request()
        await compact(session)
        await session.view()


async def tell(store: str, name: str) -> None:
    async with CompactionClient.from_url(store, tenant=TENANT, timeout=LONG) as client:
        await play(client, name)


async def go_on(store: str, name: str) -> None:
    """Another generation, which its host has not asked for yet."""
    async with CompactionClient.from_url(store, tenant=TENANT, timeout=LONG) as client:
        session = client.session(name, format="openai-chat", window=WINDOW)
        await session.record([{"role": role, "content": "words " * 300} for role in ("user", "assistant") * 10])
        await session.request()
        await compact(session)


async def park(store: str) -> None:
    async with Redis.from_url(store) as redis, CompactionClient.from_url(store, tenant=TENANT, timeout=LONG) as client:
        await give_up(client, redis)


def test_the_list_and_a_session_follow_by_themselves(chromium: Browser, page: Site) -> None:
    with opened(chromium, page, "reader") as browser:
        browser.goto("/")
        see(browser.locator("#live")).to_have_text("Live")
        browser.get_by_label("Part of a session's id").fill("half typed")

        apart(talk(page.store))

        row = browser.get_by_role("link", name=SESSION)
        see(row.locator("circle")).to_be_visible()
        see(browser.get_by_label("Part of a session's id")).to_have_value("half typed")
        row.click()
        arrive(browser, "/session", id=SESSION)
        see(browser.locator("#live")).to_have_text("Live")
        see(browser.locator(".tile b").nth(2)).to_have_text("40")
        browser.get_by_text("As a table").click()
        apart(talk(page.store))
        see(browser.locator(".tile b").nth(2)).to_have_text("80")
        see(browser.get_by_role("region", name="Steps", exact=True)).to_be_visible()  # what was open stays open


def test_a_session_that_was_given_up_is_replayed(chromium: Browser, page: Site) -> None:
    apart(park(page.store))
    with opened(chromium, page) as browser:
        browser.goto("/queue")

        browser.get_by_role("button", name=f"Replay {PARKED}").click()

        see(browser.get_by_role("status").first).to_have_text(re.compile(f"^Session {PARKED}: "))
        see(browser.get_by_text("no session was given up")).to_be_visible()
        apart(park(page.store))
        see(browser.get_by_role("button", name=f"Replay {PARKED}")).to_be_visible()


def test_what_is_open_stays_open_where_something_comes_before_it(chromium: Browser, page: Site) -> None:
    apart(tell(page.store, "growing"))
    with opened(chromium, page, "reader") as browser:
        browser.goto(at("/session", id="growing"))
        see(browser.locator("#live")).to_have_text("Live")
        browser.get_by_text("As a table").click()
        browser.get_by_text("Audit: ").first.click()
        see(browser.get_by_role("region", name="Audit of generation 6")).to_be_visible()

        apart(go_on(page.store, "growing"))

        see(browser.get_by_text("Generation 7 waits for the host's next view.")).to_be_visible()
        see(browser.get_by_role("region", name="Steps", exact=True)).to_be_visible()
        see(browser.get_by_role("region", name="Audit of generation 6")).to_be_visible()
        see(browser.locator("details[open]")).to_have_count(2)


def test_a_click_that_has_begun_is_not_lost(chromium: Browser, page: Site) -> None:
    apart(talk(page.store, "held"))
    with opened(chromium, page, "reader") as browser:
        browser.goto(at("/session", id="held"))
        see(browser.locator("#live")).to_have_text("Live")
        browser.get_by_role("link", name="Generations side by side").hover()
        browser.mouse.down()
        with browser.expect_response(f"**{at('/session', id='held')}"):
            apart(talk(page.store, "held"))
        with browser.expect_response(f"**{at('/session', id='held')}"):
            pass  # it asks again, for as long as what it was told does not stand on it
        see(browser.locator(".tile b").nth(2)).to_have_text("40")
        browser.mouse.up()
        arrive(browser, "/session/compare", id="held")
