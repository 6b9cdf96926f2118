"""Search over a log: words, phrases, scripts without spaces, and the order of what is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.files import UnreadableFile
from offturn_engine.formats import get, parse_all
from offturn_engine.handles import handle
from offturn_engine.messages import Message
from offturn_engine.recalling import Archive, recall
from offturn_engine.search import SNIPPET, search
from offturn_worker.cli.reading import conversations_of
from tests.engine.talk import RECORDED, call, calls, human, log, ran, result, results, says, transcripts, used

LOG = log(
    human("Please fix the login bug in parse_config, ¿qué pasó con la configuración?"),
    ran("pytest -q", "E   TypeError: cannot read 'port'\nrun took 12.4 s"),
    says("The port is read before the file is. I will look at port, port and port."),
    ran("cat settings.toml", 'port = 5433\nname = "main database"'),
    human("登录失败的原因是数据库端口写错了。请修复它。"),
    ran("grep -n port", "settings.toml:1: port = 5433"),
    human("ログインのエラーを直してください。"),
)


def found(text: str, **options: object) -> list[str]:
    return [hit.handle for hit in search(LOG, text, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("TypeError", "m2"),
        ("typeerror", "m2"),
        ("config", "m0"),
        ("que paso con la configuracion", "m0"),
        ('"main database"', "m5"),
        ("\u201cport\n= 5433\u201d", "m8"),
        ("settings.toml:1", "m8"),
        ("数据库端口", "m6"),
        ("端口", "m6"),
        ("修", "m6"),
        ("エラー", "m9"),
        ('"run took"', "m2"),
        ("\"TypeError: cannot read 'port' run took\"", "m2"),
    ],
)
def test_what_is_found_first(text: str, best: str) -> None:
    assert found(text)[0] == best


def test_a_phrase_ranks_before_many_words_and_a_result_before_other_words() -> None:
    assert found('"port = 5433"') == ["m8", "m5"]
    assert found('port "cannot read"')[0] == "m2"
    assert found("port")[0] == "m3"  # no phrase: the place that says it most

    said = log(says("the token is abc-123"), ran("env", "the token is abc-123"), says("The Token Is abc-123 " * 5))
    assert [hit.handle for hit in search(said, '"the token is abc-123"')] == ["m2", "m0", "m3"]


def test_nothing_is_found_for_what_is_not_there_and_for_no_word() -> None:
    assert found("kubernetes") == found('"port = 1"') == found('""') == found("  ") == []


def test_hits_say_where_and_by_whom_and_snippets_are_short() -> None:
    hit = search(LOG, "12.4")[0]
    assert (hit.seq, hit.role, hit.origin, hit.on_path) == (2, "tool", "tool", True)
    assert hit.snippet == "E TypeError: cannot read 'port' run took 12.4 s"
    long = log(says("a " * 500 + "needle" + " b" * 500))
    [hit] = search(long, "needle")
    assert "needle" in hit.snippet
    assert len(hit.snippet) <= SNIPPET + 2
    assert hit.snippet[0] == hit.snippet[-1] == "…"
    assert long[0].text[hit.at :].startswith("needle")


def test_what_is_left_out() -> None:
    assert found("TypeError", skip={2}) == []
    assert [hit.on_path for hit in search(LOG, "TypeError", path={1})] == [False]
    asked = log(
        ran("cat notes", "the needle"),
        calls(call("offturn_recall", {"query": "needle"}, "r1")),
        results(result("the needle", call_id="r1")),
        calls(call("bash", {"command": "cat"}, "r1")),
        results(result("a needle", call_id="r1")),
    )
    assert {hit.handle for hit in search(asked, "needle", without="offturn_recall")} == {"m1", "m5"}


def test_the_tool_called_as_a_shell_command_is_left_out_too() -> None:
    given = log(
        ran("cat a.txt", "a purple elephant"),
        ran("offturn_recall purple elephant", "a purple elephant"),
        ran("grep offturn_recall app.py", "no purple elephant"),
    )
    assert {hit.seq for hit in search(given, "purple elephant", without="offturn_recall")} == {1, 5}


def test_words_of_a_call_are_found_as_they_were_meant() -> None:
    written = log(used("write_file", {"path": "a.py", "content": 'print("héllo")\nreturn 端口'}, "ok"))
    assert [hit.handle for hit in search(written, '« print("héllo") return »')] == ["m0"]
    assert [hit.handle for hit in search(written, "端口")] == ["m0"]


def test_parts_are_named_where_a_message_has_several() -> None:
    both = log(
        calls(call("bash", {"command": "a"}, "c1"), call("bash", {"command": "b"}, "c2")),
        results(result("first", call_id="c1"), result("second", call_id="c2")),
    )
    assert [hit.handle for hit in search(both, "second")] == ["m1.1"]


@given(transcripts(), st.text(max_size=40))
def test_whatever_is_looked_for_every_hit_can_be_recalled(messages: list[Message], text: str) -> None:
    archive = Archive(messages, path=frozenset(m.seq for m in messages))
    for hit in search(messages, text, limit=3):
        assert isinstance(recall(archive, hit.handle), str)
        assert len(hit.snippet) <= SNIPPET + 2


def recorded() -> Iterator[list[Message]]:
    for path in sorted(RECORDED.glob("*.json*")):
        try:
            conversations = conversations_of(path, None) if path.name != "MANIFEST.json" else []
        except UnreadableFile:
            continue
        for conversation in conversations[:6]:
            yield parse_all(get(conversation.format), conversation.messages, conversation.origins)


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the folder shared/transcripts is not beside this checkout")
def test_every_result_of_real_transcripts_by_its_handle_and_phrases_among_the_first_twenty() -> None:
    draw, handles, phrases = Random(6), 0, 0
    for messages in recorded():
        archive = Archive(messages, path=frozenset(m.seq for m in messages))
        texts = {
            handle(m.seq, part if len(m.parts) > 1 else None): body.text for m in messages for part, body in m.results
        }
        for name, text in texts.items():
            assert text in str(recall(archive, name))
        handles += len(texts)
        for phrase in _phrases(draw, [text for text in texts.values() if text.strip()]):
            holding = {name for name, text in texts.items() if phrase in text}
            if len(holding) <= 20:
                assert holding <= {hit.handle for hit in search(messages, f'"{phrase}"', limit=20)}
                phrases += 1
    assert handles > 900
    assert phrases > 400


def _phrases(draw: Random, texts: list[str]) -> Iterator[str]:
    for _ in range(min(20, 2 * len(texts))):
        text, count = draw.choice(texts), draw.choice((1, 2, 3, 5, 8))
        words = list(re.finditer(r"\S+", text))
        if len(words) < count:
            continue
        first = draw.randrange(len(words) - count + 1)
        phrase = text[words[first].start() : words[first + count - 1].end()]
        if '"' not in phrase and len(phrase) < 900 and re.search(r"\w", phrase):
            yield phrase
