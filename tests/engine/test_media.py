"""Media are named by kind, size and content, and base64 in a text is told apart from text."""

from __future__ import annotations

import base64
import json
import random
import textwrap
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_config.presets import load
from offturn_engine.handles import text_behind
from offturn_engine.human import human_items
from offturn_engine.human import render as render_human
from offturn_engine.leave_out import old_images
from offturn_engine.mask import mask
from offturn_engine.media import encoded, known, source_of, without_encoded
from offturn_engine.messages import MediaPart, ToolCallPart, ToolResultPart
from offturn_engine.stubs import is_stub, stub
from offturn_engine.telling import telling
from offturn_engine.tokens import IMAGE, PAGE, SOUND_BYTES, estimate_message, estimate_text
from offturn_engine.transcript_text import serialise, text_of
from tests.engine.raws import ANTHROPIC, OPENAI, Raw, human, placed, result, says
from tests.engine.talk import RECORDED


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


PNG = b"\x89PNG\r\n\x1a\n" + noise(3_000)
DATA = base64.b64encode(PNG).decode()
NAME = f"image/png, 3 KB, sha256:{sha256(PNG).hexdigest()[:12]}"


def image(data: str = DATA) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def block(data: str = DATA) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def test_the_same_picture_has_the_same_name_in_every_dialect() -> None:
    [in_chat] = OPENAI.parse({"role": "user", "content": [image()]}).parts
    [in_blocks] = ANTHROPIC.parse({"role": "user", "content": [block()]}).parts
    [in_result] = ANTHROPIC.parse(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [block()]}]}
    ).parts
    inline = source_of({"inline_data": {"mime_type": "image/png", "data": DATA}})

    assert isinstance(in_chat, MediaPart)
    assert isinstance(in_blocks, MediaPart)
    assert isinstance(in_result, ToolResultPart)
    named = {str(known(part)) for part in (in_chat, in_blocks, *in_result.attached, MediaPart("image", 9, inline))}
    assert named == {NAME}
    assert (in_result.media, len(in_result.attached)) == (1, 1)
    assert DATA not in repr(in_chat)
    assert without_encoded(f"see {DATA} there") == f"see ({NAME}) there"
    assert without_encoded(f"é ![a](data:image/x-own;base64,{DATA}) b") == f"é ![a](({NAME})) b"
    assert without_encoded(f"data: x, {DATA}") == f"data: x, ({NAME})"
    assert NAME in text_behind(OPENAI.parse({"role": "user", "content": [image()]}))


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (MediaPart("image", 90, "https://example.com/a.png"), "image, not held here, sha256:"),
        (MediaPart("document", 90, "data:application/pdf;base64,JVBERi0xLjQK"), "application/pdf, 9 bytes, sha256:"),
        (MediaPart("audio", 9_000), "audio, 9 KB"),
    ],
)
def test_what_is_known_is_said(part: MediaPart, told: str) -> None:
    assert str(known(part)).startswith(told)


@pytest.mark.parametrize("wrap", [0, 64, 76])
@pytest.mark.parametrize("head", [PNG, b"%PDF-1.7\n" + noise(2_000), b"RIFF\0\0\0\0WEBP" + noise(2_000), noise(2_001)])
def test_base64_is_found_alone_among_words_and_wrapped(head: bytes, wrap: int) -> None:
    plain = base64.b64encode(head).decode()
    text = "\n".join(textwrap.wrap(plain, wrap)) if wrap else plain

    [(start, end, what)] = encoded(f"before\n\n{text}\n\nafter")

    assert what.size == pytest.approx(len(head), abs=60)
    assert len(without_encoded(f"before\n\n{text}\n\nafter")) < 200
    assert (start, end > start + 1_000) == (8, True)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 5_000,
        "a" * 100_000,
        "0123456789abcdef" * 2_000,
        "/usr/lib/python3/dist-packages" * 400,
        "x = 1\n" * 3_000,
        "ACGT" * 5_000,
        "",
    ],
)
def test_text_is_text(text: str) -> None:
    assert without_encoded(text) == text


@given(st.text(max_size=400), st.binary(min_size=800, max_size=1_200), st.text(max_size=400))
def test_what_is_around_base64_stays(before: str, data: bytes, after: str) -> None:
    packed = base64.b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()

    told = without_encoded(f"{before}\n {packed} \n{after}")

    assert told.startswith(f"{before}\n (image/png, ")
    assert told.endswith(f") \n{after}")


def test_a_summarizer_gets_the_name_and_never_the_bytes() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "shot", "arguments": f'{{"data": "{DATA}"}}'}}
    raws: list[Raw] = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}, image()]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        result("c", f"local_base64_img: {DATA}"),
        {"role": "user", "content": [{"type": "text", "text": "Again."}, image()]},
    ]

    text = text_of(serialise(placed(raws), {}))

    assert text.count(f"({NAME})") == 4
    assert DATA[:60] not in text
    assert len(text) < 700
    assert mask(text).text == text


def test_a_recorded_screenshot_as_text_is_known_for_one() -> None:
    file = RECORDED / "invariant_sample_2.json"
    if not file.is_file():
        pytest.skip("recorded sessions are not beside the repository")
    text = json.loads(file.read_text())["messages"][3]["content"]

    assert without_encoded(text) == "local_base64_img: (image/png, 205 KB, sha256:f876dd3570ee)"
    assert estimate_text(text) == pytest.approx(len(text) / 1.47, rel=0.1)  # what o200k makes of base64


def test_a_stub_of_base64_says_what_it_was() -> None:
    call, body = ToolCallPart("c", "shot", {}, "{}"), ToolResultPart("c", f"error: {DATA}\n{DATA[:-4]}", True)
    policy = load("five-step").prune

    for made in (stub(call, body, 7, None, policy), telling(call, body, 7, None, policy)):
        assert NAME in made
        assert DATA[:60] not in made
        assert is_stub(made)


def test_old_images_go_by_name_and_say_which_newer_one_is_the_same() -> None:
    other = base64.b64encode(PNG + b"!").decode()
    path = placed([{"role": "user", "content": [image(data)]} for data in (DATA, other, DATA)])

    gone = old_images(path, 1, lambda _, __: True)

    texts = {i: edits[0].text for i, [(edits, _)] in gone.items()}
    assert texts[0] == f"[image left out ({NAME}, the same as in m2) · recall m0]"
    assert texts[1] is not None
    assert "the same as" not in texts[1]
    assert {gain for [(_, gain)] in gone.values()} == {IMAGE}


def test_base64_does_not_use_up_the_room_for_human_words() -> None:
    path = placed([human(f"Never resize it: {DATA * 5} Keep the colours."), says("ok"), human("Thanks.")])
    whole = render_human(human_items(path), budget=100_000)

    short = render_human(human_items(path), budget=200)

    assert DATA in whole.text
    assert "Never resize it: (image/png, " in short.text
    assert "Keep the colours." in short.text
    assert (short.cut, short.verbatim) == (1, 1)


def test_tokens_go_by_kind() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": base64.b64encode(noise(160_000)).decode(), "format": "mp3"}}
    pdf = {"type": "file", "file": {"file_data": "data:application/pdf;base64," + "A" * 1_000}}

    def cost(part: dict[str, Any]) -> int:
        return estimate_message({"role": "user", "content": [part]}) - estimate_message({"role": "user", "content": []})

    assert cost(image()) == cost(image(DATA * 100)) == IMAGE
    assert cost(pdf) == PAGE
    assert cost(sound) == 160_000 // SOUND_BYTES
    assert (
        estimate_text(DATA) > 1.5 * len(DATA) / 4
    )  # what is sent as text costs what its text costs, and base64 is dear
