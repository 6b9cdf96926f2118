"""The page in Chromium: every view clicked through, at three widths, in light and dark, with axe, and without scripts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from offturn_http.page.beside import CHANGED
from offturn_worker.demo.recorded import FOLDER
from tests.page.conftest import Page as Site
from tests.page.stage import ATTACK, DEMO, HOSTILE, PARKED, REWOUND

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.timeout(600)  # seconds: some look at every view, and a slow machine must not pass for a hang
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = (360, 768, 1280)
LONG = 30_000  # ms
AXE = "axe-core@4.14.1"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "offturn-tests"
SHOTS = os.environ.get("OFFTURN_TEST_SCREENSHOTS")
"""A folder to leave screenshots in; docs/page.md has some of them."""


def at(path: str, **query: object) -> str:
    return f"{path}?{urlencode(query)}" if query else path


VIEWS = {
    "sessions": "/",
    "session": at("/session", id=DEMO),
    "compare": at("/session/compare", id=DEMO),
    "summaries": at("/session/summaries", id=DEMO),
    "text": at("/session/text", id=DEMO, handle="m3"),
    "rollback": at("/session/rollback", id=DEMO, generation=1),
    "rewound": at("/session", id=REWOUND),
    "rollback-refused": at("/session/rollback", id=REWOUND, generation=2),
    "hostile": at("/session", id=HOSTILE),
    "hostile-compare": at("/session/compare", id=HOSTILE, left=0),
    "hostile-text": at("/session/text", id=HOSTILE, handle="m2"),
    "queue": "/queue",
    "policies": "/policies",
    "policy": at("/policy", name="balanced"),
    "try": "/try",
    "nothing": at("/session", id="nobody"),
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: `make browser` adds it")
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian's package chromium)")
    playwright.expect.set_options(timeout=LONG)
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def see(seen: Locator) -> Any:
    """What is on the page, or comes onto it. What the page before has too needs `arrive` first: a click waits for no page."""
    from playwright.sync_api import expect

    return expect(seen)


def arrive(page: Page, path: str, **query: object) -> None:
    """Wait until the page of this address is there, whole. Of the page before the address has to differ."""
    page.wait_for_url(f"**{at(path, **query)}")


@contextmanager
def opened(chromium: Browser, site: Site, key: str = "operator", **options: Any) -> Iterator[Page]:
    """A signed-in page. An error of a script, of the content policy, or a dialog fails the test."""
    context = chromium.new_context(base_url=site.url, viewport={"width": 1280, "height": 900}, **options)
    context.set_default_timeout(LONG)
    page, troubles = context.new_page(), list[str]()
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if "Content Security Policy" in said.text else None)
    page.on("dialog", lambda dialog: troubles.append(dialog.message))
    page.goto(VIEWS["session"])
    page.get_by_label("API key").fill(site.keys[key])
    page.get_by_role("button", name="Sign in").click()
    arrive(page, "/session", id=DEMO)
    yield page
    context.close()
    assert troubles == []


def shoot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_view_scrolls_sideways(chromium: Browser, page: Site, width: int, scheme: Any) -> None:
    with opened(chromium, page, color_scheme=scheme) as browser:
        browser.set_viewport_size({"width": width, "height": 900})

        for name, address in VIEWS.items():
            browser.goto(address)
            over = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert over == 0, name
            for entry in browser.locator("details").all()[:4]:
                entry.evaluate("one => { one.open = true }")
            over = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert over == 0, f"{name}, opened"
            shoot(browser, f"{name}-{width}-{scheme}")


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, from npm and kept in the user's cache."""
    kept = CACHE / f"{AXE}.js"
    if not kept.exists():
        if shutil.which("npm") is None:
            pytest.skip("needs axe-core: npm is not there to fetch it")
        CACHE.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=CACHE) as folder:  # of this process alone: others fetch at the same time
            fetch = ["npm", "pack", AXE, "--json"]
            done = subprocess.run(fetch, cwd=folder, capture_output=True, timeout=60, check=False)
            if done.returncode:
                pytest.skip("needs axe-core: npm cannot fetch it")
            with tarfile.open(Path(folder, json.loads(done.stdout)[0]["filename"])) as packed:
                member = packed.extractfile("package/axe.min.js")
                assert member is not None
                script = Path(folder, "script")
                script.write_bytes(member.read())
            script.replace(kept)
    return kept.read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing(chromium: Browser, page: Site, axe: str, width: int, scheme: Any) -> None:
    with opened(chromium, page, color_scheme=scheme, bypass_csp=True) as browser:
        browser.set_viewport_size({"width": width, "height": 900})

        for name, address in {**VIEWS, "login": "/login"}.items():
            browser.goto(address)
            for entry in browser.locator("details").all()[:4]:
                entry.evaluate("one => { one.open = true }")
            browser.evaluate(axe)
            found = browser.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], name


def test_every_view_is_reached_by_clicks(chromium: Browser, page: Site) -> None:
    with opened(chromium, page) as browser:
        browser.get_by_role("link", name="offturn").click()
        arrive(browser, "/")
        browser.get_by_role("link", name=DEMO).click()
        arrive(browser, "/session", id=DEMO)
        see(browser.get_by_role("heading", level=1)).to_have_text(DEMO)
        see(browser.locator("svg.chart.large circle")).to_have_count(6)
        browser.get_by_text("As a table").click()
        see(browser.get_by_role("region", name="Steps", exact=True).get_by_role("row")).to_have_count(7)
        browser.get_by_text("Audit: ").first.click()
        see(browser.get_by_role("region", name="Audit of generation 6")).to_be_visible()

        browser.locator("#became ~ ul").get_by_role("link", name="summarised").click()
        arrive(browser, "/session/compare", id=DEMO, left=0, right=6, only="summarised")
        browser.locator("details.entry").first.locator("summary").click()
        browser.locator(".part h3 a").first.click()
        browser.wait_for_url(f"**{at('/session/text', id=DEMO)}&handle=m*")
        see(browser.get_by_role("heading", level=1)).to_have_text(re.compile("^Message m"))
        browser.get_by_role("link", name=DEMO).click()
        arrive(browser, "/session", id=DEMO)

        browser.get_by_role("link", name="Generations side by side").click()
        arrive(browser, "/session/compare", id=DEMO)
        browser.get_by_label("Before").select_option("2")
        browser.get_by_label("After").select_option("5")
        browser.get_by_role("button", name="Show").click()
        arrive(browser, "/session/compare", id=DEMO, left=2, right=5)
        see(browser.locator(".bar").first).to_have_text(re.compile(r"^\s*Gen 2"))
        browser.get_by_role("link", name="not the same in both").click()
        arrive(browser, "/session/compare", id=DEMO, left=2, right=5, only=CHANGED)
        see(browser.locator("details.entry")).not_to_have_count(0)
        browser.get_by_role("link", name=DEMO).click()
        arrive(browser, "/session", id=DEMO)

        browser.get_by_role("article", name="Generation 5").get_by_role("link", name="Summary").click()
        arrive(browser, "/session/summaries", id=DEMO, right=5)
        see(browser.locator("ins.d-new")).not_to_have_count(0)
        browser.get_by_role("link", name="generation 5").click()
        arrive(browser, "/session/text", id=DEMO, generation=5)
        see(browser.locator("pre.whole")).to_contain_text("[Summary")

        browser.get_by_role("link", name="Queue").click()
        arrive(browser, "/queue")
        see(browser.get_by_role("link", name=PARKED)).to_be_visible()
        browser.get_by_role("link", name="Policies").click()
        arrive(browser, "/policies")
        browser.get_by_role("link", name="hermes", exact=True).click()
        arrive(browser, "/policy", name="hermes")
        browser.get_by_label("Window in tokens").fill("50000")
        browser.get_by_role("button", name="Show").click()
        arrive(browser, "/policy", name="hermes", window=50_000)
        see(browser.get_by_role("heading", level=2).first).to_contain_text("50,000 tokens")
        browser.get_by_role("link", name="Try it").click()
        arrive(browser, "/try", policy="hermes")
        see(browser.get_by_label("Policy", exact=True)).to_have_value("hermes")
        browser.get_by_role("button", name="Sign out").click()
        arrive(browser, "/login")
        see(browser.get_by_label("API key")).to_be_visible()


def test_rolling_back_asks_first_and_rolling_forward_undoes_it(chromium: Browser, page: Site) -> None:
    with opened(chromium, page) as browser:
        numbers, told = browser.locator(".tile b"), browser.get_by_role("status").first
        before = numbers.all_inner_texts()

        browser.get_by_role("link", name="Roll back to 2").click()
        arrive(browser, "/session/rollback", id=DEMO, generation=2)
        browser.get_by_role("link", name="Leave it as it is").click()
        arrive(browser, "/session", id=DEMO)
        see(numbers).to_have_text(before)
        browser.get_by_role("link", name="Roll back to 2").click()
        arrive(browser, "/session/rollback", id=DEMO, generation=2)
        browser.get_by_label("Also above the ceiling").check()
        browser.get_by_role("button", name="Roll back").click()
        arrive(browser, "/session", id=DEMO, done=2)
        see(told).to_have_text("Generation 2 is in force now.")
        see(numbers.nth(3)).to_have_text("2")
        browser.get_by_role("link", name="Roll forward to 6").click()
        arrive(browser, "/session/rollback", id=DEMO, generation=6)
        if browser.get_by_label("Also above the ceiling").count():
            browser.get_by_label("Also above the ceiling").check()
        browser.get_by_role("button", name="Roll forward").click()
        arrive(browser, "/session", id=DEMO, done=6)
        see(told).to_have_text("Generation 6 is in force now.")
        see(numbers).to_have_text(before)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_transcript_is_tried(chromium: Browser, page: Site, scripts: bool) -> None:
    with opened(chromium, page, "reader", java_script_enabled=scripts) as browser:
        browser.goto("/try")
        browser.get_by_label("Upload a transcript").set_input_files(str(FOLDER / "messages.jsonl"))
        browser.get_by_label("Policy", exact=True).select_option("hermes")
        browser.get_by_role("button", name="Show the view").click()
        see(browser.get_by_role("heading", name="hermes: compacted")).to_be_visible()
        see(browser.get_by_label("Policy", exact=True)).to_have_value("hermes")
        shoot(browser, f"tried-{'with' if scripts else 'without'}-scripts")
        browser.get_by_label("Or paste it").fill(json.dumps([{"role": "user", "content": ATTACK}]))
        browser.get_by_role("button", name="Show the view").click()
        see(browser.get_by_role("heading", name="hermes: left as it was")).to_be_visible()
        browser.get_by_label("Or paste it").fill("not a transcript")
        browser.get_by_role("button", name="Show the view").click()
        see(browser.get_by_role("alert")).to_contain_text("is not JSON")


def test_what_attacks_does_nothing(chromium: Browser, page: Site) -> None:
    with opened(chromium, page) as browser:
        for name in ("sessions", "hostile", "hostile-compare", "hostile-text"):
            browser.goto(VIEWS[name])
            browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
            assert browser.evaluate("window.attacked") is None
            assert browser.locator("img, main script").count() == 0


def test_it_works_by_keyboard(chromium: Browser, page: Site) -> None:
    with opened(chromium, page) as browser:
        browser.goto("/")
        focus = browser.locator(":focus")
        browser.keyboard.press("Tab")
        see(focus).to_have_text("Skip to the content")
        browser.keyboard.press("Enter")
        see(focus).to_have_id("main")
        for _ in range(3):  # the field, its button, the first session
            browser.keyboard.press("Tab")
        see(focus).to_have_css("outline-style", "solid")
        browser.keyboard.press("Enter")
        arrive(browser, "/session", id=DEMO)
