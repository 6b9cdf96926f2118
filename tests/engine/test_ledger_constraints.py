"""Which sentences of a human state a constraint, in three languages."""

# ruff: noqa: RUF001 (Chinese text has full-width punctuation)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.constraints import LONGEST, MOST, constraints
from offturn_engine.sentences import sentences

STATED = """
Never touch config.py.
Always answer in Spanish.
End every reply with a haiku.
Write every commit message in lowercase.
When you change an API, update the docs too.
Use metric units.
You must not push to main.
Please don't rename anything.
No new dependencies.
Only edit files under src/.
Keep all replies terse.
Do it without touching the database.
Can you please not touch the lock file?
Could you make sure the old flag still works?
Budget is at most 500 dollars.
Constraint: the API stays backwards compatible
Preference: metric
Whenever a test fails, stop and ask me.
Before you commit, run make lint.
I prefer tabs.
The schema is frozen.
I don't want you to touch the API.
Answer in at most 3 lines.
It must never return null.
and please don't push
We always use tabs here.
Deploy to staging only.
Please push to the dev branch only!
Commit only to dev.
Work exclusively in src/.
Stay within the src folder.
Hands off the legacy folder.
Despliega solo en staging.
Edita los tests solo en esta carpeta.
仅部署到预发布环境。
请只修改测试文件。
It may take up to 20 seconds
Don't commit anything yet; never use sudo.
Nunca toques el archivo config.py.
Siempre responde en español.
No uses librerías nuevas.
Debes ejecutar las pruebas antes de subir.
Hazlo sin tocar la base de datos.
Por favor, no borres nada.
Termina cada respuesta con un resumen.
Usa solo la biblioteca estándar, nunca otra.
不要修改配置文件。
必须使用 Python 3.11。
一定要先运行测试。
禁止直接推送到主分支。
回答一律用中文，别加表情。
每次提交前运行测试
請務必保留舊的介面。
""".strip().split("\n")

NOT_STATED = """
Fix the login bug.
It fails on Mondays.
Why don't you like it?
What must I do to run it?
Thanks, that works.
No, I meant the other file.
No problem.
The login page is slow.
See the traceback above.
Can you look at the tests?
I ran it and got a 500.
Add a --verbose flag to the CLI
There are no files in the folder
I'm sorry, but I don't have the id with me.
I've always had great experiences.
It never returns.
It fails on Windows only.
The tests fail on CI only.
Deploy the new build to staging.
Funciona solo en Linux.
服务器只返回空页面。
Could you at least check?
The group should be created by default
TypeError: x must be a string
2024-05-01 12:00:01 never seen this
{"rule": "must not"}
El servidor se cae al arrancar.
No funciona.
¿Por qué nunca termina?
服务器启动失败了
这不一定对
为什么必须这样？
""".strip().split("\n")


@pytest.mark.parametrize("sentence", STATED)
def test_stated(sentence: str) -> None:
    assert constraints(f"Hello there. \n{sentence}\nThanks.") == [sentence]


@pytest.mark.parametrize("sentence", NOT_STATED)
def test_not_stated(sentence: str) -> None:
    assert constraints(sentence) == []


def test_a_list_under_a_heading_is_constraints() -> None:
    text = (
        "Please fix it. Rules:\n- metric units\n- tabs, 4 wide\n\nGo on then.\n\nRequirements\n1. fast\n2) small\nBye."
    )
    assert constraints(text) == ["metric units", "tabs, 4 wide", "fast", "small"]


def test_a_list_under_a_constraint_is_constraints() -> None:
    assert constraints("You must keep:\n* the API\n* the CLI\nok") == ["You must keep:", "the API", "the CLI"]


def test_code_and_logs_are_not_the_human_speaking() -> None:
    assert constraints("Look:\n```\n# never do this\nmust not\n```\nValueError: must be int\nBut never edit b.py.") == [
        "But never edit b.py."
    ]


def test_a_sentence_is_not_broken_at_an_abbreviation_or_a_file_name() -> None:
    assert sentences("Never use e.g. tabs in a.py. Do it. Ok") == ["Never use e.g. tabs in a.py.", "Do it.", "Ok"]


def test_of_a_run_on_paste_the_clause_counts() -> None:
    text = f"{'word ' * 300}, but never touch b.py, {'word ' * 300}"
    assert constraints(text) == ["but never touch b.py"]


def test_a_repeated_constraint_is_one_and_there_is_a_most() -> None:
    assert constraints("Never x.\nNever x.") == ["Never x."]
    assert len(constraints("\n".join(f"Never do {i}." for i in range(MOST * 2)))) == MOST


@given(
    st.one_of(
        st.text(max_size=400), st.lists(st.sampled_from([*STATED, *NOT_STATED, "- x", "Rules:", "```"])).map("\n".join)
    )
)
def test_constraints_are_verbatim_and_short(text: str) -> None:
    assert all(c in text and 0 < len(c) <= LONGEST for c in constraints(text))


HOSTILE = [
    "must ",
    "a.",
    "no ",
    "~",
    "e.g. ",
    "用",
    "当",
    "- ",
    "(",
    "use a ",
    "所有",
    "1.",
    "never, ",
    '"',
    "rules ",
    "\n\n",
    ". ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_of_hostile_text_ends(piece: str) -> None:
    assert len(constraints(piece * (1_000_000 // len(piece)))) <= MOST
