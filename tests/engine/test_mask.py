"""Secrets go, everything else stays: by table, and as laws."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from offturn_engine import mask_names, mask_rules
from offturn_engine.caseless import lowered, places
from offturn_engine.mask import mask, mask_each
from offturn_engine.mask_texts import Texts
from tests.engine.mask_samples import BEGIN, END, HARMLESS, HEX, KEY, MIXED, PLACED, TOKENS

SHAPED = [(kind, token) for kind, tokens in TOKENS.items() for token in tokens]
AROUND = ("{}", "use {} for it", '"{}"', "x = '{}'", "key={}", "({})", "一个 {}。", "line\n{}\nline", "\\n{}\\n")
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from([*(text for text, _ in PLACED), *(token for _, token in SHAPED), *HARMLESS]),
        st.sampled_from(
            ["password", "token=", ": ", '"', "'", "\\", "\n", "@", "://", "-", "eyJ", "[masked: jwt]", BEGIN, END, KEY]
        ),
    ),
    max_size=8,
).map("".join)


@pytest.mark.parametrize(("kind", "token"), SHAPED, ids=[f"{k}-{i}" for i, (k, _) in enumerate(SHAPED)])
@pytest.mark.parametrize("around", AROUND)
def test_a_token_is_known_by_its_shape(kind: str, token: str, around: str) -> None:
    masked = mask(around.format(token))
    assert token not in masked.text
    assert f"[masked: {kind}]" in masked.text or around == "key={}"
    assert masked.count == 1


@pytest.mark.parametrize(("text", "secret"), PLACED, ids=range(len(PLACED)))
def test_a_secret_is_known_by_its_place(text: str, secret: str) -> None:
    masked = mask(text)
    assert secret not in masked.text
    assert "[masked: " in masked.text
    assert masked.count == 1


@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_what_is_no_secret_stays(text: str) -> None:
    assert mask(text).text == text


def test_only_the_secret_is_replaced() -> None:
    assert mask("postgres://app:s3cr3t@db:5432/x").text == "postgres://app:[masked: password]@db:5432/x"
    assert mask(f"a\n{BEGIN}\n{KEY}\n{END}\nb").text == "a\n[masked: private key]\nb"


@given(TEXTS)
@example(f"DB_PASSWORD=correcthorseaws_secret_access_key = {MIXED}")
@example(f"x {TOKENS['access token'][0]} = {MIXED}")
def test_masking_again_changes_nothing(text: str) -> None:
    once = mask(text)
    assert mask(once.text).text == once.text
    assert (once.count == 0) == (once.text == text)


@given(st.text(alphabet=string.ascii_letters + " \n.,;()áñ中文", max_size=300))
def test_plain_prose_stays(text: str) -> None:
    assert mask(text).text == text


@given(
    st.text(alphabet=string.printable, max_size=60).map(lambda text: text + "\n"),
    st.sampled_from([token for _, token in SHAPED]),
    st.text(alphabet=string.printable, max_size=60).map(lambda text: "\n" + text),
)
def test_a_planted_token_never_survives(before: str, token: str, after: str) -> None:
    assert token not in mask(before + token + after).text


@given(st.text(alphabet=string.ascii_letters + string.digits + "!#%^*+~?", min_size=12, max_size=40))
def test_a_generated_password_never_survives(password: str) -> None:
    planted = f"Zq7{password}9x"
    for text in (f"DB_PASSWORD={planted}\nA=1", f'{{"password": "{planted}"}}', f"postgres://u:{planted}@h/d"):
        assert planted not in mask(text).text


@pytest.mark.parametrize(
    "piece",
    [
        "password=",
        'token="',
        "https://a.b/?token=",
        "eyJ-",
        "eyJaaaaaaaaaaaaaa.",
        "sk-",
        BEGIN,
        END,
        KEY + "\n",
        "a://b:",
        "\\",
        "authorization:",
        "cookie:a=",
        "mysql ",
        "redis-cli ",
        "login ",
        "SG.-",
        "a",
        " ",
        "identified by ",
        " -u a",
        BEGIN + "1",
        "é password ",
        "é-é-é-é-é-é-é-é-é-é-é ",
    ],
)
def test_a_megabyte_of_anything_ends(piece: str) -> None:
    text = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]
    assert len(mask(text).text) > 0


def test_the_mark_never_holds_the_secret() -> None:
    assert HEX not in repr(mask(f"API_KEY={HEX}"))
    assert MIXED not in repr(mask(f"x {MIXED}"))


FOLDING = st.sampled_from(
    ["pa\u017fsword=", "ap\u0131_key: ", "TO\u212aEN=", "\u0130", "shared_access_key = ", "API KEY ", "sessi", "xoxb-"]
)


@given(st.lists(st.lists(st.one_of(TEXTS, FOLDING), max_size=4).map("".join), max_size=6))
@example([f"{MIXED} = xoxb-{'a1B2' * 9}"])
def test_places_that_are_tried_are_all_there_are(texts: list[str]) -> None:
    """A secret is looked for only where one may begin; that must be where `re` alone would find one."""
    held = Texts(texts)
    assert [(i, m.span()) for i, m in mask_names._named(held)] == _spans(mask_names._NAMED, texts)
    assert [(i, m.span()) for i, m in mask_rules._tokens(held)] == _spans(mask_rules._VENDOR, texts)
    for rule in mask_rules.RULES:
        secret = {i for i, text in enumerate(texts) for m in rule.pattern.finditer(text) if rule.accepts(text, m)}
        assert secret <= {*held.holding(rule.hints)}


def _spans(pattern: re.Pattern[str], texts: list[str]) -> list[tuple[int, tuple[int, int]]]:
    return [(i, m.span()) for i, text in enumerate(texts) for m in pattern.finditer(text)]


@given(st.lists(st.one_of(TEXTS, FOLDING, st.sampled_from(["", "pass", "word=", MIXED, "sk-", "api", "_key: "]))))
@example(["api", "_key: " + MIXED, "php", "sessionid=" + MIXED, "-----BEGIN", " PRIVATE KEY-----", "http", "://a:"])
@example(["\u212a", "pa\u017fsword: 'hunter2x!9'", "é token = " + MIXED])
def test_masked_side_by_side_as_each_alone(texts: list[str]) -> None:
    assert mask_each(texts) == [mask(text) for text in texts]


@given(st.lists(st.tuples(st.text(max_size=9), st.sampled_from(["token", "key", "密码"]), st.text(max_size=9))))
def test_where_a_word_stands_is_told_in_characters(pieces: list[tuple[str, str, str]]) -> None:
    texts = ["".join(piece) for piece in pieces]
    held = Texts(texts)
    for word in ("token", "key", "密码"):
        wanted = [(i, at) for i, text in enumerate(texts) for at in places(lowered(text), word)]
        assert [held.at(place) for place in held.places(word.encode())] == wanted
        assert held.holding([word.encode()]) == sorted({i for i, _ in wanted})
