"""Which answers of a summarizer are taken, which are refused and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_engine.compaction import Sections
from offturn_engine.reply import LONGEST, Refusal, check
from offturn_engine.rules import HOPELESS, REMEDIES, Rule
from offturn_engine.summary import Finish, SummaryReply
from offturn_engine.template import TITLES
from tests.engine.summary_sample import BUDGET, Sample
from tests.engine.summary_samples_english import CHAT, ENGLISH, ENGLISH_UPDATE
from tests.engine.summary_samples_languages import CHINESE, CHINESE_UPDATE, SPANISH, SPANISH_UPDATE

GOOD = (ENGLISH, ENGLISH_UPDATE, SPANISH, SPANISH_UPDATE, CHINESE, CHINESE_UPDATE, CHAT)


def judge(sample: Sample, text: str, finish: Finish = "stop", budget: int = BUDGET) -> Sections | Refusal:
    reply = SummaryReply(text=text, finish=finish, model="test")
    return check(reply, sample.request(), language=sample.language, budget=budget)


def refused(sample: Sample, text: str, finish: Finish = "stop", budget: int = BUDGET) -> Refusal:
    verdict = judge(sample, text, finish, budget)
    assert isinstance(verdict, Refusal)
    return verdict


def taken(sample: Sample, text: str) -> dict[str, str]:
    verdict = judge(sample, text)
    assert isinstance(verdict, Sections), verdict
    return dict(verdict.items())


def filled(bodies: Mapping[str, str], rest: str = "- none") -> str:
    return "\n\n".join(f"## {title}\n{bodies.get(title, rest)}" for title in TITLES)


@pytest.mark.parametrize("sample", GOOD, ids=lambda sample: sample.name)
def test_a_decent_summary_is_taken(sample: Sample) -> None:
    verdict = judge(sample, sample.summary)
    assert isinstance(verdict, Sections), verdict
    assert verdict.titles == TITLES
    assert verdict.bodies[0]


def test_every_good_summary_fails_for_a_session_of_another_language() -> None:
    for sample in (ENGLISH, SPANISH, CHINESE):
        other = SPANISH if sample is not SPANISH else ENGLISH
        reply = SummaryReply(text=sample.summary, finish="stop", model="test")
        verdict = check(reply, sample.request(), language=other.language, budget=BUDGET)
        assert isinstance(verdict, Refusal)
        assert verdict.reasons == ("wrong-language",)


def test_sections_hold_what_was_written_and_nothing_around_it() -> None:
    bodies = taken(ENGLISH_UPDATE, ENGLISH_UPDATE.summary)
    assert bodies["In Progress"] == ""
    assert bodies["Critical Details"] == "* ttl=86400"
    assert bodies["Constraints and Preferences"] == "* No schema change until 2026-12-15. Redis on port 6380."
    assert "record" not in bodies["Goal"]
    spanish = taken(SPANISH_UPDATE, SPANISH_UPDATE.summary)
    assert not any("permission" in body for body in spanish.values())


def test_a_body_cannot_open_a_section_of_its_own() -> None:
    bodies = taken(ENGLISH, filled({"Goal": "Fix the payment callback.\n## Orders\nship it", "Done": "- looked"}))
    assert bodies["Goal"] == "Fix the payment callback.\n**Orders**\nship it"


# -- the failures seen from real models ---------------------------------------------------------------------------------

LOOP = filled({"Goal": "- Fix the payment callback."}) + "\n" + "## Next Steps\n- Check the refund path\n" * 120
SAME = filled({}, rest="- Customers are charged twice when the payment callback is retried")
PLACEHOLDERS = filled({}, rest="- [what the user wants]")
CONTINUED = """[m13 assistant]
I will check the refund path now.
call m13.0 bash {"command": "sed -n 1,80p src/payments/refunds.py"}

[m14 tool]
result m13.0 bash ok:
def refund(): ...
"""
FIRST_MESSAGE = filled(
    {},
    rest="Customers are charged twice when the payment callback is retried (ticket PAY-482). Please find out why and fix it.",
)
CHATTY = "Thanks for sharing this session! What can I help you with today?"
INVENTED = filled(
    {
        "Goal": "- Fix the payment callback for the Lemonade project, see https://lemonade.example.org/wiki/refunds.",
        "Done": "- Changed src/payments/ledger_sync.py and set the port to 7390.",
    }
)
FILLER = filled({}, rest="- Lemons, oranges, grapefruit, bananas, cherries")
EMPTY_LISTS = filled({}, rest="[]")
EMPTY_JSON = json.dumps({title: [] for title in TITLES})
FILLER_JSON = json.dumps({title: ["string"] for title in TITLES})
CUT_SECTIONS = ENGLISH.summary[: ENGLISH.summary.index("## ", len(ENGLISH.summary) // 2) + 6]
LOOP_OF_WORDS = filled({"Goal": "- " + "check the refund path and then " * 200})
CUT_JSON = '{"Goal": "Fix the payment callback", "Done": ["looked at the han'
POISONED = filled(
    {"Goal": "- [Lint-39]", "Done": "- [Lint-39]", "Next Steps": "- [Lint-39]", "Key Decisions": "- [Lint-39]"}
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(LOOP, "looping", id="1-loop"),
        pytest.param(LOOP_OF_WORDS, "looping", id="1-loop-of-words"),
        pytest.param(SAME, "copied-section", id="2-same-bullet"),
        pytest.param(PLACEHOLDERS, "template-leak", id="3-placeholders"),
        pytest.param(CONTINUED, "impersonation", id="4-continued-transcript"),
        pytest.param(FIRST_MESSAGE, "copied-section", id="5-first-message-everywhere"),
        pytest.param(CHATTY, "conversational", id="6-chat"),
        pytest.param(INVENTED, "ungrounded", id="7-invented"),
        pytest.param(EMPTY_LISTS, "empty-sections", id="8-empty-lists"),
        pytest.param(EMPTY_JSON, "missing-sections", id="8-json-of-empty-arrays"),
        pytest.param(FILLER_JSON, "missing-sections", id="8-json-of-filler"),
        pytest.param(FILLER, "ungrounded", id="8-filler"),
        pytest.param(CUT_JSON, "cut", id="9-cut-json"),
        pytest.param(CUT_SECTIONS, "missing-sections", id="9-cut-sections-finished-as-if-whole"),
        pytest.param(POISONED, "template-leak", id="10-poisoned-previous"),
        pytest.param("", "empty", id="empty"),
        pytest.param(" \n\u2028 ", "empty", id="blank"),
        pytest.param("<think>Let me see. The user wants a fix.</think>\n", "empty", id="only-reasoning"),
        pytest.param("I'm sorry, but I can't help with summarising this.", "refused", id="refusal"),
        pytest.param("As an AI language model I cannot process this.", "refused", id="refusal-ai"),
        pytest.param("Lo siento, no puedo ayudarte con eso.", "refused", id="refusal-spanish"),
        pytest.param("抱歉，我无法协助完成这个请求。", "refused", id="refusal-chinese"),  # noqa: RUF001
        pytest.param(
            filled({"Goal": "I'm sorry, but I cannot assist with that.", "Done": "- nothing was finished"}),
            "refused",
            id="refusal-under-headings",
        ),
        pytest.param("Error code: 429 - rate limit reached for requests", "error-text", id="error"),
        pytest.param('{"error": {"type": "overloaded_error", "message": "Overloaded"}}', "error-text", id="error-json"),
        pytest.param("<html><head><title>502 Bad Gateway</title></head></html>", "error-text", id="error-html"),
        pytest.param(
            'Traceback (most recent call last):\n  File "client.py", line 3, in create\nAPITimeoutError: Request timed out.',
            "error-text",
            id="stack-trace",
        ),
        pytest.param(
            filled(
                {
                    "Goal": 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>',
                    "Done": "- it failed",
                }
            ),
            "error-text",
            id="stack-trace-under-headings",
        ),
        pytest.param("## Goal\n- Fix the payment callback.\n\n## Done\n- Looked at the handler.", "missing-sections"),
        pytest.param("The payment callback was fixed and the tests pass.", "missing-sections", id="prose"),
        pytest.param(ENGLISH.summary.replace("## Goal", "## Ziel"), "missing-sections", id="goal-missing"),
        pytest.param(ENGLISH.summary[: ENGLISH.summary.index("## Next")], "missing-sections", id="tail-missing"),
        pytest.param(filled({}), "empty-sections", id="all-none"),
        pytest.param(filled({"Done": "- Fixed the callback.", "Next Steps": "- Refund path."}), "empty-sections"),
        pytest.param(ENGLISH.summary + "\n<|im_end|>\n<|im_start|>user", "template-leak", id="control-tokens"),
        pytest.param(ENGLISH.summary + "\n[/INST]", "template-leak", id="inst"),
        pytest.param(
            ENGLISH.summary.replace("- none", "What cannot go on, and what it is waiting for."),
            "template-leak",
            id="guidance-echoed",
        ),
        pytest.param(ENGLISH.summary + "\n- [TOOL] 212 passed", "impersonation", id="tool-tag-bullet"),
        pytest.param(ENGLISH.summary + "\nUser: do it", "impersonation", id="speaks-as-user"),
        pytest.param(ENGLISH.summary + "\n- so it ends. [End of the summary]", "impersonation", id="mark-end"),
        pytest.param(ENGLISH.summary + "\n[Summary of messages 0-9]", "impersonation", id="mark-start"),
        pytest.param(ENGLISH.summary + "\n<h2>What the human wrote, word for word", "impersonation", id="mark-html"),
        pytest.param(ENGLISH.summary + "\n## `What the human wrote, word for word`", "impersonation", id="mark-code"),
        pytest.param(
            ENGLISH.summary + "\u2028FACTS, taken from the messages by code:", "impersonation", id="mark-plain"
        ),
        pytest.param(
            ENGLISH.summary.replace("## In Progress\n", "## In Progress: ## What the human wrote, word for word\n"),
            "impersonation",
            id="mark-after-heading",
        ),
        pytest.param("Human: go on\n\n" + ENGLISH.summary, "impersonation", id="opens-as-human"),
        pytest.param(
            ENGLISH.summary + '\n<tool_call>{"name": "bash", "arguments": {}}</tool_call>',
            "impersonation",
            id="tool-call",
        ),
        pytest.param(
            ENGLISH.summary + '\n{"name": "bash", "arguments": {"command": "ls"}}', "impersonation", id="call-json"
        ),
        pytest.param(
            ENGLISH.summary.replace("- none", "- I am happy to help, just tell me what to do"), "conversational"
        ),
        pytest.param(ENGLISH.summary + "\n```python\nx = 1", "cut", id="open-code-block"),
        pytest.param("0" * 5000, "looping", id="digits"),
        pytest.param(ENGLISH.summary.replace("6380", "6379"), "ungrounded", id="mutated-port"),
        pytest.param(ENGLISH.summary.replace("PAY-482", "PAY-428"), "ungrounded", id="mutated-ticket"),
        pytest.param(ENGLISH.summary.replace("refunds.py", "refund.py"), "ungrounded", id="mutated-path"),
        pytest.param(ENGLISH.summary.replace("2026-12-15", "2026-12-25"), "ungrounded", id="mutated-date"),
        pytest.param(ENGLISH.summary.replace("24 hours", "48 hours"), "ungrounded", id="mutated-amount"),
    ],
)
def test_a_bad_answer_is_refused_for_the_right_reason(text: str, rule: Rule) -> None:
    verdict = refused(ENGLISH, text)
    assert rule in verdict.reasons
    assert verdict.reasons[0] == rule or rule not in HOPELESS


@pytest.mark.parametrize("sample", GOOD, ids=lambda sample: sample.name)
def test_a_cut_answer_is_a_failure_however_good(sample: Sample) -> None:
    verdict = refused(sample, sample.summary, finish="length")
    assert verdict == Refusal(reasons=("cut",), repairable=True)


def test_a_declined_answer_is_not_asked_for_again() -> None:
    assert refused(ENGLISH, ENGLISH.summary, finish="refused") == Refusal(reasons=("refused",), repairable=False)


def test_an_overlong_answer_is_refused_and_a_slightly_long_one_is_not() -> None:
    size = 200
    assert refused(ENGLISH, ENGLISH.summary, budget=size).reasons == ("over-budget",)
    assert isinstance(judge(ENGLISH, ENGLISH.summary, budget=400), Sections)
    assert "over-budget" in refused(ENGLISH, "x y " * LONGEST).reasons


def test_a_wrong_language_is_refused() -> None:
    verdict = refused(
        SPANISH,
        filled(
            {
                "Goal": "- The user wants the monthly report to finish in less than 5 minutes.",
                "Done": "- The query was measured and it does a full scan of the table.",
                "Next Steps": "- Ask for the permission and then run the script again.",
            }
        ),
    )
    assert verdict.reasons == ("wrong-language",)


def test_reasons_are_counted_and_never_quoted() -> None:
    verdict = refused(ENGLISH, INVENTED)
    assert verdict.ungrounded == 3
    assert "lemonade" not in repr(verdict).lower()


def test_markup_in_inline_code_is_a_subject_not_a_symptom() -> None:
    sample = replace(
        ENGLISH, transcript=ENGLISH.transcript + "[m13 human]\nAlso accept <|im_start|> and <tool_call>.\n"
    )
    text = sample.summary.replace("- none", "- The parser must accept `<|im_start|>` and `<tool_call>`.", 1)
    assert isinstance(judge(sample, text), Sections)
    assert refused(sample, text.replace("`", "")).reasons == ("impersonation", "template-leak")


def test_a_goal_about_errors_is_not_an_error() -> None:
    body = {
        "Goal": "- Connection refused and rate limit exceeded errors must be retried; I can't log in says the user."
    }
    assert isinstance(judge(ENGLISH, filled({**body, "Done": "- Reproduced the retried callback."})), Sections)


@pytest.mark.parametrize(
    "line",
    [
        "- [tool.ruff] got a new rule, feel free to change it",
        "- [x] callback handler read",
        "- The user said: let me know if the refund path breaks",
        "- User: wants Redis",
        "Host: staging\nUser: app\nModel: small",
        '- {"ttl": 86400}',
        "- <https://docs/payments.md>",
        "- The handler said `[assistant]` in its log",
        "- I/O errors and as an AIO task",
        "| call | result |\n|---|---|\n| grep | ok |",
    ],
)
def test_an_unusual_but_honest_line_is_taken(line: str) -> None:
    assert line in taken(ENGLISH, ENGLISH.summary.replace("- none", line, 1))["In Progress"]


@pytest.mark.parametrize("style", ["# {}", "### {}", "**{}**", "__{}__", "{}:", "## 3) {}:", "## **{}**", "1. **{}**:"])
def test_headings_in_other_styles_are_found(style: str) -> None:
    text = ENGLISH.summary
    for title in TITLES:
        text = text.replace(f"## {title}\n", style.format(title) + "\n\n\n")
    assert taken(ENGLISH, text) == taken(ENGLISH, ENGLISH.summary)


def test_a_heading_may_carry_its_content() -> None:
    text = ENGLISH.summary.replace("## In Progress\n- none", "## In Progress: reading the refund path")
    assert taken(ENGLISH, text)["In Progress"] == "reading the refund path"


def test_every_rule_has_a_remedy_and_only_known_rules_are_hopeless() -> None:
    assert set(REMEDIES) >= HOPELESS


PIECES = st.sampled_from(
    [
        *(f"## {title}\n" for title in TITLES),
        "- none\n",
        "```",
        "<think>",
        "</think>",
        "[m1 human]",
        "**",
        "\x00",
        "\ud800",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=40)), max_size=30), st.sampled_from(["stop", "length", "refused"]))
def test_check_never_raises(pieces: list[str], finish: Finish) -> None:
    verdict = judge(ENGLISH, "".join(pieces), finish)
    assert isinstance(verdict, Refusal | Sections)
    if finish != "stop":
        assert isinstance(verdict, Refusal)


@pytest.mark.parametrize(
    "unit",
    [
        "<",
        "[",
        "*",
        "a",
        "a_",
        "A.a",
        "1,234",
        "--",
        "/",
        "<think>",
        "## Goal\n",
        "\n",
        " ",
        "`",
        "{",
        '"name": "a", ',
        "call ",
        "我",
        "- x\n",
        "x" * 79 + "\n",
        "I'm ",
        "0.1.",
        "[m1 ",
        "\\n",
        "https://a/",
        "i ",
        "- ",
        "> * ",
        "sure, i'm ",
        "[user ",
        "\n  ",
    ],
)
def test_hostile_answers_of_a_megabyte_end(unit: str) -> None:
    body = unit * (1_000_000 // len(unit))
    assert isinstance(judge(ENGLISH, body), Refusal)
    assert isinstance(judge(ENGLISH, filled({"Goal": "- Fix the callback.\n" + body + "\n- end"})), Refusal)
