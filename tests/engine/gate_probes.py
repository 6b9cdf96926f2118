"""More sessions, with sentences that contradict what was said, and sentences that do not; the gate is asked directly."""

# ruff: noqa: RUF001 (Chinese text has full-width punctuation)

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Probe(NamedTuple):
    """`rest`: what else the source holds."""

    said: Sequence[str]
    rest: str
    bad: Sequence[str]
    good: Sequence[str]


PROBES = (
    Probe(
        said=(
            "Please keep the response time below 200 ms. You must not log request bodies.",
            "Don't commit anything until I say so. Use PostgreSQL for the jobs table.",
            "Do not rename the public functions in api/client.py",
            "Only run the linter, never the full test suite.",
            "The budget for this is $1,200 and no more than 2 people.",
            "Delete the old branch feature/login when you're done.",
        ),
        rest="the response time is 340 ms on p95. lint ok. We have sqlite now. api/client.py, api/server.py",
        bad=(
            "Log request bodies.",
            "The response time must stay below 2000 ms.",
            "The response time must stay below 300 ms.",
            "Use SQLite for the jobs table.",
            "Rename the public functions in api/client.py.",
            "Do not rename the public functions in api/server.py.",
            "Run the full test suite.",
            "The budget is $12,000.",
            "At most 5 people.",
            "Do not delete the old branch feature/login.",
        ),
        good=(
            "Response time has to be under 200 ms; p95 is at 340 ms now.",
            "Request bodies are not to be logged.",
            "No commits before the user gives the word.",
            "The jobs table is in PostgreSQL.",
            "Public functions of api/client.py keep their names.",
            "Linter only; the full test suite is off limits.",
            "Budget: $1,200, two people at most.",
            "feature/login is to be deleted at the end.",
            "The user was told that p95 is 340 ms.",
            "api/server.py was read.",
            "Commit once the user says so.",
            "Nothing has been committed.",
            "The old branch was not deleted yet.",
        ),
    ),
    Probe(
        said=(
            "No reinicies el servidor sin avisarme. Guarda las copias en /backups durante 30 días.",
            "Traduce los mensajes al francés, no al inglés.",
            "No subas los cambios a main.",
        ),
        rest="El servidor lleva 12 días encendido. copias 7 GB",
        bad=(
            "Guardar las copias en /backups durante 90 días.",
            "Guardar las copias en /backups durante 12 días.",
            "Subir los cambios a main.",
            "Traducir los mensajes al inglés.",
        ),
        good=(
            "Las copias se guardan 30 días en /backups.",
            "Avisar antes de reiniciar el servidor.",
            "Los mensajes van en francés.",
            "Los cambios no van a main.",
            "El servidor lleva 12 días en marcha.",
            "Reiniciar el servidor solo tras avisar al usuario.",
        ),
    ),
    Probe(
        said=("不要重启服务器。备份保留30天。", "提交信息用英文写，不要用中文。", "别动 utils/date.py 这个文件"),
        rest="服务器已运行12天\nutils/time.py",
        bad=("重启服务器。", "备份保留90天。", "备份保留12天。", "别动 utils/time.py 这个文件"),
        good=(
            "备份要保留30天。",
            "服务器不能重启。",
            "提交信息使用英文。",
            "utils/date.py 不要修改。",
            "服务器已经运行了12天。",
        ),
    ),
    Probe(
        said=("Ruf mich nicht an, schreib nur E-Mails. Lösche keine Daten.",),
        rest="",
        bad=(),
        good=("Der Nutzer will E-Mails statt Anrufe.", "Daten werden nicht gelöscht."),
    ),
    Probe(
        said=("Do not deploy to production.", "Never push to main without asking me.", "Yes, go ahead."),
        rest="The staging tests are green. Shall I deploy to production now?",
        bad=(),
        good=("Deploy to production.", "Next: push to main."),
    ),
    Probe(
        said=("Do not deploy to production.", "Yes, go ahead."),
        rest="Shall I run the tests now?",
        bad=("Deploy to production.",),
        good=("Run the tests.",),
    ),
    Probe(
        said=("不要部署到生产环境。", "好的"),
        rest="测试通过了。现在要部署到生产环境吗？",
        bad=(),
        good=("部署到生产环境。",),
    ),
    Probe(
        said=(
            "Do not deploy to production.",
            "The limit is 5 requests per second.",
            "All green. You may deploy to production now, and raise the limit to 8 requests per second.",
        ),
        rest="",
        bad=("The limit is 9 requests per second.",),
        good=("Deploy to production.", "The limit is 8 requests per second.", "Do not deploy to production."),
    ),
)
