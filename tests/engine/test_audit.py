"""What the audit says of facts that a view shows, names, changes or has lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_config.groups import Audit as Rules
from offturn_config.presets import load
from offturn_engine import visible
from offturn_engine.audit import LISTED, audit_of, audited, judge, short, tally
from offturn_engine.compaction import Audit, Compaction, HumanItem, LedgerItem, Sections, Verdict
from offturn_engine.draft import SUMMARY_HEAD, Candidate
from offturn_engine.formats import get
from offturn_engine.handles import text_behind
from offturn_engine.human import human_items
from offturn_engine.ledger import ledger
from offturn_engine.messages import Message
from offturn_engine.plan import Summarise, apply, emergency, plan
from offturn_engine.statements import Statement, statement
from tests.engine.raws import Raw, human, placed, says
from tests.engine.recorded_reports import TRANSCRIPTS, reports
from tests.policies.histories import used

FMT = get("openai-chat")
SAID = "Never touch config/prod.yaml. Refunds above $500 need my approval, so you must ask me first."
RAWS = [
    human(SAID),
    *used("edit_file", {"path": "src/refunds/limits.py", "old": "a", "new": "b"}, "edited", 1),
    *used(
        "bash", {"command": "pytest -q tests/test_limits.py"}, "ValueError: no limit for EUR\n1 failed\nexit code 1", 2
    ),
    says("The limit is there, one test fails."),
]
COVERED = Compaction(covered=((0, 6),), summary=f"{SUMMARY_HEAD}0-5", method="model")


def verdicts(
    shown: Sequence[Raw], record: Compaction = COVERED, raws: Sequence[Raw] = RAWS
) -> dict[tuple[str, str], Verdict]:
    """By kind and the start of the key."""
    path = placed(list(raws), FMT)
    items = ledger(path)
    found = judge(items, placed(list(shown), FMT), record, path)
    return {(item.kind, item.key[:24]): verdict for item, verdict in zip(items, found, strict=True)}


def record_of(**bodies: str) -> Compaction:
    sections = Sections(titles=tuple(bodies), bodies=tuple(bodies.values()))
    people = (HumanItem(seq=0, text=SAID),)
    return COVERED.model_copy(update={"sections": sections, "human": people})


@given(st.text("aZ_.' \t\n1\u00e9\u4e0d\ud800", max_size=30))
def test_words_are_the_runs_of_letters_the_numbers_and_each_han_character(text: str) -> None:
    assert visible.words(text) == re.findall(r"[^\W\d_\u3400-\u9fff]+|\d+|[\u3400-\u9fff]", text.lower())


def test_a_view_that_shows_all_of_it_keeps_all_of_it() -> None:
    assert set(verdicts(RAWS).values()) == {"kept"}


@pytest.mark.parametrize("told", ["x" * 400, "x" * 400 + " and more", "\u4e0d\u8981" * 300])
def test_a_fact_that_was_cut_inside_a_word_is_found_in_its_message(told: str) -> None:
    raws = [*used("todo_write", {"todos": [{"content": told, "status": "pending"}]}, "ok", 1), says("Noted.")]
    record = Compaction(covered=((0, 2),), summary=f"{SUMMARY_HEAD}0-1", method="extractive")
    found = verdicts([human(f"{SUMMARY_HEAD}0-1")], record, raws)
    assert set(found.values()) == {"recoverable"}


def test_a_passage_with_names_amounts_and_most_words_keeps_a_fact() -> None:
    shown = [human("- Refunds above $500 need approval: ask the user first.\n- never touch `config/prod.yaml`")]
    found = verdicts(shown)
    assert found["constraint", "never touch config/prod."] == "kept"
    assert found["constraint", "refunds above $500 need "] == "kept"
    assert found["file", "src/refunds/limits.py"] == "recoverable"


@pytest.mark.parametrize(
    "line",
    [
        "Refunds above $400 need approval: ask the user first.",
        "Refunds need approval.",
        "The user said something about refunds above $500.",
    ],
)
def test_a_passage_without_the_amount_or_most_words_does_not(line: str) -> None:
    assert verdicts([human(line)])["constraint", "refunds above $500 need "] == "recoverable"


def test_the_opposite_does_not_keep_a_constraint() -> None:
    assert verdicts([human("Touch config/prod.yaml.")])["constraint", "never touch config/prod."] == "recoverable"


def test_facts_that_differ_in_one_word_are_not_taken_for_each_other() -> None:
    raws = [human("Never use tabs in Python files.\nNever use tabs in Ruby files.")]
    shown = [human("Never use tabs in Ruby files.")]
    record = COVERED.model_copy(update={"covered": ((0, 1),)})
    assert list(verdicts(shown, record, raws).values()) == ["recoverable", "kept"]


def test_a_file_is_known_by_as_much_of_its_path_as_tells_it_from_others() -> None:
    raws = [
        *used("edit_file", {"path": "a/x/main.py", "old": "1", "new": "2"}, "edited", 1),
        *used("edit_file", {"path": "b/x/main.py", "old": "1", "new": "2"}, "edited", 2),
        *used("edit_file", {"path": "b/x/other.py", "old": "1", "new": "2"}, "edited", 3),
    ]
    found = verdicts([human("changed other.py, and main.py in b/x")], COVERED, raws)
    assert list(found.values()) == ["recoverable", "recoverable", "kept"]
    assert list(verdicts([human("changed b/x/main.py")], COVERED, raws).values())[:2] == ["recoverable", "kept"]


def test_what_no_handle_leads_to_is_lost() -> None:
    silent = COVERED.model_copy(update={"summary": "some text"})
    assert set(verdicts([human("nothing")], silent).values()) == {"lost"}
    named = verdicts([human("see m1")], silent)
    assert (named["file", "src/refunds/limits.py"], named["constraint", "never touch config/prod."]) == (
        "recoverable",
        "lost",
    )


def test_a_handle_to_a_message_that_does_not_hold_it_recovers_nothing() -> None:
    path = placed(RAWS, FMT)
    items = ledger(path)
    redacted = placed([human("[redacted]"), *RAWS[1:]], FMT)
    found = dict(zip((i.kind for i in items), judge(items, placed([human("-")], FMT), COVERED, redacted), strict=True))
    assert (found["constraint"], found["file"]) == ("lost", "recoverable")


@pytest.mark.parametrize(
    ("prose", "key"),
    [
        ("- Touch config/prod.yaml.", "never touch config/prod."),
        ("- Never touch config/dev.yaml.", "never touch config/prod."),
        ("- Refunds above $5000 need approval.", "refunds above $500 need "),
    ],
)
def test_prose_that_says_something_else_of_it_mutates_a_fact_also_where_it_is_shown(prose: str, key: str) -> None:
    found = verdicts(RAWS, record_of(Goal="- limits", Constraints=prose))
    assert found["constraint", key] == "mutated"
    assert [name for name, verdict in found.items() if verdict != "kept"] == [("constraint", key)]


def test_the_gravest_are_listed_first_and_no_more_than_a_bound() -> None:
    items = [LedgerItem(kind="file", key=f"f{i}.py", text="read", seq=i) for i in range(LISTED + 50)]
    found = times("recoverable", len(items))
    found[3], found[4], found[5] = "mutated", "lost", "kept"
    told = tally(items, found, Audit(human_cut=2))
    assert (told.kept, told.recoverable, told.lost, told.mutated, told.human_cut) == (1, LISTED + 47, 1, 1, 2)
    assert [one.seq for one in told.not_kept[:3]] == [3, 4, LISTED + 49]
    assert len(told.not_kept) == LISTED
    assert [kind.total for kind in told.kinds] == [LISTED + 50]


def times(verdict: Verdict, count: int) -> list[Verdict]:
    return [verdict] * count


def test_a_policy_counts_what_is_kept_or_recoverable_by_kind() -> None:
    items = [LedgerItem(kind="constraint", key=f"c{i}", text="t", seq=i) for i in range(10)]
    items += [LedgerItem(kind="file", key=f"f{i}.py", text="read", seq=20 + i) for i in range(10)]
    found = [*times("kept", 9), *times("mutated", 1), *times("recoverable", 9), *times("lost", 1)]
    told = tally(items, found, Audit())
    assert short(told, Rules()) == frozenset()
    assert short(told, Rules(constraints=1.0, others=0.9)) == {"constraint"}
    assert short(told, Rules(constraints=0.9, others=0.95)) == {"file"}


def test_records_of_older_releases_have_no_verdicts() -> None:
    old = Compaction.model_validate({"audit": {"kept": 3, "recoverable": 1, "human_verbatim": 2}})
    assert (old.audit.kept, old.audit.kinds, old.audit.not_kept) == (3, (), ())
    newer = old.audit.model_dump() | {"kinds": [{"kind": "of tomorrow", "kept": 1, "more": 2}]}
    assert Audit.model_validate(newer).kinds[0].total == 1


WORDS = st.lists(
    st.sampled_from(["alpha", "bravo", "carbon", "delta", "echo", "falcon", "gamma", "harbor", "ivory", "jungle"]),
    min_size=3,
    max_size=6,
)
FILES = st.from_regex(r"[a-z]{3,8}/[a-z]{3,8}\.py", fullmatch=True)


@st.composite
def sessions(draw: st.DrawFn) -> list[Raw]:
    raws: list[Raw] = []
    for i, kind in enumerate(draw(st.lists(st.sampled_from(["say", "edit", "run"]), min_size=1, max_size=8))):
        words = " ".join(draw(WORDS))
        if kind == "say":
            raws.append(human(f"Never {words} number {i}."))
        elif kind == "edit":
            raws += used("edit_file", {"path": draw(FILES), "old": "x", "new": words}, "edited", i)
        else:
            raws += used("bash", {"command": f"make {words} {i}"}, f"Error: {words}\nexit code 1", i)
    return raws


def facts(path: Sequence[Message]) -> tuple[LedgerItem, ...]:
    return tuple(item for item in ledger(path) if item.kind != "call")


@settings(max_examples=100)
@given(sessions())
def test_a_view_with_every_word_keeps_every_fact(raws: list[Raw]) -> None:
    path = placed(raws, FMT)
    record = Compaction(covered=((0, len(path)),), summary=f"{SUMMARY_HEAD}all")
    found = judge(facts(path), path, record, path)
    assert set(found) <= {"kept"}
    assert found == judge(facts(path), path, record, path)


@settings(max_examples=100)
@given(sessions(), st.data())
def test_a_fact_of_which_no_word_is_shown_is_never_kept(raws: list[Raw], data: st.DataObject) -> None:
    path = placed(raws, FMT)
    items = facts(path)
    gone = data.draw(st.sampled_from(items))
    words = "|".join(re.findall(r"[a-z]{3,}", gone.key.lower()))
    shown = [human(re.sub(words, "-", text_behind(message), flags=re.IGNORECASE)) for message in path]
    found = judge(items, placed(shown, FMT), COVERED.model_copy(update={"covered": ((0, len(path)),)}), path)
    assert found[items.index(gone)] != "kept"


@pytest.mark.parametrize("size", [200, 2_000])
def test_a_fact_is_compared_with_a_bounded_number_of_passages(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """However large the view, and however many of its passages share the fact's words."""
    compared: list[str] = []

    def counted(sentence: str) -> Statement:
        compared.append(sentence)
        return statement(sentence)

    monkeypatch.setattr(visible, "statement", counted)
    path = placed([human("Never touch the red boxes of shelf 7.")], FMT)
    view = placed([human("\n".join(f"Touch the red boxes of shelf {i}!" for i in range(10, size)))], FMT)
    assert judge(ledger(path), view, COVERED, path) == ["recoverable"]
    assert 0 < len(compared) <= visible.COMPARED


def test_a_candidate_is_audited_as_a_whole() -> None:
    filler = [
        raw for i in range(30) for raw in used("bash", {"command": f"make step{i}"}, f"line {i} of it\n" * 60, i + 10)
    ]
    path = placed([*RAWS, *filler, human("and now?")], FMT)
    policy = load("balanced", {"gate": "always_summarise"})
    found = plan(path, Compaction(), FMT, policy=policy, limits=policy.limits(12_000), reason="manual")
    assert isinstance(found, Summarise)
    made = audited(apply(found, Sections()))
    told = made.compaction.audit
    assert told.kept + told.recoverable == len(made.account.facts)
    assert (told.lost, told.mutated) == (0, 0)
    assert sum(kind.total for kind in told.kinds) == len(made.account.facts)
    assert audited(made) == made


def emergency_of(more: int = 0) -> tuple[Candidate, list[Message]]:
    """One made without a model, and its path with messages that came later."""
    filler = [
        raw for i in range(30) for raw in used("bash", {"command": f"make step{i}"}, f"line {i} of it\n" * 60, i + 10)
    ]
    raws = [*RAWS, *filler, human("and now?"), *(says(f"later {i}") for i in range(more))]
    path = placed(raws, FMT)
    policy = load("balanced")
    before = path[: len(path) - more]
    limits = replace(policy.limits(12_000), usable=3_000, soft=1_500, tail=300)
    return emergency(before, Compaction(), FMT, policy=policy, limits=limits), path


@pytest.mark.parametrize("more", [0, 4])
def test_an_audit_made_later_is_the_one_it_would_have_had(more: int) -> None:
    made, path = emergency_of(more)
    late = audit_of(made.compaction, path, FMT)
    assert late is not None
    assert late.kinds
    assert late == audited(made).compaction.audit


def test_what_is_not_there_any_more_is_not_audited() -> None:
    made, path = emergency_of()
    assert audit_of(made.compaction, path[2:], FMT) is None
    assert audit_of(Compaction(), path, FMT) is None


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the real transcripts are not there")
def test_a_recorded_summary_mutates_and_loses_nothing_of_its_session() -> None:
    """What its prose alone keeps is printed; the rest is found by handle."""
    seen = 0
    for name in ("pi_before-compaction.jsonl", "kimi_tools_compaction.jsonl"):
        for report in reports(name, summaries=True):
            seen += 1
            path = report.path
            items = ledger(path)
            record = Compaction(
                covered=((0, len(path)),),
                summary=f"{SUMMARY_HEAD}all",
                sections=Sections(titles=("Goal",), bodies=(report.text,)),
                human=human_items(path),
            )
            found = judge(items, placed([human(report.text)], FMT), record, path)
            print(
                report.name, {verdict: found.count(verdict) for verdict in ("kept", "recoverable", "lost", "mutated")}
            )
            assert set(found) <= {"kept", "recoverable"}
    assert seen == 3


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bash", {"command": "python - <<'EOF'\nx = 1\ny = 2\nz = 3\nprint(x)\nEOF"}),
        ("bash", {"command": "set -e\nmake a\nmake b\nls\nid"}),
        ("bash", {"command": "cat \u6587\u6863/\u8bf4\u660e.txt"}),
        ("write_file", {"path": "docs/gr\u00f6\u00dfe/\u00fcber.md", "content": "x"}),
        ("TodoWrite", {"todos": [{"content": "A\u00f1adir m\u00e1s pruebas", "status": "pending"}]}),
    ],
    ids=["heredoc", "lines", "chinese", "german", "spanish"],
)
def test_escapes_in_the_json_of_a_call_hide_nothing(tool: str, arguments: Raw) -> None:
    raws = [human(SAID), *used(tool, arguments, "ok", 1)]
    record = COVERED.model_copy(update={"covered": ((0, 3),)})
    told = verdicts([human("summary")], record, raws)
    assert len(told) > 1
    assert set(told.values()) == {"recoverable"}
    assert {key: verdict for key, verdict in verdicts(raws, record, raws).items() if verdict != "kept" and key[1]} == {}
