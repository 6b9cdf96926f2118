"""Token estimates by kind of text, and what calibration learns.

The expected tokens were counted once with the o200k vocabulary on these very texts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from offturn_engine.tokens import (
    IMAGE,
    PAGE,
    PAIRS,
    Calibration,
    estimate_json,
    estimate_message,
    estimate_text,
    prior,
)


def noise(size: int) -> bytes:
    """Bytes without a pattern, the same in every run."""
    return b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(1 + size // 32))[:size]


def log_line(i: int) -> str:
    tag = noise(16 * (i + 1))[-8:].hex()
    return f"2026-11-03T10:{i % 60:02d}:07.{i * 37 % 1000:03d}Z INFO [worker-{i % 9}] req={tag} path=/api/v1/users/{i * 7919} status=200 dur={i * 1.37:.2f}ms"


PROSE = (
    "The agent reads the file, finds the function that compares the two tokens, and explains why an attacker could "
    "measure the time it takes. After that it writes a test which fails, changes one line, and runs the whole suite "
    "again before it reports what was done and what is left to do.\n"
)
CODE = '''def render(path: Path, compaction: Compaction) -> list[Message]:
    """The messages the model sees next."""
    if not compaction.covered:
        return [message for message in path.messages if message.visible]
    for index, message in enumerate(path.messages):
        if contains(compaction.covered, message.seq):
            continue
        yield apply_edits(message, compaction.edits.get(index, ()))

'''
ROWS = [{"id": i * 31, "name": f"user{i}", "active": i % 2 == 0, "score": i / 7} for i in range(60)]
CHINESE = "这个服务在后台压缩对话历史, 不会让用户等待. 所有消息都保留在日志里, 可以随时回滚到之前的版本. 请不要修改数据库结构.\n"

KINDS: dict[str, tuple[str, int]] = {
    "prose": (PROSE * 8, 472),
    "code": (CODE * 8, 696),
    "json": (json.dumps(ROWS), 1_812),
    "json indented": (json.dumps(ROWS, indent=2), 2_293),
    "log": ("\n".join(log_line(i) for i in range(60)), 3_057),
    "chinese": (CHINESE * 10, 420),
    "base64": (base64.b64encode(noise(6000)).decode(), 5_470),
    "base64 lines": (base64.encodebytes(noise(6000)).decode(), 5_591),
    "hex": (noise(3000).hex(), 3_396),
    "emoji": ("😀🚀✅ done 🎉\n" * 100, 800),
}


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_stay_near_the_tokenizer(kind: str) -> None:
    text, counted = KINDS[kind]
    assert 0.84 * counted <= estimate_text(text) <= 1.16 * counted


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_joining_texts_adds_their_estimates(kind: str, data: st.DataObject) -> None:
    text = KINDS[kind][0]
    cut = data.draw(st.integers(0, len(text)))
    whole, parts = estimate_text(text), estimate_text(text[:cut]) + estimate_text(text[cut:])
    assert abs(whole - parts) <= 50


@given(st.text(st.characters(), max_size=200))
def test_any_text_has_an_estimate(text: str) -> None:
    tokens = estimate_text(text)
    assert (tokens > 0) == bool(text)
    assert tokens <= 3 + 4 * len(text)


SIGNS = "".join(map(chr, [*range(9), *range(14, 32), *b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"]))


@given(st.text(st.sampled_from("aZ09 \n\x7fé€中\ud800😀" + SIGNS), max_size=47))
@example(SIGNS)
def test_an_estimate_is_linear_in_what_it_counts(text: str) -> None:
    """Shorter than a run, so counted by hand: bytes, digits, signs, pairs of blanks, characters of three and four bytes."""
    size = {one: len(one.encode("utf-8", "surrogatepass")) for one in text}
    bytes_, digits, signs = sum(size[one] for one in text), *(sum(one in of for one in text) for of in ("09", SIGNS))
    wide, astral = (sum(size[one] == count for one in text) for count in (3, 4))

    exact = 0.225 * bytes_ + 0.56 * digits + 0.215 * signs - 0.4 * text.count("  ") + 0.15 * wide + 0.8 * astral

    assert abs(estimate_text(text) - math.ceil(exact - 1e-9)) <= (abs(exact - round(exact)) < 1e-9)


@pytest.mark.parametrize("text", ["a" * 200_000, " " * 200_000, "\0" * 200_000, "\ud800" * 1_000, "/" * 100_000])
def test_pathological_texts(text: str) -> None:
    assert 0 < estimate_text(text) <= len(text)


def test_a_message_counts_all_its_text() -> None:
    texts = ["one two three", PROSE, CODE]
    blocks = [{"type": "text", "text": text} for text in texts]
    result = {"type": "tool_result", "tool_use_id": "t", "content": blocks}
    least = sum(map(estimate_text, texts))
    for raw in ({"role": "user", "content": blocks}, {"role": "user", "content": [result]}):
        assert least <= estimate_message(raw) <= least + 20


def test_arguments_count_in_both_formats() -> None:
    arguments = {"path": "src/a.py", "content": CODE}
    text = json.dumps(arguments)
    function = {"name": "write", "arguments": text}
    chat = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    blocks = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "write", "input": arguments}]}
    assert estimate_message(chat) == pytest.approx(estimate_text(text), abs=25)
    assert estimate_message(blocks) == pytest.approx(estimate_text(text), abs=25)


IMAGE_DATA = base64.b64encode(noise(400_000)).decode()


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE_DATA}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + IMAGE_DATA}},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": {"data": IMAGE_DATA}}]},
    ],
)
def test_an_image_costs_the_same_whatever_its_bytes(part: dict[str, Any]) -> None:
    assert estimate_message({"role": "user", "content": [part]}) == pytest.approx(IMAGE, abs=20)


@pytest.mark.parametrize(
    ("source", "tokens"),
    [
        ({"type": "base64", "media_type": "application/pdf", "data": "A" * 1_000}, PAGE),
        ({"type": "base64", "media_type": "application/pdf", "data": IMAGE_DATA}, 9 * PAGE),
        ({"type": "base64", "media_type": "application/pdf", "data": "A" * 10_000_000}, 100 * PAGE),
        ({"type": "url", "url": "https://example.com/a.pdf"}, 5 * PAGE),
        ({"type": "text", "media_type": "text/plain", "data": PROSE}, estimate_text(PROSE)),
    ],
)
def test_a_document_costs_its_pages(source: dict[str, Any], tokens: int) -> None:
    message = {"role": "user", "content": [{"type": "document", "source": source}]}
    assert estimate_message(message) == pytest.approx(tokens, abs=30)


def test_what_the_model_does_not_see_is_free() -> None:
    block = {"type": "thinking", "thinking": PROSE, "signature": "s"}
    long = block | {"signature": "A" * 5_000, "cache_control": {"type": "ephemeral"}}
    one, other = ({"role": "assistant", "content": [b]} for b in (block, long))
    assert estimate_message(one) == estimate_message(other)


def test_json_is_estimated_as_sent() -> None:
    assert estimate_json({"a": "路径"}) == estimate_text('{"a": "路径"}')


# Calibration

estimates = st.integers(0, 300_000)
reports = st.integers(-1, 1_000_000)


def learnt(*pairs: tuple[int, int], declared: int = 0, start: float = 1.0) -> Calibration:
    calibration = Calibration(factor=start)
    for estimate, reported in pairs:
        calibration = calibration.observe(estimate, reported, declared)
    return calibration


@given(st.lists(st.tuples(estimates, reports, estimates), max_size=30), estimates, st.integers(0, 50_000))
def test_calibration_is_bounded_and_monotone(pairs: list[tuple[int, int, int]], estimate: int, more: int) -> None:
    calibration = Calibration()
    for pair in pairs:
        calibration = calibration.observe(*pair)
    assert 0.5 <= calibration.factor <= 3
    assert calibration.overhead >= 0
    assert len(calibration.pairs) <= PAIRS
    assert calibration.real(estimate) <= calibration.real(estimate + more)
    assert calibration.estimate_for(estimate) <= calibration.estimate_for(estimate + more)
    assert Calibration.model_validate_json(calibration.model_dump_json()) == calibration


@given(st.floats(0.5, 3), st.integers(0, 40_000), st.integers(0, 1_000_000))
def test_estimate_for_is_the_inverse(factor: float, overhead: int, real: int) -> None:
    calibration = Calibration(factor=factor, overhead=overhead)
    estimate = calibration.estimate_for(real)
    assert estimate >= 0
    if estimate:
        assert calibration.real(estimate) <= real
    assert calibration.real(estimate + 1) >= real


def test_nothing_is_known_at_first() -> None:
    assert (Calibration().real(1_000), Calibration().estimate_for(1_000)) == (1_000, 1_000)
    assert Calibration().observe(10, 0) == Calibration()


@given(st.floats(0.6, 2.8), st.integers(0, 40_000), st.lists(st.integers(50, 200_000), min_size=2, max_size=40))
def test_a_line_is_learnt(factor: float, overhead: int, seen: list[int]) -> None:
    assume(max(seen) - min(seen) >= max(1_000, max(seen) // 2))
    calibration = learnt(*((e, round(factor * e) + overhead) for e in seen if factor * e + overhead >= 1))
    assume(len(calibration.pairs) > 1)
    for estimate in seen:
        assert calibration.real(estimate) == pytest.approx(factor * estimate + overhead, rel=0.02, abs=50)


def test_the_declared_overhead_gives_the_factor_where_estimates_do_not_spread() -> None:
    calibration = learnt((1_000, 23_200), (1_100, 23_350), declared=15_000)
    assert calibration.factor == pytest.approx(1.45, abs=0.01)
    assert calibration.real(1_000) == pytest.approx(23_200, abs=100)


def test_an_undeclared_overhead_is_no_factor() -> None:
    calibration = learnt((100, 21_000), start=1.1)
    assert calibration.factor == 1.1
    assert calibration.real(100) == pytest.approx(21_000, abs=10)
    assert calibration.observe(30_100, 54_000).factor == pytest.approx(1.1, abs=0.01)


@pytest.mark.parametrize("wild", [(60_000, 3), (60_000, 9_000_000), (0, 900_000), (200_000, 1_000)])
@pytest.mark.parametrize("at", [0, 1, 3, 6])
def test_one_wild_report_does_not_throw_it_off(wild: tuple[int, int], at: int) -> None:
    pairs = [(e, round(1.3 * e) + 5_000) for e in range(20_000, 90_000, 10_000)]
    pairs.insert(at, wild)
    calibration = learnt(*pairs)
    for estimate in (20_000, 100_000):
        assert calibration.real(estimate) == pytest.approx(1.3 * estimate + 5_000, rel=0.05)


def test_another_model_is_learnt_anew() -> None:
    before = [(e, e + 3_000) for e in range(10_000, 100_000, 5_000)]
    after = [(e, round(1.45 * e) + 4_000) for e in range(30_000, 150_000, 5_000)]
    assert learnt(*before, *after).real(100_000) == pytest.approx(149_000, rel=0.03)


def test_slow_growth_still_shows_its_slope() -> None:
    """Steps of 1 % never spread within a short window: spread-out pairs must be kept."""
    pairs = [(e, round(1.4 * e) + 20_000) for e in range(50_000, 100_000, 500)]
    assert learnt(*pairs).factor == pytest.approx(1.4, abs=0.02)


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        (None, 1.0),
        ("", 1.0),
        ("openai:gpt-6-luna", 1.0),
        ("deepseek-v4-flash", 1.0),
        ("claude-3-opus-20240229", 1.1),
        ("claude-3-5-sonnet-20241022", 1.1),
        ("claude-opus-4-20250514", 1.1),
        ("anthropic:claude-opus-4-5", 1.1),
        ("claude-haiku-4-5-20251001", 1.1),
        ("claude-opus-4-6", 1.1),
        ("claude-opus-4-7", 1.45),
        ("anthropic:claude-opus-5-5", 1.45),
        ("claude-haiku-5-5", 1.45),
        ("claude-sonnet-5", 1.45),
        ("us.anthropic.claude-opus-4-8-v1:0", 1.45),
        ("us.anthropic.claude-3-haiku-20240307-v1:0", 1.1),
        ("openrouter/anthropic/claude-sonnet-4.5", 1.1),
        ("claude-mythos-preview", 1.45),
    ],
)
def test_prior(model: str | None, factor: float) -> None:
    assert prior(model) == factor


PI = Path(__file__).parents[3] / "shared" / "transcripts" / "pi_before-compaction.jsonl"


@pytest.mark.skipif(not PI.exists(), reason="the folder shared/transcripts is not beside this checkout")
def test_a_recorded_session_is_predicted_within_eight_percent() -> None:
    """Each turn's reported input from what was learnt before it; up to the session's own first compaction."""
    calibration, estimate, turns = Calibration(factor=prior("claude-opus-4-5")), 0, 0
    for record in map(json.loads, PI.read_text(encoding="utf-8").splitlines()):
        if record["type"] == "compaction":
            break
        message = record.get("message")
        if message is None:
            continue
        usage = message.get("usage", {})
        reported = usage.get("input", 0) + usage.get("cacheRead", 0) + usage.get("cacheWrite", 0)
        if reported:
            assert not turns or calibration.real(estimate) == pytest.approx(reported, rel=0.08)
            calibration, turns = calibration.observe(estimate, reported), turns + 1
        estimate += estimate_message({"role": message["role"], "content": [_seen(b) for b in message["content"]]})
    assert turns > 150


def _seen(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "toolCall":
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["arguments"]}
    return {k: v for k, v in block.items() if k != "thinkingSignature"}
