"""What stands around a summary: lead-in, system note, role, restores, replay."""

from __future__ import annotations

import json

import pytest

from offturn_config.presets import load
from offturn_engine.compaction import Compaction
from offturn_engine.draft import SUMMARY_HEAD, assemble
from offturn_engine.fit import concede
from offturn_engine.formats import get
from offturn_engine.invariants import Shown, violations
from offturn_engine.match import holds_summary
from offturn_engine.notes import LEAD_IN, SYSTEM_NOTE, language_of, with_note
from offturn_engine.outcome import NOTHING_TO_COVER
from offturn_engine.plan import PruneOnly, Skip, plan
from offturn_engine.ranges import contains
from offturn_engine.render import render
from offturn_engine.restore import allowance, restores
from offturn_engine.rules_of_thumb import Estimator
from tests.integration.host import FORMATS, calls, human, long_text, result, says
from tests.policies.agents import ASKED, WINDOW, compacted, path_of, reading, shown, text_of, turn

PLAIN = {"gate": "always_summarise", "prune.style": "off", "tiers.enabled": False}
SYSTEM = {"role": "system", "content": "You are a careful engineer."}


def numbered(candidate: Compaction, number: int) -> Compaction:
    return candidate.model_copy(update={"number": number})


@pytest.mark.parametrize("language", ["English", "Spanish", "Chinese"])
def test_H6_the_note_stands_on_the_system_prompt_once_and_in_the_users_language(language: str) -> None:
    raws = [SYSTEM, *reading("openai-chat", 8, asked=ASKED[language])]
    first = compacted("hermes", "openai-chat", raws)
    assert text_of(first.rendering.items[0].raw) == f"{SYSTEM['content']}\n\n{SYSTEM_NOTE[language]}"
    assert first.rendering.items[0].seq == 0

    more = [*raws, *(m for n in range(8, 16) for m in turn("openai-chat", n, asked=ASKED["English"]))]
    second = compacted("hermes", "openai-chat", more, base=numbered(first.compaction, 1))
    assert second.compaction.covered != first.compaction.covered
    assert second.rendering.items[0].raw == first.rendering.items[0].raw, "one note, the same bytes, no second one"


def test_H6_without_a_compaction_there_is_no_note() -> None:
    path = path_of("openai-chat", [SYSTEM, *reading("openai-chat", 1)])
    rules = load("hermes")
    planned = plan(path, Compaction(), get("openai-chat"), policy=rules, limits=rules.limits(WINDOW), reason="manual")
    assert planned == Skip(NOTHING_TO_COVER)


@pytest.mark.parametrize("fmt", FORMATS)
def test_H6_the_summary_shares_no_role_with_a_neighbour_where_one_is_free(fmt: str) -> None:
    opening = [human("Look at the parser first."), calls(fmt, "a"), result(fmt, "a", "ok")]
    raws = [*opening, *reading(fmt, 8)]
    made = compacted("hermes", fmt, raws)
    roles = [item.raw["role"] for item in made.rendering.items]
    at = next(i for i, item in enumerate(made.rendering.items) if item.kind == "summary")
    taken = {roles[at - 1], roles[at + 1]}
    free = {"user", "assistant"} - taken
    assert roles[at] in (free or {"user"})
    assert roles[0] == "user"
    assert get(fmt).problems(made.rendering.messages) == []
    for index, item in enumerate(made.rendering.items[1:], 1):  # orphans: every result follows its call
        if item.kind == "message" and "tool" in json.dumps(item.raw["role"]):
            assert made.rendering.items[index - 1].raw["role"] in ("assistant", "tool")


def test_a_note_is_added_once_to_whatever_shape_a_system_prompt_has() -> None:
    note = SYSTEM_NOTE["English"]
    for system in ("Be brief.", [{"type": "text", "text": "Be brief."}], {"role": "developer", "content": "Be brief."}):
        once = with_note(system, note)
        assert json.dumps(once, ensure_ascii=False).count(note) == 1
        assert with_note(once, note) == once
    assert with_note(None, note) is None
    assert with_note([{"type": "input_text", "text": "a"}], note)[1] == {"type": "input_text", "text": note}
    assert with_note({"parts": [{"text": "a"}]}, note) == {"parts": [{"text": "a"}, {"text": note}]}
    assert with_note(["a"], note) == ["a", note]


def test_notes_follow_the_newest_message_where_languages_mix() -> None:
    mixed = [human(ASKED["English"]), says("ok"), human(ASKED["Spanish"])]
    assert language_of(path_of("openai-chat", mixed)) == "Spanish"
    assert language_of(path_of("openai-chat", mixed[::-1])) == "English"
    assert language_of(path_of("openai-chat", [human("ls -la")])) == "English"
    assert LEAD_IN.keys() == SYSTEM_NOTE.keys()


@pytest.mark.parametrize("language", ["English", "Spanish", "Chinese"])
@pytest.mark.parametrize("fmt", FORMATS)
def test_K8_lead_in_and_the_five_newest_files_each_within_its_tokens(fmt: str, language: str) -> None:
    raws = reading(fmt, 8, asked=ASKED[language])
    made = compacted("claude-code", fmt, raws, overrides=PLAIN)
    assert shown(made, "summary")[0].startswith(LEAD_IN[language] + "\n\n" + SUMMARY_HEAD)
    files = shown(made, "restore")
    assert [f"module_{n}.py" in text.splitlines()[0] for n, text in zip(range(3, 8), files, strict=True)] == [True] * 5
    limit = load("claude-code").limits(WINDOW).restore_file
    items = [item for item in made.rendering.items if item.kind == "restore"]
    assert all(limit // 2 < item.tokens <= limit for item in items), "cut to the room of one file, and not to nothing"
    assert [item.seq for item in items] == [4 * n + 2 for n in range(3, 8)], "each names the message it came from"
    assert all(f"m{item.seq}" in text.splitlines()[0] for item, text in zip(items, files, strict=True))
    kinds = [item.kind for item in made.rendering.items]
    assert kinds.index("restore") == kinds.index("summary") + 1
    assert {item.seq for item in made.compaction.human} == {4 * n for n in range(8)}, "a restore is no human message"


def test_K8_the_target_is_checked_before_restores_and_the_oldest_give_way() -> None:
    raws = reading("openai-chat", 8)
    made = compacted("claude-code", "openai-chat", raws, overrides={**PLAIN, "size.target": 10_000})
    restored = sum(item.tokens for item in made.rendering.items if item.kind == "restore")
    assert made.rendering.tokens - restored <= 10_000 < made.rendering.tokens
    assert not made.compaction.over_target

    rules = load("claude-code")
    allowed = allowance(rules, rules.limits(WINDOW))
    path, fmt = made.draft.path, made.draft.fmt
    one = made.compaction.restores[-1].tokens
    few = restores(path, made.compaction, fmt, allowed, 2 * one + 50)
    assert few == made.compaction.restores[-2:], "room for two: the two newest"
    assert allowed.total == rules.limits(WINDOW).restore == 50_000
    assert allowed.below <= rules.limits(WINDOW).soft


def test_K8_skills_and_host_material_have_their_own_room() -> None:
    skill = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "s", "type": "function", "function": {"name": "Skill", "arguments": '{"skill": "release"}'}}
            ],
        },
        result("openai-chat", "s", "How to release: " + long_text(3_000)),
    ]
    raws = [human("Load the skill."), *skill, says("Loaded."), *reading("openai-chat", 8)]
    made = compacted("claude-code", "openai-chat", raws, overrides=PLAIN)
    [told] = [text for text in shown(made, "restore") if "release" in text.splitlines()[0]]
    assert "How to release" in told
    without = compacted("claude-code", "openai-chat", raws, overrides={**PLAIN, "after.skill_tokens": 0})
    assert not [text for text in shown(without, "restore") if "release" in text.splitlines()[0]]


def test_a_file_changed_later_says_so_and_a_deleted_one_is_not_restored() -> None:
    raws = [
        *reading("openai-chat", 6),
        human("Edit and delete."),
        calls("openai-chat", "e", "d", command="sed -i s/a/b/ src/module_4.py"),
        result("openai-chat", "e", "ok"),
        result("openai-chat", "d", "ok"),
        calls("openai-chat", "r", command="rm src/module_5.py"),
        result("openai-chat", "r", ""),
        says("Done."),
    ]
    made = compacted("claude-code", "openai-chat", raws, overrides=PLAIN)
    heads = [text.splitlines()[0] for text in shown(made, "restore")]
    assert not [head for head in heads if "module_5" in head]
    assert [("Changed since, in m25" in head) for head in heads if "module_4" in head] == [True]


def test_a_path_that_ends_where_the_summary_does_is_broken_also_with_restores_behind_it() -> None:
    made = compacted("claude-code", "openai-chat", reading("openai-chat", 8), overrides=PLAIN)
    path = [m for m in made.draft.path if contains(made.compaction.covered, m.seq)]
    rendering = render(path, made.compaction, made.draft.fmt)
    assert rendering.items[-1].kind == "restore"
    assert "never-last" in violations(Shown(path, made.compaction, rendering, made.draft.fmt))


def test_restores_are_the_first_to_give_way() -> None:
    made = compacted("claude-code", "openai-chat", reading("openai-chat", 8), overrides=PLAIN)
    for dropped in (1, 3, 5):
        rest = sum(r.tokens for r in made.compaction.restores[dropped:])
        bare = made.rendering.tokens - sum(r.tokens for r in made.compaction.restores)
        smaller = concede(made.draft, bare + rest, load("claude-code").prune)
        assert dict(smaller.draft.concessions) == {"restores": dropped}
        assert smaller.compaction.restores == made.compaction.restores[dropped:]
        assert violations(Shown(smaller.draft.path, smaller.compaction, smaller.rendering, smaller.draft.fmt)) == {}


def test_the_size_of_a_restore_is_what_its_message_costs() -> None:
    made = compacted("claude-code", "openai-chat", reading("openai-chat", 8), overrides=PLAIN)
    items = [item for item in made.rendering.items if item.kind == "restore"]
    assert [made.draft.fmt.estimate(item.raw) for item in items] == [r.tokens for r in made.compaction.restores]
    both: tuple[Estimator, ...] = ("calibrated", "bytes4")
    for measured in both:
        rules, fmt = load("claude-code", PLAIN), get("openai-chat", measured)
        path = [m.placed(i) for i, m in enumerate(map(fmt.parse, reading("openai-chat", 8)))]
        planned = plan(path, Compaction(), fmt, policy=rules, limits=rules.limits(WINDOW, 8_192), reason="manual")
        assert isinstance(planned, PruneOnly), "the ledger is enough"
        again = planned.candidate
        costs = [item.tokens for item in again.rendering.items if item.kind == "restore"]
        assert costs
        assert costs == [r.tokens for r in again.compaction.restores]
    assert holds_summary(items[0].raw), "recorded as a message of another session it would pass for a human's words"


@pytest.mark.parametrize("fmt", FORMATS)
def test_O3_only_an_unanswered_and_covered_request_is_replayed_right_after_the_summary(fmt: str) -> None:
    working = [
        m
        for n in range(30)
        for m in (
            calls(fmt, f"w{n}", command=f"cat big_{n}.py"),
            result(fmt, f"w{n}", long_text(24_000, f"# big {n}")),
        )
    ]
    raws = [*reading(fmt, 8), human("Now rewrite the parser, all of it."), *working]
    made = compacted("opencode", fmt, raws, overrides={"prune.style": "off", "gate": "always_summarise"})
    items = made.rendering.items
    at = next(i for i, item in enumerate(items) if item.kind == "summary")
    assert (items[at + 1].kind, items[at + 1].seq) == ("replay", 32)
    assert sum(item.seq == 32 for item in items) == 1, "shown once"
    assert items[at + 2].seq > 32, "later messages follow it"
    told = made.compaction.audit
    assert told.human_verbatim + told.human_cut + told.human_by_handle == 8, "not counted"

    answered = compacted(
        "opencode", fmt, [*raws, says("All done.")], overrides={"prune.style": "off", "gate": "always_summarise"}
    )
    assert answered.compaction.replay is None
    assert not shown(answered, "replay")


@pytest.mark.parametrize("language", ["English", "Spanish", "Chinese"])
def test_F2_marker_last_six_untouched_and_nothing_older_is_skipped(language: str) -> None:
    raws = [SYSTEM, *reading("openai-chat", 8, asked=ASKED[language]), human("Thanks."), says("You are welcome.")]
    made = compacted("five-step", "openai-chat", raws)
    items = made.rendering.items
    assert [item.kind for item in items] == ["message", "summary", *["message"] * 6]
    assert items[0].raw == SYSTEM
    assert items[1].raw["role"] == "user"
    assert text_of(items[1].raw).startswith(LEAD_IN[language])
    assert [item.raw for item in items[-6:]] == raws[-6:]

    rules = load("five-step")
    short = path_of("openai-chat", raws[:1] + raws[-6:])
    planned = plan(short, Compaction(), get("openai-chat"), policy=rules, limits=rules.limits(WINDOW), reason="phase")
    assert planned == Skip(NOTHING_TO_COVER)


def test_a_record_without_these_fields_renders_as_before() -> None:
    bare = {"gate": "always_summarise", "after.restore_tokens": 0}
    made = compacted("balanced", "openai-chat", reading("openai-chat", 8), overrides=bare)
    old = made.compaction.model_dump(exclude={"role", "system_note", "restores"})
    assert Compaction.model_validate(old) == made.compaction
    assert assemble(made.draft).rendering == made.rendering
