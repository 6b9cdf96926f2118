"""Rules H3, C1, O1, F4, B1 and the parameters of prune that no rule names."""

from __future__ import annotations

import json
from base64 import b64decode
from hashlib import sha256

import pytest

from offturn_config.presets import load
from offturn_engine.boundaries import Split, at
from offturn_engine.compaction import Compaction
from offturn_engine.formats import get, parse_all
from offturn_engine.messages import Message
from offturn_engine.plan import PruneOnly, Skip, Summarise
from offturn_engine.prune import Pruning, prune
from offturn_engine.ranges import contains, seqs_of, union
from offturn_engine.stubs import is_stub
from offturn_engine.turns import waiting_in
from tests.engine.raws import ANTHROPIC, OPENAI, Raw, human, placed, says
from tests.policies.histories import filler, path_of, planned, reads, turns, used

OLD = "[Old tool output cleared to save context space]"
LOG = "\n".join(f"line {i}: nothing to see here" for i in range(100))


def pruned(path: list[Message], **changes: object) -> Pruning:
    return prune(path, policy=load().prune.model_copy(update=changes), protected=(), edited={})


def test_H3_results_over_200_characters_outside_the_tail_become_the_placeholder() -> None:
    policy = load("hermes")
    limits = policy.limits(200_000)
    sizes = (100, 200, 201, 5_000, 60_000)
    old = [
        raw
        for i, size in enumerate(sizes)
        for raw in used("read", {"path": f"f{i}"}, "x " * (size // 2) + "x" * (size % 2), i)
    ]
    raws = [human("first"), says("one"), *old, *reads(20, 6_000, first=20), says("done"), human("on")]
    wanted = planned(path_of(raws, policy), policy, limits)
    assert isinstance(wanted, Summarise)  # gate: always
    shown = {seq: edit.text for (seq, _), edit in wanted.edits.items()}
    assert [shown.get(3 + 2 * i) for i in range(len(sizes))] == [None, None, OLD, OLD, OLD]
    tail = {m.seq for m in wanted.draft.path[wanted.draft.split.tail :]} if wanted.draft.split else set()
    assert len(tail) >= 20
    assert not tail & shown.keys()
    assert all(shown.get(m.seq) == OLD for m in wanted.messages if m.results and len(m.results[0][1].text) > 200)


def test_H3_results_of_the_head_are_cleared_in_the_view() -> None:
    policy = load("hermes", {"boundary.head_messages": 3})
    raws = [
        human("first"),
        *used("read", {"path": "a"}, filler(2_000), 0),
        *reads(25, 6_000, first=20),
        says("done"),
        human("on"),
    ]
    wanted = planned(path_of(raws, policy), policy, policy.limits(200_000))
    assert isinstance(wanted, Summarise)
    assert [(e.seq, e.text) for e in wanted.draft.edits if not contains(wanted.draft.split.cover, e.seq)] == [(2, OLD)]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["codex", "codex-0.125", "codex-remote"])
def test_C1_nothing_is_pruned_and_one_summary_is_asked_for(name: str) -> None:
    policy = load(name)
    path = path_of([*turns(3, each=reads(6, 10_000)), human("on")], policy)
    wanted = planned(path, policy, policy.limits(200_000))
    assert isinstance(wanted, Summarise)
    assert wanted.edits == {}
    assert wanted.draft.edits == ()


def hiding(tokens_each: int, count: int, *, name: str = "read") -> tuple[list[Message], object]:
    """Two turns with so many groups in the first, about 44,000 newer tokens, and two turns that are protected."""
    policy = load("opencode")
    raws = [human("zero"), *reads(count, tokens_each, name=name), says("zero done"), says(filler(44_000))]
    raws += [
        human("one"),
        *reads(2, 1_000, first=60),
        says("one done"),
        human("two"),
        *reads(2, 1_000, first=70),
        says("two done"),
    ]
    path = path_of(raws, policy)
    return path, planned(path, policy, policy.limits(200_000), reason="manual")


def test_O1_whole_old_groups_are_hidden_with_their_partners() -> None:
    path, found = hiding(5_000, 6)
    assert isinstance(found, PruneOnly)
    record: Compaction = found.candidate.compaction
    assert set(seqs_of(record.covered)) == set(range(1, 13))
    assert record.edits == ()
    assert not any(m.origin == "human" for m in path if contains(record.covered, m.seq))


def test_O1_only_where_more_than_20_000_tokens_go() -> None:
    assert isinstance(hiding(4_800, 4)[1], Skip | Summarise)
    assert isinstance(hiding(5_200, 4)[1], PruneOnly)


def test_O1_results_of_skill_never_go() -> None:
    assert isinstance(hiding(5_000, 6, name="skill")[1], Skip | Summarise)
    assert isinstance(hiding(5_000, 6, name="Skill")[1], Skip | Summarise)


@pytest.mark.parametrize("window", [128_000, 200_000])
def test_O1_the_newest_40_000_tokens_and_the_last_two_turns_stay(window: int) -> None:
    policy = load("opencode")
    limits = policy.limits(window)
    path = path_of([human("go"), *reads(20, 5_000), says("done"), human("a"), says("b"), human("c"), says("d")], policy)
    found = planned(path, policy, limits, reason="manual")
    assert isinstance(found, PruneOnly)
    left = [m for m in path if not contains(found.candidate.compaction.covered, m.seq)]
    assert 40_000 <= sum(m.tokens for m in left) < 46_000
    long_turns = path_of(
        [
            human("go"),
            *reads(5, 5_000),
            says("done"),
            human("a"),
            *reads(9, 5_000, first=30),
            says("b"),
            human("c"),
            says("d"),
        ],
        policy,
    )
    kept = planned(long_turns, policy, limits, reason="manual")
    assert isinstance(kept, PruneOnly)
    assert set(seqs_of(kept.candidate.compaction.covered)) == set(range(1, 11))


def test_O1_a_summary_is_asked_for_only_above_the_trigger() -> None:
    policy = load("opencode")
    assert policy.gate == "if_above_trigger"
    raws = [human("go"), *reads(12, 5_000), *[r for i in range(14) for r in (human(f"q{i}"), says(filler(9_000)))]]
    path = path_of(raws, policy)
    assert sum(m.tokens for m in path) - 60_000 < policy.limits(200_000).soft < sum(m.tokens for m in path)
    assert isinstance(planned(path, policy, policy.limits(200_000)), PruneOnly)
    more = path_of([*raws, *[r for i in range(4) for r in (human(f"r{i}"), says(filler(9_000)))]], policy)
    assert isinstance(planned(more, policy, policy.limits(200_000)), Summarise)


FAILED = f"{LOG}\nE   AssertionError: assert 1 == 2\n{LOG}\n3 failed, 12 passed in 1.2s\nProcess exited with code 1"
FOUND = f"# Session tokens\nhttps://example.com/a\n{LOG}\n## Rotating keys\n{LOG}\nConclusion: compare in constant time\n{LOG}"
HITS = "\n".join(f"src/{name}.py:{i}: def check" for name in "abc" for i in range(60))


def test_F4_results_are_reduced_to_their_telling_parts() -> None:
    policy = load("five-step")
    raws = [
        human("go"),
        *used("bash", {"command": "pytest"}, FAILED, 0),
        *used("web_search", {"query": "tokens"}, FOUND, 1),
    ]
    raws += [
        *used("grep", {"pattern": "check"}, HITS, 2),
        *used("read", {"path": "a.py"}, LOG, 3),
        *turns(4, each=reads(3, 2_000)),
    ]
    wanted = planned(path_of(raws, policy), policy, policy.limits(100_000), reason="phase")
    assert isinstance(wanted, Summarise)
    error, search, hits, read = [(wanted.edits[seq, 0].text or "").split("\n") for seq in (2, 4, 6, 8)]
    assert error[0].startswith("[reduced: bash pytest · exit 1 · ")
    assert "E   AssertionError: assert 1 == 2" in error
    assert error[-1] == "Process exited with code 1"
    assert len(error) < 20
    assert search[1:] == [
        "# Session tokens",
        "https://example.com/a",
        "…",
        "## Rotating keys",
        "…",
        "Conclusion: compare in constant time",
    ]
    assert hits[1:] == ["src/a.py:0: def check", "…", "src/b.py:0: def check", "…", "src/c.py:0: def check"]
    assert read[1:7] == LOG.split("\n")[:6]
    assert read[-6:] == LOG.split("\n")[-6:]
    assert all(is_stub("\n".join(lines)) for lines in (error, search, hits, read))


def test_old_reasoning_is_dropped_before_the_tail_and_signed_reasoning_by_whole_turns() -> None:
    def thinks(text: str, then: list[Raw]) -> Raw:
        return {"role": "assistant", "content": [{"type": "thinking", "thinking": text, "signature": "s"}, *then]}

    use = {"type": "tool_use", "id": "c", "name": "bash", "input": {}}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]}
    text = {"type": "text", "text": "done"}
    turn: list[Raw] = [human("go"), thinks("a " * 90, [use]), answer, thinks("b " * 90, [text])]
    path = placed([*turn, *turn], ANTHROPIC)
    edits = pruned(path, reasoning="drop").edits
    assert [(e.seq, e.part, e.rule) for e in edits] == [(1, 0, "reasoning"), (3, 0, "reasoning")]
    assert ANTHROPIC.edit(path[1], edits[:1]) == {"role": "assistant", "content": [use]}
    assert pruned(path).edits == ()

    spared = prune(path, policy=load().prune.model_copy(update={"reasoning": "drop"}), protected={3}, edited={})
    assert spared.edits == ()  # half of a turn's reasoning would not be sent back unchanged
    alone = placed([human("go"), thinks("a " * 90, []), thinks("b " * 90, [text]), *turn], ANTHROPIC)
    assert pruned(alone, reasoning="drop").edits == ()  # a message that would be empty keeps it, and so its turn

    gemini = get("gemini")
    thought = {"role": "model", "parts": [{"text": "d " * 90, "thought": True}]}
    said = [gemini.user("go"), thought, gemini.assistant("done"), gemini.user("go on")]
    lone = parse_all(gemini, said)
    assert pruned(lone, reasoning="drop").edits == ()  # nor is it left empty where nothing is signed

    plain: list[Raw] = [human("go"), {**says("done"), "reasoning_content": "c " * 90, "reasoning_details": [{"x": 1}]}]
    chat = placed([*plain, *plain])
    found = pruned(chat, reasoning="drop").edits
    assert {(e.seq, e.part) for e in found} == {(1, 1), (1, 2), (3, 1)}
    assert OPENAI.edit(chat[1], [e for e in found if e.seq == 1]) == says("done")


def test_all_but_the_newest_images_become_a_line_of_text() -> None:
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    words = {"type": "text", "text": "look at this"}
    chat = placed([{"role": "user", "content": [words, url]}, says("a"), {"role": "user", "content": [url]}, says("b")])
    edits = pruned(chat, images=1).edits
    assert [(e.seq, e.part, e.rule) for e in edits] == [(0, 1, "image")]
    name = f"image/png, 8 bytes, sha256:{sha256(b64decode('iVBORw0KGgo=')).hexdigest()[:12]}"
    line = f"[image left out ({name}, the same as in m2) · recall m0.1]"
    assert OPENAI.edit(chat[0], edits)["content"] == [words, {"type": "text", "text": line}]
    assert OPENAI.parse(OPENAI.edit(chat[0], edits)).text.startswith("look at this")

    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    shot = {"type": "image", "source": source}
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "view_image", "input": {}}]}
    seen = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [words, shot, shot]}]}
    path = placed([human("go"), use, seen, {"role": "user", "content": [words, shot]}], ANTHROPIC)
    edits = pruned(path, images=0).edits
    assert ANTHROPIC.edit(path[2], [edits[-1] if edits[-1].seq == 2 else edits[0]])["content"][0]["content"] == [
        {"type": "text", "text": f"look at this\n[2 images left out ({name}; {name}) · recall m2]"}
    ]
    assert {e.seq for e in edits} == {2, 3}
    assert {e.seq for e in pruned(path, images=1).edits} == {2}
    assert pruned(path).edits == ()


def test_a_result_without_its_images_can_still_be_cleared_later() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    blocks = [{"type": "text", "text": LOG}, {"type": "image", "source": source}]
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "bash", "input": {}}]}
    path = placed(
        [
            human("go"),
            use,
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": blocks}]},
        ],
        ANTHROPIC,
    )
    first = pruned(path, images=0, style="off").edits
    assert [e.rule for e in first] == ["image"]
    done = {(e.seq, e.part): e for e in first}
    policy = load().prune.model_copy(update={"images": 0})
    assert [e.rule for e in prune(path, policy=policy, protected=(), edited=done).edits] == ["stub"]


def test_zero_characters_leave_arguments_alone_and_off_leaves_results() -> None:
    path = path_of([human("go"), *used("write", {"content": "x" * 5_000}, LOG, 0)], load())
    assert [e.rule for e in pruned(path).edits] == ["stub", "arguments"]
    assert [e.rule for e in pruned(path, argument_characters=0).edits] == ["stub"]
    assert [e.rule for e in pruned(path, style="off").edits] == ["arguments"]


def test_oldest_first_or_the_late_half_first() -> None:
    path = path_of([raw for i in range(6) for raw in used("read", {"path": str(i)}, LOG + str(i), i)], load())
    assert [e.seq for e in pruned(path).edits] == [7, 9, 11, 1, 3, 5]
    assert [e.seq for e in pruned(path, order="oldest").edits] == [1, 3, 5, 7, 9, 11]


def test_tools_that_are_never_pruned_and_the_newest_results() -> None:
    path = path_of(
        [raw for i, n in enumerate(["read", "skill", "grep"]) for raw in used(n, {"path": str(i)}, LOG + str(i), i)],
        load(),
    )
    assert [e.seq for e in pruned(path, never=("Skill",), order="oldest").edits] == [1, 5]
    assert [e.seq for e in pruned(path, protected_results=2, order="oldest").edits] == [1]
    assert [e.seq for e in pruned(path, only="reproducible", order="oldest").edits] == [1, 5]


def test_parallel_results_are_protected_one_by_one() -> None:
    ids = [f"c{i}" for i in range(4)]
    made = [
        {"id": i, "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": i})}} for i in ids
    ]
    uses = [{"type": "tool_use", "id": i, "name": "read", "input": {"path": i}} for i in ids]
    results = [{"type": "tool_result", "tool_use_id": i, "content": LOG + i} for i in ids]
    path = placed(
        [human("go"), {"role": "assistant", "content": uses}, {"role": "user", "content": results}], ANTHROPIC
    )
    assert [(e.seq, e.part) for e in pruned(path, protected_results=3).edits] == [(2, 0)]
    chat = placed(
        [
            human("go"),
            {"role": "assistant", "tool_calls": made},
            *({"role": "tool", "tool_call_id": i, "content": LOG + i} for i in ids),
        ]
    )
    assert [e.seq for e in pruned(chat, protected_results=3).edits] == [2]


@pytest.mark.parametrize(("gain", "publishes"), [(0.5, True), (0.95, False), (20_000, True), (60_000, False)])
def test_less_than_the_minimum_gain_is_left_alone(gain: float, publishes: bool) -> None:
    policy = load("balanced", {"prune.minimum_gain": gain})
    path = path_of([human("go"), *reads(10, 5_000), says(filler(1_000)), human("on")], policy)
    assert isinstance(planned(path, policy, policy.limits(80_000)), PruneOnly) is publishes


def test_a_request_that_is_covered_already_is_replayed_where_human_messages_stay_in_place() -> None:
    """It cannot stay where it was; found by the properties with `balanced` before `codex-0.125`."""
    path = placed([human("fix it"), *reads(4, 500)])
    again = at(path, ((0, 3),), 7, system=0, human=1_000)
    assert again == Split(((3, 7),), 7)
    assert waiting_in(path, union(((0, 3),), again.cover)) == 0
    first = at(path, (), 7, system=0, human=1_000)
    assert first == Split(((1, 7),), 7)
    assert waiting_in(path, first.cover) is None
