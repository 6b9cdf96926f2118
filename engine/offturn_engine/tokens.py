"""Token estimates without a tokenizer, calibrated per session by the provider's own usage.

A constant divisor cannot work: bytes/4 loses a third on logs and two thirds on base64, characters/4 is unusable for
CJK. The estimate is linear in counts that `bytes.translate` finds at hundreds of MB/s; its weights were fitted to the
o200k vocabulary on prose, code, logs, JSON, base64, hex and CJK text. What a vocabulary adds on top is `Calibration`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import ceil, floor
from statistics import median, median_low
from typing import TypeAlias

from offturn_engine.compaction import Record
from offturn_engine.messages import Json

Estimate: TypeAlias = Callable[[Json], int]
"""Tokens of a raw message of any format."""

PER_BYTE = 0.225
PER_DIGIT = 0.56
PER_PUNCTUATION = 0.215
PER_SPACE_PAIR = -0.40  # runs of blanks are one token
PER_WIDE = 0.15  # three-byte characters: CJK, Hangul, kana
PER_ASTRAL = 0.8  # four-byte characters: emoji, rare CJK
PER_RUN_CAPITAL = 0.9  # capitals in long unbroken runs: base64, keys, hashes

MESSAGE = 4  # role and delimiters
CALL = 8  # the frame of one tool call or result
IMAGE = 1_600
PAGE = 2_000  # of a document
PAGE_BYTES = 50_000
PAGES_UNKNOWN = 5
PAGES_MOST = 100
SOUND_BYTES = 1_600  # a token: a tenth of a second at 128 kbit/s; unpacked sound counts for more than it costs

_DIGITS = b"0123456789"
_PUNCTUATION = bytes(b for b in range(127) if b not in b"\t\n\v\f\r " and not chr(b).isalnum())
_WIDE = bytes(range(0xE0, 0xF0))
_ASTRAL = bytes(range(0xF0, 0xF5))
_COUNTED = _DIGITS + _PUNCTUATION + _WIDE + _ASTRAL
_OTHERS = bytes(b for b in range(256) if b not in _COUNTED)
_CLASS = bytes.maketrans(_COUNTED, b"0" * 10 + b"." * len(_PUNCTUATION) + b"w" * 16 + b"x" * 5)
_NOT_CAPITALS = bytes(b for b in range(256) if not 65 <= b <= 90)
_RUN_BYTES = bytes(97 if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "+/=_-") else 32 for b in range(256))
_RUN = b"a" * 48


def estimate_text(text: str) -> int:
    """Estimated tokens of a text; at least 1 unless it is empty. Never raises, lone surrogates included."""
    data = text.encode("utf-8", "surrogatepass")
    size = len(data)
    classes = data.translate(_CLASS, _OTHERS)  # one pass, whatever is counted
    digits, wide, astral = classes.count(b"0"), classes.count(b"w"), classes.count(b"x")
    tokens = (
        PER_BYTE * size
        + PER_DIGIT * digits
        + PER_PUNCTUATION * (len(classes) - digits - wide - astral)
        + PER_SPACE_PAIR * data.count(b"  ")
    )
    if size >= len(_RUN):
        tokens += PER_RUN_CAPITAL * _run_capitals(data)
    return ceil(tokens + (PER_WIDE * wide + PER_ASTRAL * astral))


def _run_capitals(data: bytes) -> int:
    """Capitals inside unbroken runs of at least 48 letters, digits and base64 signs."""
    mapped = data.translate(_RUN_BYTES)
    capitals, start = 0, mapped.find(_RUN)
    while start >= 0:
        end = mapped.find(b" ", start)
        end = len(data) if end < 0 else end
        capitals += len(data[start:end].translate(None, _NOT_CAPITALS))
        start = mapped.find(_RUN, end)
    return capitals


def estimate_message(raw: Json) -> int:
    """Estimated tokens of a raw message of any format: its texts, its frame, and a fixed cost for each image.

    Signatures are not seen by the model and cost nothing; encrypted reasoning costs what its text may have cost.
    """
    text, frame = text_and_frame(raw)
    return frame + estimate_text(text)


def text_and_frame(raw: Json) -> tuple[str, int]:
    """What is measured as text in a raw message of any format, and the tokens of all else in it."""
    texts: list[str] = []
    frame = MESSAGE + _walk(raw, texts)
    return "\n".join(texts), frame


def estimate_json(value: Json) -> int:
    """Estimated tokens of a JSON value sent as it is: tool definitions, a system prompt."""
    return estimate_text(json.dumps(value, ensure_ascii=False, default=str))


IMAGES = frozenset({"image", "image_url", "input_image"})
SOUNDS = frozenset({"input_audio"})
DOCUMENTS = frozenset({"document", "file", "input_file"})
_MEDIA = IMAGES | SOUNDS | DOCUMENTS
_FRAMED = frozenset(
    [
        "function",
        "custom",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
    ]
)
_UNSEEN = frozenset(
    [
        "type",
        "role",
        "signature",
        "cache_control",
        "prompt_cache_breakpoint",
        "status",
        "thoughtSignature",
        "thought_signature",
        "thought",
    ]
)
_AS_JSON = frozenset({"input", "args", "response"})  # what stands there is shown to the model with its field names
_BLOBS = frozenset({"inlineData", "inline_data"})
_REFERENCES = frozenset({"fileData", "file_data"})
_ENCRYPTED = frozenset({"encrypted_content", "data"})


def _walk(value: Json, texts: list[str]) -> int:
    """Collect the texts of a value; return the tokens that are not text."""
    if isinstance(value, dict):
        return _walk_object(value, texts)
    if isinstance(value, list | tuple):
        return sum(_walk(item, texts) for item in value)
    if value is not None:
        texts.append(str(value))
    return 0


def _walk_object(value: dict[str, Json], texts: list[str]) -> int:
    kind = value.get("type")
    if isinstance(kind, str) and kind in _MEDIA:
        return _medium(kind, value, texts)
    fixed = CALL if isinstance(kind, str) and kind in _FRAMED else 0
    for key, item in value.items():
        if isinstance(item, str):  # what most are, at once
            if key in _ENCRYPTED:
                fixed += len(item) // 6  # base64 of about 4.5 bytes per token
            elif key not in _UNSEEN:
                texts.append(str(item))
        elif key in _BLOBS and isinstance(item, dict):
            fixed += _blob(item)
        elif key in _REFERENCES and isinstance(item, dict):
            fixed += IMAGE if _is_image(item) else PAGES_UNKNOWN * PAGE
        elif key in _AS_JSON and isinstance(item, dict):
            texts.append(json.dumps(item, ensure_ascii=False, default=str))
        elif key not in _UNSEEN:
            fixed += _walk(item, texts)
    return fixed


def _medium(kind: str, value: dict[str, Json], texts: list[str]) -> int:
    if kind in IMAGES:
        return IMAGE
    return _sound(value) if kind in SOUNDS else _document(value, texts)


def _sound(block: dict[str, Json]) -> int:
    """By size; where that is not known, as an image."""
    sound = block.get("input_audio")
    data = sound.get("data") if isinstance(sound, dict) else None
    return max(1, len(data) * 3 // 4 // SOUND_BYTES) if isinstance(data, str) else IMAGE


def _document(block: dict[str, Json], texts: list[str]) -> int:
    """Plain text counts as text; a file counts by its size, one page in 50 kB; a reference as five pages."""
    source = block.get("source") or block.get("file") or block
    if not isinstance(source, dict):
        return PAGES_UNKNOWN * PAGE
    if source.get("type") in ("text", "content"):
        return _walk({k: v for k, v in source.items() if k != "data"}, texts) + _walk(source.get("data"), texts)
    data = source.get("data") or source.get("file_data")
    if not isinstance(data, str):
        return PAGES_UNKNOWN * PAGE
    return _pages(data)


def _pages(data: str) -> int:
    return min(PAGES_MOST, 1 + len(data) * 3 // 4 // PAGE_BYTES) * PAGE


def _blob(blob: dict[str, Json]) -> int:
    """Inline data of Gemini's: an image, or as many pages as its size stands for."""
    data = blob.get("data")
    return IMAGE if _is_image(blob) else _pages(data if isinstance(data, str) else "")


def _is_image(blob: dict[str, Json]) -> bool:
    return str(blob.get("mimeType") or blob.get("mime_type") or "").startswith("image/")


# Calibration -----------------------------------------------------------------------------------------------------

Pair: TypeAlias = tuple[int, int, int]
"""(estimate of the view, input tokens reported, estimated overhead declared), in order of observation."""

FACTOR_LEAST, FACTOR_MOST = 0.5, 3.0
PAIRS = 16
DECAY = 0.9
RECENT = 5  # residuals that decide the overhead


class Calibration(Record):
    """How a provider's count relates to our estimate: `reported = factor x estimate + overhead`.

    `overhead` is real tokens of all that is outside the estimate: system prompt, tools, the provider's own frame.
    """

    factor: float = 1.0
    overhead: int = 0
    pairs: tuple[Pair, ...] = ()

    def observe(self, estimate: int, reported: int, declared_overhead: int = 0) -> Calibration:
        """Learn from one request: estimated tokens of its messages, and the input tokens the provider reported.

        `declared_overhead` is the estimate of what was sent beside the messages. A report of nothing changes nothing.
        """
        if reported <= 0 or estimate < 0:
            return self
        pairs = _kept((*self.pairs, (estimate, reported, max(0, declared_overhead))))
        factor = _factor(pairs, self.factor)
        overhead = median_low([r - factor * e for e, r, _ in _inliers(pairs)[-RECENT:]])
        return Calibration(factor=factor, overhead=max(0, round(overhead)), pairs=pairs)

    def real(self, estimate: int) -> int:
        """Input tokens the provider will report for a view of this estimate. Rises with the estimate."""
        return self.overhead + ceil(self.factor * max(0, estimate) - 1e-6)

    def estimate_for(self, real_tokens: int) -> int:
        """The largest estimate whose real tokens stay within `real_tokens`; 0 where nothing does."""
        return max(0, floor((real_tokens - self.overhead) / self.factor + 1e-9))


def _kept(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """At most PAIRS pairs, spread out: never the newest, smallest or largest goes, but one whose neighbours are near."""
    if len(pairs) <= PAIRS:
        return pairs
    order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
    newest = len(pairs) - 1
    inner = [
        (pairs[above][0] - pairs[below][0], i)
        for below, i, above in zip(order, order[1:], order[2:], strict=False)
        if i != newest
    ]
    gone = min(inner)[1]
    return tuple(pair for i, pair in enumerate(pairs) if i != gone)


def _factor(pairs: tuple[Pair, ...], current: float) -> float:
    """The slope where estimates spread enough to show one, else the ratio to all that was declared."""
    inliers = _inliers(pairs)
    slope = _slope(inliers) if _spread(inliers) else 0.0
    if FACTOR_LEAST <= slope <= FACTOR_MOST:
        return slope
    ratio = median_low([r / max(1, e + declared) for e, r, declared in inliers])
    if FACTOR_LEAST <= ratio <= FACTOR_MOST:
        return ratio
    return min(max(current, FACTOR_LEAST), FACTOR_MOST)  # only an undeclared overhead explains such a ratio


def _spread(pairs: tuple[Pair, ...]) -> bool:
    estimates = [e for e, _, _ in pairs]
    return max(estimates) - min(estimates) >= max(1_000, max(estimates) // 4)


def _slope(pairs: tuple[Pair, ...]) -> float:
    """Decayed least squares: the newest pair weighs most."""
    weights = [DECAY**age for age in range(len(pairs) - 1, -1, -1)]
    total = sum(weights)
    mean_e = sum(w * e for w, (e, _, _) in zip(weights, pairs, strict=True)) / total
    mean_r = sum(w * r for w, (_, r, _) in zip(weights, pairs, strict=True)) / total
    above = sum(w * (e - mean_e) * (r - mean_r) for w, (e, r, _) in zip(weights, pairs, strict=True))
    below = sum(w * (e - mean_e) ** 2 for w, (e, _, _) in zip(weights, pairs, strict=True))
    return above / below if below else 0.0


def _inliers(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """Pairs near the line through the medians (Theil-Sen), which one wild report in three cannot move."""
    if len(pairs) < 3:
        return pairs
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(pairs) for b in pairs[i + 1 :] if a[0] != b[0]]
    slope = min(max(median_low(slopes), FACTOR_LEAST), FACTOR_MOST) if slopes else 1.0
    residuals = [r - slope * e for e, r, _ in pairs]
    middle = median(residuals)
    usual, spread = median([r for _, r, _ in pairs]), 6 * median([abs(x - middle) for x in residuals])
    return tuple(
        pair
        for pair, x in zip(pairs, residuals, strict=True)
        if abs(x - middle) <= max(spread, 0.1 * max(usual, pair[1]))  # a large request may be off by more
    )


_CLAUDE = re.compile(r"claude-(?:[a-z]+-)*(\d{1,2})(?:[-.](\d{1,2})(?!\d))?(?!\d)")


def prior(model: str | None) -> float:
    """The factor to start from: newer Claude vocabularies make 1.45 tokens of one estimated, older ones 1.1.

    A Claude without a number in its name counts as new. Any other model, or none: 1.0.
    """
    name = (model or "").lower()
    if "claude" not in name:
        return 1.0
    version = _CLAUDE.search(name)
    if version is None or (int(version[1]), int(version[2] or 0)) >= (4, 7):
        return 1.45
    return 1.1
