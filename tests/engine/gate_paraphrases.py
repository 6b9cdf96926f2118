"""Summaries as models write them: what was lifted, limits in other words, and what only sounds like a prohibition."""

# ruff: noqa: RUF001 (Chinese text has full-width punctuation)

from __future__ import annotations

from tests.engine.gate_probes import Probe

PARAPHRASES = (
    Probe(
        said=("The file must not have more than 10,000 rows.", "Hmm, make it 50,000 rows instead."),
        rest="",
        bad=("The file must not have more than 20,000 rows.", "At most 5k rows per file."),
        good=("The file must not have more than 50,000 rows.", "At most 50k rows per file.", "Files have 50.000 rows."),
    ),
    Probe(
        said=("At most 2 retries per call.", "ok, three retries per call then"),
        rest="",
        bad=("At most 4 retries per call.",),
        good=("At most 3 retries per call.", "At most three retries per call."),
    ),
    Probe(
        said=("Use no more than 5 workers for the import job.", "Make that ten workers for the import job."),
        rest="",
        bad=("Use no more than 12 workers for the import job.",),
        good=("Use no more than 10 workers for the import job.",),
    ),
    Probe(
        said=("最多重试 3 次请求。", "改成重试五次请求吧"),
        rest="",
        bad=("最多重试 7 次请求。",),
        good=("最多重试 5 次请求。",),
    ),
    Probe(
        said=("Como máximo 2 archivos por commit.", "mejor tres archivos por commit"),
        rest="",
        bad=("Como máximo 4 archivos por commit.",),
        good=("Como máximo 3 archivos por commit.",),
    ),
    Probe(
        said=("The budget is 1,200 EUR per month, no more.",),
        rest="",
        bad=("The budget is 1.300 EUR per month.",),
        good=(
            "The budget is 1.200 EUR per month.",
            "Budget is 1.200 EUR a month.",
            "Budget: at most 1.2k EUR a month.",
        ),
    ),
    Probe(
        said=("Never run more than 2 migrations at a time.",),
        rest="",
        bad=("Run 5 migrations at a time.",),
        good=("Run migrations one at a time or in pairs.",),
    ),
    Probe(
        said=("Always run make lint before committing.",),
        rest="",
        bad=("Always run make lint after committing.",),
        good=("Always run make lint; commit after that.", "Run make lint after changes, before committing."),
    ),
    Probe(
        said=("Don't merge the branch until I have reviewed it.", "reviewed, looks good, thanks"),
        rest="",
        bad=(),
        good=("Merge the branch.", "Next step: merge the branch."),
    ),
    Probe(
        said=("Don't merge the branch until I have reviewed it.", "The tests are slow today."),
        rest="",
        bad=("Merge the branch.",),
        good=(),
    ),
    Probe(
        said=("Don't start the server.", "start it"),
        rest="",
        bad=(),
        good=("Start the server.",),
    ),
    Probe(
        said=("Don't write code yet, give me a plan first.", "Plan approved."),
        rest="plan: 1. parser 2. cli",
        bad=(),
        good=("Write the code.", "Next: write the code of the parser."),
    ),
    Probe(
        said=("No escribas código todavía, primero un plan.", "Me gusta el plan."),
        rest="",
        bad=(),
        good=("Siguiente paso: escribir código.",),
    ),
    Probe(
        said=("先不要写代码，给我一个计划。", "计划不错。"),
        rest="",
        bad=(),
        good=("下一步：写代码。",),
    ),
    Probe(
        said=("I can't log in to the admin page.", "The tests do not run on Windows."),
        rest="",
        bad=(),
        good=("Log in to the admin page to verify the fix.", "Run the tests on Windows in CI."),
    ),
    Probe(
        said=("Make sure it does not delete the invoices.", "The users must not see the audit page."),
        rest="",
        bad=("Delete the invoices.",),
        good=("It keeps the invoices.",),
    ),
    Probe(
        said=("Not only update the docs but also add tests.", "Don't just describe the problem, fix it."),
        rest="",
        bad=(),
        good=("Update the docs and add tests.", "Describe the problem and fix it."),
    ),
    Probe(
        said=("Shouldn't we validate the input?",),
        rest="",
        bad=(),
        good=("Validate the input.",),
    ),
    Probe(
        said=(
            "Please don't send the newsletter before Monday. Don't reply to Bob.",
            "The newsletter can go out today after all.",
            "Reply to Bob that we are late.",
        ),
        rest="",
        bad=(),
        good=("Send the newsletter.", "Reply to Bob."),
    ),
    Probe(
        said=("Don't reply to Bob.", "Why did you reply to Bob?", "Alice can see the page."),
        rest="",
        bad=("Reply to Bob.",),
        good=(),
    ),
    Probe(
        said=("不要删除旧接口。", "旧接口可以删了。"),
        rest="",
        bad=(),
        good=("删除旧接口。", "旧接口可以删除。"),
    ),
    Probe(
        said=("Tables need at least 3 columns. Lists need at most 7 items. It must be done by 5 pm.",),
        rest="",
        bad=("Lists need at most 5 items.", "The list has 9 items.", "It must be done by 6 pm."),
        good=("The list has 5 items, the table has 4 columns.", "It must be done by 17:00."),
    ),
    Probe(
        said=("Explain why one can not open two sockets on a port. It won't compile.",),
        rest="",
        bad=(),
        good=("Compile the project.",),
    ),
    Probe(
        said=(
            "Never delete the logs. Do not email the customer.",
            "You can look at the logs if you need to. The customer can call us any time.",
        ),
        rest="",
        bad=("Delete the logs.", "Email the customer."),
        good=("Look at the logs.",),
    ),
)
