"""The same of what was lifted or is only alike, and of rounded amounts."""

# ruff: noqa: RUF001 (Chinese text has full-width punctuation)

from __future__ import annotations

from tests.engine.gate_probes import Probe

LIFTED = (
    Probe(
        said=("Do not deploy to production.", "ok, production deploys are allowed now"),
        rest="",
        bad=(),
        good=("Production deployments are allowed.", "Deploying to production is allowed now."),
    ),
    Probe(
        said=("Do not deploy to production.",),
        rest="policy: production deploys are allowed with approval",
        bad=(),
        good=(
            "Production deployments are allowed with approval.",
            "Production deployments are allowed only after approval.",
            "It is unclear whether production deployments are allowed.",
            "The user asked whether production deployments are allowed.",
            "Staging deployments are allowed.",
        ),
    ),
    Probe(
        said=("Don't use any external libraries.",),
        rest="",
        bad=("External libraries are ok.",),
        good=(
            "Libraries of the standard distribution are allowed.",
            "Only internal libraries are allowed.",
            "External libraries are not allowed.",
            "Use of external libraries is forbidden.",
        ),
    ),
    Probe(
        said=("Never push to main without asking me.",),
        rest="",
        bad=("Push to main without asking.",),
        good=(
            "Pushes to main are allowed after asking.",
            "Do not push to main without asking.",
            "The agent pushed to main without asking, which was wrong.",
            "Never push without the user's approval.",
        ),
    ),
    Probe(
        said=("Ask me before deleting anything.",),
        rest="",
        bad=("Delete things without asking.", "No need to ask before deleting."),
        good=(
            "Don't delete anything without asking.",
            "Nothing was deleted without asking.",
            "The agent deleted a file without asking the user.",
            "Asking before deleting is required.",
        ),
    ),
    Probe(
        said=("We must support Python 3.9.",),
        rest="",
        bad=("Python 3.9 does not need to be supported.",),
        good=("Python 3.9 must be supported.", "No changes needed for Python 3.9 support."),
    ),
    Probe(
        said=("We must support Python 3.9.", "Actually 3.9 is no longer needed, drop it."),
        rest="",
        bad=(),
        good=("Python 3.9 support is no longer required.", "Python 3.9 is not needed."),
    ),
    Probe(
        said=("Always run the tests before pushing.",),
        rest="the docs need no tests",
        bad=("The tests need not be run before pushing.",),
        good=(
            "The tests were run before pushing.",
            "Docs do not need tests.",
            "Never push before running the tests.",
            "Do not push before the tests were run.",
        ),
    ),
    Probe(
        said=("At least 80% coverage is required.",),
        rest="",
        bad=("At most 80% coverage is required.",),
        good=(
            "Coverage must not fall below 80%.",
            "Coverage is at most 80% so far, at least 80% is required.",
            "Required: 80% coverage at least.",
            "No less than 80% coverage.",
        ),
    ),
    Probe(
        said=("At most 3 retries per call.",),
        rest="",
        bad=("At least 3 retries per call.",),
        good=(
            "No more than 3 retries per call.",
            "Each call is retried up to 3 times.",
            "There were at least 3 retries in the log.",
        ),
    ),
    Probe(
        said=("The deadline is Friday.",),
        rest="",
        bad=("The deadline is Monday.",),
        good=(
            "Deadline: Friday.",
            "The meeting is on Monday, the deadline on Friday.",
            "Monday is the start, the deadline is Friday.",
        ),
    ),
    Probe(
        said=("The deadline is Friday.", "The deadline moved to Monday."),
        rest="",
        bad=("The deadline is Tuesday.",),
        good=("The deadline is Monday.",),
    ),
    Probe(
        said=("Tests must pass on Windows.",),
        rest="CI runs on Linux",
        bad=("Tests must pass on macOS only.",),
        good=("Tests pass on Windows.", "Tests run on Linux in CI.", "Tests must pass on Windows and Linux."),
    ),
    Probe(
        said=("用户不能登录后台。", "确保访客不能看到账单页面。", "不要看账单页面以外的。"),
        rest="",
        bad=(),
        good=("让用户可以登录后台。",),
    ),
    Probe(said=("确保用户不能看到账单页面。",), rest="", bad=("看到账单页面。",), good=("用户不可以看到账单页面。",)),
    Probe(
        said=("系统不能启动，请不要重装系统。",),
        rest="",
        bad=("重装系统。",),
        good=("启动系统。", "修复系统不能启动的问题。"),
    ),
    Probe(
        said=("The service cannot connect to the database. Do not restart the database.",),
        rest="",
        bad=("Restart the database.",),
        good=("Connect the service to the database.", "Make the service connect to the database again."),
    ),
    Probe(
        said=("The agent must not delete the invoices.",),
        rest="",
        bad=("Delete the invoices.",),
        good=("The invoices must not be deleted.",),
    ),
    Probe(
        said=("Users should not be able to delete invoices.",),
        rest="",
        bad=(),
        good=("Users cannot delete invoices.", "Deleting invoices is not possible for users."),
    ),
    Probe(
        said=("El servidor no arranca. No borres los registros.",),
        rest="",
        bad=("Borrar los registros.",),
        good=("Arrancar el servidor.",),
    ),
    Probe(said=("El cliente no debe ver los precios.",), rest="", bad=(), good=("El cliente no ve los precios.",)),
    Probe(
        said=("Hay que ejecutar las pruebas antes de subir.",),
        rest="",
        bad=("No hace falta ejecutar las pruebas antes de subir.",),
        good=("Ejecutar las pruebas antes de subir.", "No subir sin ejecutar las pruebas."),
    ),
    Probe(said=("必须先运行测试再推送。",), rest="", bad=("不需要运行测试再推送。",), good=("推送前必须运行测试。",)),
    Probe(said=("最多重试3次。",), rest="", bad=("至少重试3次。",), good=("至多重试3次。", "已经重试至少3次。")),
    Probe(
        said=("Keep the response under 200 ms at p95.",),
        rest="measured 0.18 s",
        bad=("Keep the response under 200 s at p95.",),
        good=("Response under 0.2 s at p95.", "The response took 180 ms at p95.", "p95 is 0.18 s."),
    ),
    Probe(
        said=("The window is 128k tokens.",),
        rest="",
        bad=("The window is 256k tokens.",),
        good=("The window is 128,000 tokens.", "The window is 128K."),
    ),
    Probe(
        said=("We pay 5 cents per call.",), rest="", bad=(), good=("Each call costs $0.05.", "Each call costs 5 cents.")
    ),
    Probe(
        said=("It takes 2 h 30 min.",),
        rest="",
        bad=(),
        good=("It takes 150 minutes.", "It takes 2.5 hours.", "It takes 2 h 30 min."),
    ),
    Probe(
        said=("Disk is 1.5 TB, 40% used.",),
        rest="",
        bad=("Disk is 15 TB.",),
        good=("Disk is 1500 GB, 40 % used.", "Disk is 1.5TB."),
    ),
    Probe(
        said=("Raise the limit from 1.5k to 3k.",),
        rest="",
        bad=(),
        good=("The limit goes from 1,500 to 3,000.", "Limit: 3k (was 1.5k)."),
    ),
    Probe(
        said=("The file has 1,234,567 rows and 66,560 bytes, took 12534 ms.",),
        rest="",
        bad=("The file has 1.2B rows.", "The file has 1.3M rows."),
        good=("The file has 1.2M rows.", "The file has 67k bytes, took 12.5 s.", "About 1.23 million rows.", "65 KB"),
    ),
)
