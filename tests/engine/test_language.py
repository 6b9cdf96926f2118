"""The language of a person, not of what they paste."""

# ruff: noqa: RUF001 (letters of other languages)

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_engine import language
from offturn_engine.language import detect, prose

LOG = "\n".join(
    f"2026-11-30 02:0{i}:11 ERROR the connection to the database was closed by the server, this is not what we want"
    for i in range(9)
)
TRACE = """Traceback (most recent call last):
  File "/srv/app/main.py", line 3, in <module>
    for item in the_list and not this:
ValueError: this is not the value that was expected, and you should have known it"""
CODE = """```python
def the(this, that):
    # and this is what you should not do with the others
    return this if that else None
```"""


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("English", ["Please find out why the login fails and fix it.", "ok, go on"]),
        ("English", ["Fix the login bug."]),
        ("English", ["What's the weather like today?"]),
        ("Spanish", ["Arregla el error de inicio de sesión, por favor.", "y ahora haz el commit"]),
        ("Portuguese", ["Você pode corrigir o erro de login? Não mexa na tabela, obrigado."]),
        ("French", ["Peux-tu corriger cette erreur ? Il ne faut pas toucher aux tests qui passent."]),
        ("German", ["Bitte behebe den Fehler beim Anmelden, aber ändere nicht die Datenbank."]),
        ("Italian", ["Per favore correggi questo errore, ma non toccare la tabella che è già pronta."]),
        ("Dutch", ["Kan je de fout bij het inloggen oplossen? Het moet ook op mobiel werken, graag."]),
        ("Polish", ["Proszę napraw ten błąd, ale nie zmieniaj tabeli, która jest już gotowa."]),
        ("Turkish", ["Bu hatayı düzelt lütfen ama veritabanı için bir şey değiştirme, çok önemli."]),
        ("Swedish", ["Kan du fixa felet som är i inloggningen? Jag vill inte att du ändrar något för tabellen."]),
        ("Chinese", ["请修复 src/app.py 里的 login bug，然后运行 pytest。"]),
        ("Chinese", ["修一下这个问题"]),
        ("Japanese", ["ログイン画面のバグを修正してください。src/app.py は変更しないで。"]),
        ("Korean", ["로그인 버그를 고쳐 주세요. src/app.py 파일은 건드리지 마세요."]),
        ("Russian", ["Исправь, пожалуйста, ошибку входа в src/app.py и запусти тесты."]),
        ("Ukrainian", ["Виправ, будь ласка, помилку входу і запусти тести, щоб її більше не було."]),
        ("Arabic", ["من فضلك أصلح خطأ تسجيل الدخول ولا تغير قاعدة البيانات."]),
        ("Hindi", ["कृपया लॉगिन की त्रुटि ठीक करें और परीक्षण चलाएं।"]),
        ("", []),
        ("", ["ok"]),
        ("", ["ls -la /tmp && git status"]),
        ("", ["{}", "42", "\ud800\x00"]),
    ],
)
def test_a_person_s_language_is_found(language: str, texts: list[str]) -> None:
    assert detect(texts) == language


@pytest.mark.parametrize("paste", [LOG, TRACE, CODE, LOG * 50], ids=["log", "trace", "code", "long-log"])
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("Spanish", "¿Por qué pasa esto? Arréglalo por favor, pero sin tocar la configuración."),
        ("Chinese", "这是什么错误？请修复一下。"),
    ],
)
def test_pasted_logs_and_code_do_not_decide(language: str, text: str, paste: str) -> None:
    assert detect([f"{text}\n\n{paste}"]) == language
    assert detect([f"{paste}\n{text}", text]) == language


def test_one_long_english_paste_does_not_outvote_the_person() -> None:
    article = "This is the text of the article and you should read it before you answer. " * 200
    spanish = "Resume esto en dos frases por favor, y sin opiniones, que no tengo mucho tiempo ahora. Gracias."
    assert detect([spanish, article, spanish, spanish]) == "Spanish"


def test_half_and_half_is_unsure() -> None:
    assert detect(["What is the reason for this and why?", "¿Por qué no está la tabla para el informe?"]) == ""


def test_prose_leaves_out_what_machines_wrote() -> None:
    assert prose("Look at `the code` in src/app.py please\n```\nthe and\n```\n2026-01-01 the log").split() == [
        "Look",
        "at",
        "in",
        "please",
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=80), max_size=5))
def test_it_answers_for_any_text(texts: list[str]) -> None:
    assert detect([*texts, "", "42"]) == detect(texts)


@pytest.mark.parametrize("unit", ["a", "/", "`", "a/", " ", "for ", "\n", "{", "我", "https://"])
def test_a_hostile_message_of_a_megabyte_ends(unit: str) -> None:
    assert isinstance(detect([unit * (1_000_000 // len(unit))]), str)


@given(
    st.lists(
        st.sampled_from(["words", " ", "\n", "a/b", "x.y", "é.é", "é:b", "`a b`", "```", "你好", "it's"]), max_size=12
    ).map("".join)
)
def test_what_stands_between_blanks_goes_where_it_holds_a_sign_of_code(text: str) -> None:
    sign = re.compile(r"[/\\_<>={}$@|#]|\w[.:]\w")

    class EachRun:
        @staticmethod
        def sub(_: str, line: str) -> str:
            return re.sub("[!-~]+", lambda run: " " if sign.search(run[0]) else run[0], line)

    quick = prose(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "_LITERAL_RUN", EachRun)
        assert prose(text) == quick
