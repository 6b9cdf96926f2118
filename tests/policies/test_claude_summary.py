"""Rules K6, K7, K9, K10 of Claude Code: its summary, human words in it, and what a full prompt and a user's percentage do."""

from __future__ import annotations

from html import unescape

import pytest

from offturn import CannotFit, CompactionClient
from offturn_config.errors import InvalidSetting
from offturn_config.presets import load
from offturn_engine.accept import Rejected, accept
from offturn_engine.compaction import NOTHING
from offturn_engine.draft import assemble
from offturn_engine.outcome import TOO_DENSE, Failed, finish
from offturn_engine.plan import PruneOnly, Skip, apply, plan
from offturn_engine.ranges import contains
from offturn_engine.summary import SummaryRequest
from tests.engine.raws import Raw, calls, human, says
from tests.policies.histories import filler, format_of, path_of, planned, reads
from tests.policies.scripted import Model, compacted, wanted

NAME = "claude-code"
WINDOW = 200_000
SECTIONS = [
    "Primary Request & Goal",
    "Key Technical Concepts",
    "Files & Code Modified",
    "Errors & Fixes",
    "Problem Solving Approach",
    "All User Messages",
    "Pending Tasks",
    "Current Work",
    "Optional Next Step",
]


def prose(count: int = 14) -> list[Raw]:
    """Turns of talk, which no tier but the third makes smaller."""
    made: list[Raw] = []
    for i in range(count):
        made += [human(f"Step {i}: use <b>port {8000 + i}</b> & nothing else."), says(filler(9_000, f"thought {i}"))]
    return made


def tagged(request: SummaryRequest) -> str:
    """The answer of a model that does as it is told."""
    body = "".join(
        f'<section title="{title.replace("&", "&amp;")}">\n- The {title.lower()}: "use port" and nothing else\n</section>\n'
        for title in request.titles
    )
    return f"<analysis>\nFirst I go through it: secret thoughts.\n</analysis>\n<summary>\n{body}</summary>"


def test_K6_nine_sections_in_xml_without_the_analysis() -> None:
    policy = load(NAME, {"summary.ledger_first": False})
    model = Model([tagged])
    made = compacted(wanted(path_of([*prose(), human("now")], policy), policy, WINDOW), model)

    [request] = model.asked
    assert [f'<section title="{title}">' in unescape(request.content) for title in SECTIONS] == [
        title != "All User Messages" for title in SECTIONS
    ]
    assert "<analysis> and </analysis>" in request.content
    assert "Quote the user's key phrases word for word" in request.content
    written = [unescape(line.split('"')[1]) for line in made.compaction.summary.splitlines() if line[:9] == "<section "]
    assert written == SECTIONS
    assert "secret thoughts" not in made.compaction.summary


def test_K6_the_ledger_alone_is_enough_where_it_reaches_the_target() -> None:
    policy = load(NAME)
    path = path_of([*prose(), human("now")], policy)
    found = plan(path, NOTHING, format_of(policy), policy=policy, limits=policy.limits(WINDOW), reason="manual")
    paid = load(NAME, {"summary.ledger_first": False})

    assert isinstance(found, PruneOnly)
    assert found.candidate.compaction.method == "extractive"
    assert found.candidate.rendering.tokens <= 40_000
    assert wanted(path, paid, WINDOW).messages


def test_K7_every_human_message_is_quoted_by_code_and_comes_back_as_it_was() -> None:
    policy = load(NAME, {"summary.ledger_first": False})
    raws = [*prose(), human("Now do the last one."), calls("open")]
    path = path_of(raws, policy)
    made = compacted(wanted(path, policy, WINDOW), Model([tagged]))

    text = made.compaction.summary
    start = text.index('<section title="All User Messages">')
    section = unescape(text[start : text.index("</section>", start)])
    covered = [m for m in path if m.origin == "human" and contains(made.compaction.covered, m.seq)]
    assert len(covered) == 14
    assert all(m.text in section for m in covered)
    assert "<b>" not in text[: text.rindex("</section>")]  # behind the sections the ledger quotes as it was said
    assert made.compaction.audit.human_verbatim == 14
    assert [item.raw for item in made.rendering.items[-2:]] == raws[-2:]


def test_K7_if_they_alone_exceed_the_ceiling_the_compaction_fails() -> None:
    policy = load(NAME)
    raws = [raw for i in range(9) for raw in (human(filler(20_000, f"paste {i}")), says("read"))]
    path = path_of([*raws, human("now")], policy)

    found = planned(path, policy, policy.limits(WINDOW), reason="manual")

    assert found == Skip(TOO_DENSE)
    assert finish(Failed(kind=TOO_DENSE)) == "no-gain"  # held, and counted by the breaker


def test_K7_words_that_gave_way_to_the_ceiling_are_not_published() -> None:
    policy = load(NAME, {"summary.ledger_first": False})
    asks = wanted(path_of([*prose(), human("now")], policy), policy, WINDOW)
    small = apply(asks, asks.previous).draft.conceding("human_budget", 1, human_budget=200)

    assert accept(assemble(small), minimum_gain=0.02) == Rejected(TOO_DENSE)


async def test_K9_too_long_is_answered_by_a_smaller_view_three_times_in_a_row(client: CompactionClient) -> None:
    session = client.session("k9", format="openai-chat", policy=NAME, window=WINDOW)
    await session.record([*prose(3), human("go"), *reads(20, 4_000)])
    refusal = _Refusal("prompt is too long: 250000 tokens > 200000 maximum")
    view = await session.view()
    sizes = [view.estimate]
    for _ in range(load(NAME).failure.reactive):
        view = await session.overflow(refusal, sent=view)
        sizes.append(view.estimate)

    assert len(sizes) == 4
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(CannotFit):
        await session.overflow(refusal, sent=view)
    await session.record([says("done")])
    assert (await session.overflow(refusal, sent=await session.view())).estimate < sizes[0]


@pytest.mark.parametrize(("percent", "soft"), [(None, 170_000), (50, 100_000), (5, 10_000), (90, 180_000)])
def test_K10_a_percentage_forces_the_soft_level(percent: int | None, soft: int) -> None:
    overrides = {} if percent is None else {"trigger.pct_override": percent}
    limits = load(NAME, overrides).limits(WINDOW)

    assert limits.soft == soft
    assert limits.target == min(40_000, soft // 2)
    assert limits.soft < limits.hard <= limits.usable


async def test_K10_it_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, valkey_url: str) -> None:
    monkeypatch.setenv("OFFTURN_AUTOCOMPACT_PCT", "40")
    async with CompactionClient.from_url(valkey_url) as client:
        forced = client.session("k10", format="openai-chat", policy=NAME, window=WINDOW)
        own = client.session("k10b", format="openai-chat", overrides={"trigger.pct_override": 70}, window=WINDOW)
        assert forced._config.limits.soft == 80_000
        assert own._config.limits.soft == 140_000
    monkeypatch.setenv("OFFTURN_AUTOCOMPACT_PCT", "101")
    with pytest.raises(InvalidSetting, match="OFFTURN_AUTOCOMPACT_PCT = '101'"):
        CompactionClient.from_url(valkey_url)


class _Refusal(Exception):
    status_code = 400
