"""Cost, saving and break-even of a compaction: the examples of docs/economics.md, unknown prices, and the record's account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import genai_prices
import pytest
from redis.asyncio import Redis
from typer.testing import CliRunner

from offturn import CompactionClient, Health, recipe
from offturn.doorbell import Doorbell
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from offturn_config.settings import load_worker_settings
from offturn_engine.economics import HORIZON, PerMillion, Price, Sizes, economics
from offturn_models.prices import price_of, ratio_of, same_model_warning
from offturn_worker.cli.policies import typer_app
from offturn_worker.doctor.sessions import Sessions, own_models, read
from tests.integration.host import human
from tests.policies.agents import reading

PAGE = (Path(__file__).parents[2] / "docs" / "economics.md").read_text(encoding="utf-8")
DEEPSEEK = PerMillion(input=0.15, cached=0.003, output=0.60)
OPUS = PerMillion(input=5, cached=0.50, written=6.25, output=25)
HAIKU = PerMillion(input=0.10, cached=0.01, written=0.125, output=0.50)
NAMES = {
    "deepseek-v4-flash": ("deepseek:deepseek-v4-flash", DEEPSEEK),
    "claude-opus-4-8": ("anthropic:claude-opus-4-8", OPUS),
    "claude-haiku-5-5": ("anthropic:claude-haiku-5-5", HAIKU),
}
EXAMPLE = Sizes(before=95_000, after=45_000, prefix=0)
SUMMARY = 2_000
COVERED = 95_000 - (45_000 - SUMMARY)


@pytest.fixture(params=[12])
def hour(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Prices as of an hour (UTC) of the page's day, whatever the clock says: some providers' depend on it."""
    asked = datetime(2026, 11, 30, request.param, tzinfo=UTC)
    monkeypatch.setattr(genai_prices, "calc_price", partial(genai_prices.calc_price, genai_request_timestamp=asked))
    price_of.cache_clear()
    yield request.param
    price_of.cache_clear()


@pytest.mark.parametrize(("output", "cost", "saved"), [("0.28", "0.0006", "0.014"), ("25", "0.05", "1.25")])
def test_the_articles_examples_as_printed(output: str, cost: str, saved: str) -> None:
    price = float(output) / 1_000_000
    assert f"{SUMMARY * price:.{len(cost) - 2}f}" == cost
    assert f"{(EXAMPLE.before - EXAMPLE.after) * price:.{len(saved) - 2}f}" == saved
    assert f"| output at ${output} | ${cost} | ${saved} |" in PAGE


@pytest.mark.parametrize("session", ["deepseek-v4-flash", "claude-opus-4-8"])
@pytest.mark.parametrize("summarizer", ["the same", "claude-haiku-5-5"])
@pytest.mark.parametrize("cache", ["no", "yes"])
def test_the_examples_with_true_prices(session: str, summarizer: str, cache: str) -> None:
    row = rf"\| {session} \| {summarizer} \| {cache} \| \$([\d.]+) \| \$([\d.]+) \| \$([\d.]+) \| (\d+) \| (-?)\$([\d.]+) \|"
    if (summarizer, cache) == ("claude-haiku-5-5", "no"):
        assert not re.search(row, PAGE)
        return
    _, price = NAMES[session]
    asked = price if summarizer == "the same" else HAIKU
    made = economics(
        asked(input_tokens=COVERED, output_tokens=SUMMARY),
        EXAMPLE,
        price if cache == "yes" else replace(price, cached=None, written=None),
    )
    found = re.search(row, PAGE)
    assert found is not None
    cost, lost, saving, even, sign, after = found.groups()
    assert made.cost == pytest.approx(float(cost), abs=5e-5)
    assert made.lost_prefix == pytest.approx(float(lost), abs=6e-5)
    assert made.saving == pytest.approx(float(saving), abs=5e-7)
    assert made.break_even == int(even)
    assert made.after_20 == pytest.approx(float(sign + after), abs=6e-5)


@pytest.mark.parametrize("session", NAMES)
def test_what_the_sessions_own_model_costs_out_of_the_cache(session: str) -> None:
    _, price = NAMES[session]
    own = price(input_tokens=50_000, cached=50_000, output_tokens=SUMMARY)
    plain = HAIKU(input_tokens=50_000, output_tokens=SUMMARY)
    assert f"| {session} | ${own:.5f} | ${plain:.5f} |" in PAGE


@pytest.mark.usefixtures("hour")
@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_the_prices_of_the_table(name: str) -> None:
    model, flat = NAMES[name]
    price = price_of(model)
    assert price is not None
    for usage in (
        {"input_tokens": 1_000, "output_tokens": 1_000},
        {"input_tokens": 2_000, "cached": 1_000},
        {"input_tokens": 2_000, "written": 500},
    ):
        assert price(**usage) == pytest.approx(flat(**usage))
    shown = ["as input" if value is None else value for value in (flat.input, flat.cached, flat.written, flat.output)]
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| `{model}`")]
    told = [cell.strip() for cell in row.strip("|").split("|")[1:]]
    assert [cell if cell == "as input" else float(cell) for cell in told] == shown


@pytest.mark.parametrize("hour", [1, 3, 7, 12, 23], indirect=True)
def test_a_call_costs_what_its_hour_costs(hour: int) -> None:
    price = price_of(NAMES["deepseek-v4-flash"][0])
    assert price is not None
    flat = DEEPSEEK(input_tokens=1_000, output_tokens=1_000)
    assert price(input_tokens=1_000, output_tokens=1_000) == pytest.approx(flat if hour in (12, 23) else 2 * flat)


def test_savings_pay_for_cost_and_lost_prefix_at_break_even_and_not_before() -> None:
    made = economics(0.31, EXAMPLE, OPUS)
    assert made.break_even is not None
    assert made.cost is not None
    assert made.saving is not None
    assert made.lost_prefix is not None
    spent = made.cost + made.lost_prefix
    assert made.saving * (made.break_even - 1) < spent <= made.saving * made.break_even
    assert made.after_20 == pytest.approx(HORIZON * made.saving - spent)


def test_an_unchanged_start_is_not_lost() -> None:
    lost = [economics(0.0, replace(EXAMPLE, prefix=prefix), OPUS).lost_prefix or 0.0 for prefix in (0, 20_000, 45_000)]
    assert lost[0] > lost[1] > lost[2] == 0


def test_what_has_no_price_says_so_and_what_never_pays_has_no_break_even() -> None:
    assert price_of("nobody:nothing") is None
    assert price_of("claude-opus-4-8") is None
    unknown = economics(0.31, EXAMPLE, None)
    assert (unknown.cost, unknown.saving, unknown.break_even, unknown.after_20) == (0.31, None, None, None)
    assert economics(None, EXAMPLE, OPUS).after_20 is None
    assert economics(0.31, replace(EXAMPLE, after=95_000), OPUS).break_even is None


def test_tiers_count() -> None:
    price = price_of("anthropic:claude-haiku-5-5")
    assert price is not None
    assert price(input_tokens=200_000) == pytest.approx(5 * 2 * price(input_tokens=100_000))


def test_a_summarizer_that_is_the_session_s_own_model_is_told_of_with_the_ratio() -> None:
    own, cheap = "anthropic:claude-opus-4-8", "anthropic:claude-haiku-5-5"
    assert ratio_of(own, cheap) == pytest.approx(50)
    assert same_model_warning(own, own) == f"{own} writes its own summaries; {cheap} costs 1/50 of it"
    assert "no price" in (same_model_warning("openai:mine", "openai:mine") or "")
    for summarizer, session in ((cheap, own), (cheap, cheap), (own, None)):
        assert same_model_warning(summarizer, session) is None


def test_doctor_and_policies_show_warn_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = "anthropic:claude-opus-4-8"
    monkeypatch.setenv("OFFTURN_SUMMARIZER", f"openai:other,{own}")
    asked = ["show", "hermes", "--model"]
    assert "1/50" in CliRunner().invoke(typer_app, [*asked, own]).output
    assert "1/50" not in CliRunner().invoke(typer_app, [*asked, "anthropic:claude-haiku-5-5"]).output

    found = Sessions(health=Health(reachable=True), first=None, parked={}, models={own, "openai:third"})
    [warning] = own_models(found, load_worker_settings())
    assert (warning.name, warning.level) == ("summarizer-own-model", "warn")
    assert warning.remedy == "export OFFTURN_SUMMARIZER=anthropic"
    assert "1/50" in warning.facts


async def test_the_doctor_knows_the_models_of_sessions_that_wait_for_nothing(
    client: CompactionClient, redis: Redis
) -> None:
    await client.session("quiet", format="anthropic", model="anthropic:claude-opus-4-8").record([human("Hello.")])
    await redis.set("offturn:{s00}:Not A Tenant:x:meta", "of somebody else")
    assert set((await read(redis)).models) == {"anthropic:claude-opus-4-8"}


async def test_a_record_has_its_account_and_the_session_shows_it(client: CompactionClient, redis: Redis) -> None:
    session = client.session("priced", format="anthropic", policy="hermes", window=200_000, model="a:model")
    await session.record(reading("anthropic", 12))
    await session.request()
    prices: dict[str, Price] = {"a:model": OPUS, "fake": HAIKU}
    run = partial(recipe.run, store=SessionStore(redis), doorbell=Doorbell(redis), prices=prices.get)
    await run(SessionKey("default", "priced"), summarizer=FakeSummarizer())
    [made] = await session.generations()
    told = made.economics
    assert told.cost is not None
    assert told.cost > 0
    assert told.saving is not None
    assert told.saving > 0
    assert told.lost_prefix is not None
    assert told.lost_prefix > 0
    assert told.after_20 == pytest.approx(20 * told.saving - told.cost - told.lost_prefix, abs=1e-7)

    plain = client.session("unpriced", format="anthropic", policy="hermes", window=200_000, model="b:model")
    await plain.record(reading("anthropic", 12))
    await plain.request()
    await run(SessionKey("default", "unpriced"), summarizer=FakeSummarizer())
    [unknown] = await plain.generations()
    assert (unknown.economics.cost, unknown.economics.after_20) == (told.cost, None)
