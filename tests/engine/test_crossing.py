"""Views in another format: all formats into all others, pairs whole, words as they were, what is lost counted."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_engine.compaction import NOTHING
from offturn_engine.crossing import convert
from offturn_engine.formats import get, names, parse_all
from offturn_engine.formats.base import Format
from offturn_engine.groups import pair
from offturn_engine.messages import TextPart
from offturn_engine.render import render
from tests.engine.dialects import said_in
from tests.engine.makers import PNG, Raw
from tests.engine.raws import FORMATS, calls, human, odd, result, says, system
from tests.engine.strategies import transcripts

BETWEEN = [(source, target) for source in names() for target in names() if source != target]


def words(raws: list[Any], fmt: Format) -> list[str]:
    """What humans and assistants say, without what some formats cannot hold: blank texts and blanks at the end."""
    return [
        part.text.rstrip()
        for message in parse_all(fmt, raws)
        for part in message.parts
        if isinstance(part, TextPart) and part.text.strip()
    ]


@pytest.mark.parametrize(("source", "target"), BETWEEN)
@settings(max_examples=25)
@given(data=st.data())
def test_every_view_is_valid_in_every_other_format(source: str, target: str, data: st.DataObject) -> None:
    fmt, other = get(source), get(target)
    raws: list[Raw] = data.draw(st.one_of(transcripts(source, orphans=True), odd(fmt, 20)))
    view = render(parse_all(fmt, raws), NOTHING, fmt).messages
    before = copy.deepcopy(view)
    made = convert(view, fmt, other)
    assert view == before
    assert [p for p in other.problems(made.messages) if p.rule not in ("pending", "empty")] == []
    assert len(made.sources) == len(made.messages)
    assert made.sources == sorted(made.sources) or target == "text-observation"
    told = parse_all(other, made.messages)
    if "text-observation" not in (source, target):
        was, now = pair(parse_all(fmt, view)), pair(told)
        assert len(now.result_of) == len(was.result_of)
        assert (len(now.open_calls), now.orphans) == (len(was.open_calls), ())
        said = f"{made.system or ''}\n\n" + "\n\n".join(words(made.messages, other))
        assert all(text in said for text in words(view, fmt))


@pytest.mark.parametrize(("source", "target"), BETWEEN)
def test_a_call_and_its_result_go_over(source: str, target: str) -> None:
    chat = [human("list it"), calls("c1", text="I look."), result("c1", "a.py"), says("One file.")]
    made = convert(said_in(source, chat), get(source), get(target))
    again = parse_all(get(target), made.messages)
    [call] = [call for message in again for _, call in message.calls]
    [answer] = [found for message in again for _, found in message.results]
    assert (call.name, call.arguments, answer.text) == ("bash", {"command": "ls"}, "a.py")
    assert words(made.messages, get(target)) == ["list it", "I look.", "One file."]
    assert made.warnings == ()


@pytest.mark.parametrize("target", [name for name in names() if name != "anthropic"])
def test_words_that_came_with_one_of_several_results_stand_behind_them_all(target: str) -> None:
    def told(id_: str, output: str, word: str) -> Raw:
        content = {"type": "tool_result", "tool_use_id": id_, "content": output}
        return {"role": "user", "content": [content, {"type": "text", "text": word}]}

    view = [
        human("go"),
        *said_in("anthropic", [calls("c1", "c2")]),
        told("c2", "two", "hm"),
        told("c1", "one", "and now?"),
    ]
    made = convert(view, get("anthropic"), get(target))
    again = parse_all(get(target), made.messages)
    assert get(target).problems(made.messages) == []
    assert [found.text for message in again for _, found in message.results] == ["one", "two"]
    assert words(made.messages, get(target)) == ["go", "hm", "and now?"]


@pytest.mark.parametrize(("source", "target"), BETWEEN)
def test_there_and_back_says_the_same(source: str, target: str) -> None:
    chat = [human("go"), calls("c1", "c2"), result("c1", "one"), result("c2", "two"), says("Done."), human("Thanks")]
    there = convert(said_in(source, chat), get(source), get(target))
    back = convert(there.messages, get(target), get(source))
    told = parse_all(get(source), back.messages)
    assert words(back.messages, get(source)) == ["go", "Done.", "Thanks"]
    assert [found.text for message in told for _, found in message.results] == ["one", "two"]
    assert there.warnings == back.warnings == ()


@pytest.mark.parametrize("target", ["anthropic", "gemini"])
def test_system_messages_go_where_the_target_has_them(target: str) -> None:
    raws = [system("Be brief."), human("hi"), says("hello"), system("Now be long."), human("tell me")]
    made = convert(raws, get("openai-chat"), get(target), "You are a bot.")
    assert made.system == "You are a bot.\n\nBe brief."
    assert words(made.messages, get(target)) == ["hi", "hello", "Now be long.", "tell me"]
    [warning] = made.warnings
    assert "1 system messages told as the user's" in warning


def test_what_cannot_be_carried_is_counted_without_content() -> None:
    raws: list[Raw] = [
        {"role": "user", "content": [{"type": "input_text", "text": "see"}, {"type": "input_image", "file_id": "f1"}]},
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "secret"},
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "secret"}},
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** secret"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": "x"}]},
        {"type": "compaction", "id": "cmp", "encrypted_content": "secret"},
        {"role": "assistant", "content": "Done."},
    ]
    made = convert(raws, get("openai-responses"), get("anthropic"))
    [warning] = made.warnings
    assert warning == (
        "view in format 'anthropic': left out or changed on the way from 'openai-responses': 1 arguments that are no JSON "
        "object, 1 compaction, 1 image, 1 media in tool results, 1 reasoning, 1 web_search_call"
    )
    assert made.messages == [
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "text", "text": "[image left out]"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "patch", "input": {"input": "*** secret"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": ""}]},
        {"role": "assistant", "content": "Done."},
    ]
    kept = convert(raws[3:5], get("openai-responses"), get("openai-chat")).messages
    assert kept[0]["tool_calls"] == [{"id": "c", "type": "custom", "custom": {"name": "patch", "input": "*** secret"}}]


IMAGES: dict[str, Raw] = {
    "openai-chat": {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}],
    },
    "openai-responses": {
        "role": "user",
        "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}],
    },
    "anthropic": {
        "role": "user",
        "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}],
    },
    "gemini": {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]},
}


@pytest.mark.parametrize("source", IMAGES)
@pytest.mark.parametrize("target", IMAGES)
def test_an_image_goes_over(source: str, target: str) -> None:
    if source != target:
        made = convert([IMAGES[source]], get(source), get(target))
        assert made.messages == [IMAGES[target]]
        assert made.warnings == ()


def test_a_sound_has_no_place_everywhere() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    raws = [{"role": "user", "content": [{"type": "text", "text": "hear"}, sound]}]
    for target, count in (("gemini", 0), ("anthropic", 1), ("openai-responses", 1), ("text-observation", 0)):
        made = convert(raws, get("openai-chat"), get(target))
        assert len(made.warnings) == count
        assert "1 audio" in "".join(made.warnings) or not count


@pytest.mark.parametrize("target", ["anthropic", "gemini"])
def test_a_conversation_that_the_assistant_opens(target: str) -> None:
    made = convert([says("Hello, what is it?"), human("A bug.")], get("openai-chat"), get(target))
    assert get(target).problems(made.messages) == []
    assert "must begin with a user's message" in made.warnings[-1]
    assert made.sources == [0, 0, 1]


def test_ids_no_provider_takes_and_ids_that_repeat_are_renamed() -> None:
    chat = [human("a"), calls("x y"), result("x y", "1"), calls("c"), result("c", "2"), calls("c"), result("c", "3")]
    made = convert(chat, get("openai-chat"), get("anthropic"))
    ids = [block["id"] for raw in made.messages if raw["role"] == "assistant" for block in raw["content"]]
    assert len(set(ids)) == 3
    assert "c" in ids
    assert "x y" not in ids


def test_every_format_has_a_writer() -> None:
    assert {fmt.name for fmt in FORMATS} == set(names())
    for fmt in FORMATS:
        assert convert([], get("openai-chat"), fmt).messages == []
