"""What was let off, and problems that are told: sentences that contradict, and sentences that do not."""

# ruff: noqa: RUF001 (Chinese text has full-width punctuation)

from __future__ import annotations

from tests.engine.gate_probes import Probe

LET_OFF = (
    Probe(
        said=("Never delete the audit table.", "Do not merge the release branch before the review."),
        rest="",
        bad=(
            "The audit table can be deleted.",
            "The audit table could now be deleted.",
            "The audit table must be deleted.",
            "The audit table is to be deleted.",
        ),
        good=(
            "The audit table cannot be deleted.",
            "The audit table must not be deleted.",
            "The audit table was not deleted.",
            "The audit table can be read.",
            "The audit table must be kept.",
            "After the review the release branch can be merged.",
        ),
    ),
    Probe(
        said=("Never delete the audit table.", "OK, you may delete the audit table now."),
        rest="",
        bad=(),
        good=("The audit table can be deleted.",),
    ),
    Probe(
        said=("应用不能上传大文件。", "帮我看看为什么。"),
        rest="",
        bad=(),
        good=(
            "修复应用上传大文件的问题。",
            "让应用可以上传大文件。",
            "目标：应用能够上传大文件。",
            "上传大文件。",
            "应用不能上传大文件。",
        ),
    ),
    Probe(said=("用户不能登录后台。",), rest="", bad=(), good=("让用户可以登录后台。", "登录后台验证修复。")),
    Probe(said=("页面不能加载图片，请修复。",), rest="", bad=(), good=("加载图片。", "页面可以加载图片。")),
    Probe(said=("你不能上传大文件。",), rest="", bad=("上传大文件。",), good=()),
    Probe(said=("不能上传大文件。",), rest="", bad=("上传大文件。",), good=()),
    Probe(said=("这个表不能删除。", "我们不能修改接口。"), rest="", bad=("修改接口。",), good=()),
    Probe(
        said=("The app can't upload large files.", "Users cannot see the invoices."),
        rest="",
        bad=(),
        good=("Upload large files.", "Make the app upload large files.", "See the invoices."),
    ),
    Probe(said=("You can't upload large files here.",), rest="", bad=("Upload large files.",), good=()),
    Probe(
        said=("La aplicación no puede subir archivos grandes.", "La página no carga las imágenes."),
        rest="",
        bad=(),
        good=("Subir archivos grandes.", "Cargar las imágenes."),
    ),
    Probe(
        said=("No puedes subir archivos grandes.", "El agente no debe borrar las facturas."),
        rest="",
        bad=("Subir archivos grandes.", "Borrar las facturas."),
        good=(),
    ),
    Probe(
        said=("Do not deploy to production.",),
        rest="",
        bad=(
            "Deploy to production is allowed.",
            "Deploying to production is fine.",
            "Production deployments are allowed.",
            "The user approved the production deployment.",
            "Feel free to deploy to production.",
        ),
        good=(
            "Deploying to production is not allowed.",
            "Production deployments are forbidden.",
            "No production deployments.",
        ),
    ),
    Probe(
        said=("Always run the tests before pushing.",),
        rest="",
        bad=(
            "Never run the tests before pushing.",
            "Push without running the tests.",
            "The tests need not be run before pushing.",
            "Skip the tests before pushing.",
        ),
        good=("Run the tests, then push.", "Tests come before each push."),
    ),
    Probe(
        said=("Keep customer names out of the logs.",),
        rest="",
        bad=("Put customer names in the logs.", "Log customer names."),
        good=("Customer names stay out of the logs.",),
    ),
    Probe(
        said=("Use tabs for indentation.",),
        rest="",
        bad=("Use spaces for indentation.",),
        good=("Indentation by tabs.",),
    ),
    Probe(said=("Only edit files in src/.",), rest="", bad=(), good=("Edit files in src/ only.",)),
    Probe(
        said=("Ask me before deleting anything.",),
        rest="",
        bad=("Delete anything without asking.", "There is no need to ask before deleting."),
        good=("Ask before deleting.",),
    ),
    Probe(
        said=("The API key must be kept secret.",),
        rest="",
        bad=("The API key need not be kept secret.",),
        good=("The API key stays secret.",),
    ),
    Probe(
        said=("Don't use any external libraries.",),
        rest="",
        bad=("Use external libraries.", "External libraries are allowed.", "External libraries may be used."),
        good=("External libraries are not allowed.", "No external libraries may be used."),
    ),
    Probe(
        said=("We must support Python 3.9.",),
        rest="",
        bad=(
            "We must not support Python 3.9.",
            "Python 3.9 support is not needed.",
            "Python 3.9 need not be supported.",
        ),
        good=("Python 3.9 has to be supported.",),
    ),
    Probe(
        said=("Tests must pass on Windows.",),
        rest="",
        bad=("Tests need not pass on Windows.", "Tests must pass on Linux."),
        good=("The tests have to pass on Windows.",),
    ),
    Probe(
        said=("Replies must be in French.",),
        rest="",
        bad=("Replies must be in German.", "Replies in English."),
        good=("Replies are in French.",),
    ),
    Probe(said=("The deadline is Friday.",), rest="", bad=("The deadline is Monday.",), good=("Deadline: Friday.",)),
    Probe(
        said=("Back up the database before the migration.",),
        rest="",
        bad=("Back up the database after the migration.", "Do not back up the database."),
        good=("Database backup first, then the migration.",),
    ),
    Probe(
        said=("Refunds are allowed only within 14 days.",),
        rest="",
        bad=("Refunds are allowed within 30 days.",),
        good=("Refunds within 14 days only.",),
    ),
    Probe(
        said=("At least 80% coverage is required.",),
        rest="",
        bad=("At most 80% coverage is required.", "At least 60% coverage is required."),
        good=("Coverage has to be 80% or more.", "At least 0.8 coverage is required."),
    ),
    Probe(
        said=("No más de 3 reintentos.",),
        rest="",
        bad=("Al menos 3 reintentos.", "No más de 5 reintentos."),
        good=("Como máximo 3 reintentos.",),
    ),
    Probe(said=("最多重试3次。",), rest="", bad=("至少重试3次。", "最多重试5次。"), good=("重试不超过3次。",)),
    Probe(
        said=("不要使用第三方库。",),
        rest="",
        bad=("可以使用第三方库。", "允许使用第三方库。", "使用第三方库。"),
        good=("不得使用第三方库。", "第三方库不可使用。"),
    ),
    Probe(
        said=("不要删除旧接口。",),
        rest="",
        bad=("旧接口可以删除。", "删除旧接口。"),
        good=("旧接口不可以删除。", "旧接口要保留。"),
    ),
    Probe(
        said=("No borres la tabla de facturas.",),
        rest="",
        bad=(
            "Se puede borrar la tabla de facturas.",
            "La tabla de facturas se puede borrar.",
            "Está permitido borrar la tabla de facturas.",
        ),
        good=("No se puede borrar la tabla de facturas.", "Está prohibido borrar la tabla de facturas."),
    ),
    Probe(
        said=("Never restart the server during the day.",),
        rest="",
        bad=("Restart the server during the day.", "The server may be restarted during the day."),
        good=("Restart the server at night.", "The server may be restarted at night."),
    ),
    Probe(
        said=("The user prefers dark mode.",),
        rest="",
        bad=("The user prefers light mode.",),
        good=("Dark mode is preferred.",),
    ),
    Probe(
        said=("Include the summary table in the report.",),
        rest="",
        bad=("Exclude the summary table from the report.", "Do not include the summary table in the report."),
        good=("The report includes the summary table.",),
    ),
    Probe(
        said=("Always run the tests before pushing.",),
        rest="",
        bad=(
            "Push without running the tests.",
            "Skip the tests before pushing.",
            "Next: skip running the tests before pushing.",
        ),
        good=(
            "Do not skip the tests before pushing.",
            "Never push without running the tests.",
            "The agent pushed without running the tests.",
            "Skip the slow tests of the docs.",
            "Skipped tests before pushing: 2.",
            "Tests before pushing were skipped by CI.",
        ),
    ),
    Probe(
        said=("Always run the tests before pushing.", "skip the tests before pushing this one"),
        rest="",
        bad=(),
        good=("Skip the tests before pushing.",),
    ),
    Probe(
        said=("Keep customer names out of the logs.",),
        rest="",
        bad=("Put customer names in the logs.", "Log customer names."),
        good=(
            "Customer names stay out of the logs.",
            "Add a filter that removes customer names from the logs.",
            "Add customer names to the invoice.",
            "Remove customer names from the logs.",
            "Mask customer names in the logs.",
        ),
    ),
    Probe(
        said=("You must back up the invoices table before migrating.",),
        rest="",
        bad=("Migrate without backing up the invoices table.",),
        good=(
            "Back up the invoices table before migrating.",
            "The migration must not run without a backup of the invoices table.",
        ),
    ),
    Probe(
        said=("Hay que ejecutar las pruebas antes de subir.",),
        rest="",
        bad=("Subir sin ejecutar las pruebas.",),
        good=("No subir sin ejecutar las pruebas.", "Nunca subir sin ejecutar las pruebas."),
    ),
    Probe(said=("必须运行测试再推送。",), rest="", bad=("跳过运行测试再推送。",), good=("不要跳过运行测试再推送。",)),
)
