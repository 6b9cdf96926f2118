"""Amounts in other units, and numbers that follow from others: sentences that must be refused, and ones that must not."""

# ruff: noqa: RUF001 (Chinese text has full-width punctuation)

from __future__ import annotations

from tests.engine.gate_probes import Probe

AMOUNTS = (
    Probe(
        said=("The budget is 12,500 USD.", "Spend at most 500 EUR per day."),
        rest="",
        bad=("The budget is 12,500 EUR.", "The budget is \u20ac12,500.", "Spend at most $500 per day."),
        good=(
            "The budget is $12,500.",
            "The budget is 12,500 dollars.",
            "The budget is 12.5k.",
            "Spend at most \u20ac500 per day.",
            "Spend at most 500 euros per day.",
        ),
    ),
    Probe(
        said=("The budget is 12,500 USD.",),
        rest="Invoice of the month: the budget in EUR is 12,500 EUR.",
        bad=(),
        good=("The budget is 12,500 EUR.",),
    ),
    Probe(
        said=("El presupuesto es de 500 euros.",),
        rest="",
        bad=("El presupuesto es de 500 d\u00f3lares.",),
        good=("El presupuesto es de 500 EUR.",),
    ),
    Probe(
        said=("\u9884\u7b97\u662f 500 \u7f8e\u5143\u3002",),
        rest="",
        bad=("\u9884\u7b97\u662f 500 \u6b27\u5143\u3002",),
        good=("\u9884\u7b97\u662f 500 USD\u3002", "\u9884\u7b97\u662f 500 \u5143\u3002"),
    ),
    Probe(
        said=("The timeout is 90 seconds.",),
        rest="",
        bad=("The timeout is 2 minutes.", "Timeout: 2 min."),
        good=("The timeout is 1.5 minutes.", "Timeout: 90 s."),
    ),
    Probe(
        said=("The table must have at most 12,000 rows.",),
        rest="The table must have at most 15,000 rows now, says the migration.",
        bad=("The table must have at most 16,000 rows.",),
        good=("The table must have at most 15,000 rows.",),
    ),
    Probe(
        said=("The timeout is 90 seconds.",),
        rest="I raised the timeout to 2 minutes, and the tests pass.",
        bad=(),
        good=("The timeout is 2 minutes.",),
    ),
    Probe(
        said=("Please fix the failing tests.",),
        rest="There are 40 tests, 3 failed.",
        bad=("38 of 40 pass.", "37 of 41 pass.", "36 of 40 tests pass."),
        good=("37 of 40 pass.", "37 of 40 tests pass, 3 fail.", "40 tests, 37 of them green."),
    ),
    Probe(
        said=("Run them.",),
        rest="37 passed, 3 failed in 2.31s",
        bad=("37 of 41 tests pass.", "All 45 tests pass."),
        good=("37 of 40 tests pass.", "3 of 40 tests fail."),
    ),
    Probe(
        said=("Hay 40 pruebas y fallan 3.",),
        rest="",
        bad=("Pasan 38 de 40 pruebas.",),
        good=("Pasan 37 de 40 pruebas.",),
    ),
    Probe(
        said=("共有40个测试，3个失败。",),
        rest="",
        bad=("40个测试中38个通过。",),
        good=("40个测试中37个通过。",),
    ),
    Probe(
        said=("The budget is $1,500,000 per year.",),
        rest="",
        bad=("The budget is $1.5B per year.", "The budget is $1.5k per year.", "The budget is $1.6M per year."),
        good=(
            "The budget is $1.5M per year.",
            "The budget is 1.5 million dollars a year.",
            "Budget: $1,500k per year.",
        ),
    ),
    Probe(
        said=("The budget is $1.5M.",),
        rest="",
        bad=("The budget is $1.5B.", "The budget is $1,500.", "The budget is $15,000,000."),
        good=("The budget is $1,500,000.", "The budget is 1,500,000 dollars.", "Budget: 1500k."),
    ),
    Probe(
        said=("The budget is $2 billion.",),
        rest="",
        bad=("The budget is $2M.", "The budget is $3 billion."),
        good=("The budget is $2B.", "The budget is $2bn.", "The budget is $2,000,000,000."),
    ),
    Probe(
        said=("No more than 1,500 rows per file.",),
        rest="",
        bad=("No more than 1.5M rows per file.", "No more than 15k rows per file.", "No more than 1.6k rows per file."),
        good=("No more than 1.5k rows per file.", "At most 1.5 thousand rows per file."),
    ),
    Probe(
        said=("The upload limit is 2 GB.",),
        rest="",
        bad=("The upload limit is 2 TB.", "The upload limit is 2 MB.", "The upload limit is 2058 MB."),
        good=("The upload limit is 2048 MB.", "The upload limit is 2,000 MB.", "The upload limit is 2GB."),
    ),
    Probe(
        said=("The job must finish within 90 s.",),
        rest="done in 80 s",
        bad=(
            "The job must finish within 2.5 min.",
            "The job must finish within 1.5 h.",
            "The job must finish within 95 s.",
            "The job must finish within 90 minutes.",
        ),
        good=(
            "The job must finish within 1.5 min.",
            "The job has to be done in 90 seconds.",
            "The job finished after 80 s.",
        ),
    ),
    Probe(
        said=("The ledger export must finish in under five minutes.",),
        rest="",
        bad=("The ledger export must finish in under five hours.",),
        good=("The ledger export has to take less than 5 minutes.", "The ledger export must finish in under 300 s."),
    ),
    Probe(
        said=("The job must finish within 90 s.", "Fine, 90 minutes are enough for the job to finish."),
        rest="",
        bad=(),
        good=("The job must finish within 90 minutes.",),
    ),
    Probe(
        said=("任务必须在90秒内完成。", "预算是150万元。"),
        rest="",
        bad=("任务必须在2.5分钟内完成。", "预算是150亿元。", "预算是15万元。"),
        good=("任务必须在1.5分钟内完成。", "预算是1,500,000元。"),
    ),
    Probe(
        said=("El presupuesto es de 1,5 millones de euros.",),
        rest="",
        bad=("El presupuesto es de 2,5 millones de euros.",),
        good=("El presupuesto es de 1.500.000 euros.", "El presupuesto es de 1,5 millones de euros."),
    ),
    Probe(
        said=("Revenue is in the table.",),
        rest="| year | revenue ($M) |\n| 2025 | 12.7 |\nthe model has 7B parameters and 65,536 tokens",
        bad=("Revenue was $12.9M.", "The model has 70B parameters.", "Revenue was $12.7B."),
        good=("Revenue was $12.7M.", "The model has 7B parameters and 66k tokens."),
    ),
)
