"""Sessions with constraints in three languages; lines of a summary that must be refused, and lines that must not."""

# ruff: noqa: RUF001 (Chinese text has full-width punctuation)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offturn_engine.rules import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """`head`: goal and steps of a good summary in the session's language. bad: (line, rule). good: lines."""

    language: str
    said: Sequence[str]
    rest: str
    goal: str
    done: str
    next_step: str
    bad: Sequence[tuple[str, Rule]]
    good: Sequence[str]

    @property
    def transcript(self) -> str:
        humans = "".join(f"[m{2 * i} human]\n{text}\n\n" for i, text in enumerate(self.said))
        return f"{humans}{self.rest}"


ENGLISH = Gate(
    language="English",
    said=(
        "Refunds above $500 need my approval. The ledger export must finish in under 5 minutes.",
        "Do not deploy to production. Deploy to staging once the tests pass.",
        "Never edit config/prod.yaml, and don't touch the database schema: it is frozen until March.",
        "Always answer in English, and use tabs for indentation in every file. Retry a failed call at most 3 times.",
        "Send the weekly report to finance. Keep customer names out of the logs.",
        "Don't push to main without asking me. Use the Redis cache, not a new table.",
        "Run the migration script on the replica, please, and back up the invoices table first.",
    ),
    rest="""[m20 assistant]
I looked at src/refunds/limits.py and at config/dev.yaml. There are 5000 rows in the ledger.
call m20.0 bash {"command": "pytest -q tests/test_limits.py"}

[m21 tool]
result m20.0 bash ok:
17 passed in 2.31s

[m22 assistant]
The refund limit is checked in src/refunds/limits.py, tests pass. I edited config/dev.yaml and left the rest alone.

""",
    goal="- Put a refund limit with approval in place and speed up the ledger export.",
    done="- The refund limit is checked in src/refunds/limits.py; 17 tests passed.",
    next_step="- Back up the invoices table, then run the migration script on the replica.",
    bad=(
        ("- Refunds above $5000 need approval.", "mutated"),
        ("- Refunds above $50 need the user's approval.", "ungrounded"),
        ("- The ledger export must finish in under 8 minutes.", "mutated"),
        ("- Retry a failed call at most 5 times.", "mutated"),
        ("- Retry failed calls at most ten times.", "mutated"),
        ("- Never edit config/dev.yaml.", "mutated"),
        ("- The refund limit is checked in src/billing/limits.py.", "ungrounded"),
        ("- The refund limit is checked in src/refunds/limit.py.", "ungrounded"),
        ("- Deploy to production.", "contradicted"),
        ("- The user wants us to deploy to production.", "contradicted"),
        ("- Next: run the tests, then deploy to production.", "contradicted"),
        ("- Touch the database schema.", "contradicted"),
        ("- Edit config/prod.yaml.", "contradicted"),
        ("- Do not deploy to staging.", "contradicted"),
        ("- Never send the weekly report to finance.", "contradicted"),
        ("- The agent must not run the migration script on the replica.", "contradicted"),
        ("- Always answer in German.", "contradicted"),
        ("- Use spaces for indentation in every file.", "contradicted"),
        ("- It was decided to move the cache to Memcached.", "ungrounded"),
        ("- We chose Kafka for the export queue.", "ungrounded"),
        ("- Ticket FIN-3391 tracks the refund limit.", "ungrounded"),
        ("- The limit is read by load_refund_policy.", "ungrounded"),
        ("- Volunteers painted seventeen wooden boats beside quiet harbours yesterday.", "ungrounded"),
        ("- The export handles 7500 rows.", "ungrounded"),
    ),
    good=(
        "- Refunds over $500 require the user's approval.",
        "- The export of the ledger has to take less than five minutes.",
        "- No deployment to production; staging is fine once the tests pass.",
        "- Production is off limits for deployments.",
        "- Deploy to staging after the tests pass.",
        "- The user forbade any deployment to production.",
        "- config/prod.yaml must stay untouched.",
        "- config/dev.yaml was edited; config/prod.yaml was not.",
        "- The database schema may not change before March.",
        "- Answers are in English, indentation is by tabs.",
        "- Failed calls: three retries at most.",
        "- Ask before pushing to main.",
        "- Redis serves as the cache; no new table.",
        "- Customer names do not belong in the logs.",
        "- The weekly report goes to finance.",
        "- Still to do: the migration on the replica, with a backup of the invoices table before it.",
        "- The ledger holds 5,000 rows.",
        "- The migration script was not run yet.",
        "- The agent has not deployed anything to staging so far.",
        "- It is not clear who approves refunds of exactly $500.",
    ),
)

SPANISH = Gate(
    language="Spanish",
    said=(
        "Los reembolsos de más de 500 euros necesitan mi aprobación. El informe debe terminar en menos de 5 minutos.",
        "No despliegues en producción. Despliega en staging cuando pasen las pruebas.",
        "Nunca edites config/prod.yaml y no borres la tabla de facturas.",
        "Responde siempre en español. Reintenta cada llamada como máximo 3 veces.",
        "Envía el informe semanal a contabilidad. Hay que ejecutar la migración en la réplica.",
        "No toques el esquema de la base de datos, está congelado hasta marzo.",
    ),
    rest="""[m20 assistant]
He mirado src/pagos/limites.py y config/dev.yaml. La tabla de facturas tiene 5000 filas.
call m20.0 bash {"command": "pytest -q tests/test_limites.py"}

[m21 tool]
result m20.0 bash ok:
17 passed in 2.31s

[m22 assistant]
El límite de los reembolsos se comprueba en src/pagos/limites.py y las pruebas pasan. Edité config/dev.yaml.

""",
    goal="- Poner un límite con aprobación a los reembolsos y acelerar el informe.",
    done="- El límite se comprueba en src/pagos/limites.py; pasan 17 pruebas.",
    next_step="- Ejecutar la migración en la réplica y enviar el informe semanal a contabilidad.",
    bad=(
        ("- Los reembolsos de más de 5000 euros necesitan aprobación.", "mutated"),
        ("- El informe debe terminar en menos de 9 minutos.", "mutated"),
        ("- Reintentar cada llamada como máximo 5 veces.", "mutated"),
        ("- Reintentar cada llamada como máximo siete veces.", "mutated"),
        ("- Nunca editar config/dev.yaml.", "mutated"),
        ("- El límite se comprueba en src/cobros/limites.py.", "ungrounded"),
        ("- Desplegar en producción.", "contradicted"),
        ("- Hay que desplegar en producción.", "contradicted"),
        ("- Borrar la tabla de facturas.", "contradicted"),
        ("- Tocar el esquema de la base de datos.", "contradicted"),
        ("- No enviar el informe semanal a contabilidad.", "contradicted"),
        ("- Nunca ejecutar la migración en la réplica.", "contradicted"),
        ("- Responder siempre en inglés.", "contradicted"),
        ("- Se decidió usar Kafka para el informe.", "ungrounded"),
        ("- El responsable es el ticket FIN-3391.", "ungrounded"),
    ),
    good=(
        "- Un reembolso de más de 500 euros requiere la aprobación del usuario.",
        "- El informe tiene que acabar en menos de cinco minutos.",
        "- Prohibido desplegar en producción.",
        "- No se despliega en producción; en staging sí, cuando pasen las pruebas.",
        "- El usuario no quiere que se borre la tabla de facturas.",
        "- config/prod.yaml no se edita.",
        "- Se editó config/dev.yaml.",
        "- Las respuestas van en español.",
        "- Como mucho tres reintentos por llamada.",
        "- El esquema está congelado hasta marzo.",
        "- El informe semanal se envía a contabilidad.",
        "- La migración no se ha ejecutado todavía en la réplica.",
        "- La tabla de facturas tiene 5.000 filas.",
    ),
)

CHINESE = Gate(
    language="Chinese",
    said=(
        "超过500元的退款需要我批准。报表必须在5分钟内完成。",
        "不要部署到生产环境。测试通过后部署到预发环境。",
        "不要修改 config/prod.yaml，也不要删除发票表。",
        "始终用中文回答。每次调用最多重试3次。",
        "把周报发送给财务部门。请在副本上运行迁移脚本。",
        "禁止改动数据库结构，三月之前都冻结。",
    ),
    rest="""[m20 assistant]
我看了 src/refunds/limits.py 和 config/dev.yaml。发票表有5000行。
call m20.0 bash {"command": "pytest -q tests/test_limits.py"}

[m21 tool]
result m20.0 bash ok:
17 passed in 2.31s

[m22 assistant]
退款上限在 src/refunds/limits.py 里检查，测试通过了。我修改了 config/dev.yaml。

""",
    goal="- 为退款设置需要批准的上限，并加快报表的速度。",
    done="- 退款上限在 src/refunds/limits.py 里检查，17 个测试通过。",
    next_step="- 在副本上运行迁移脚本，并把周报发送给财务部门。",
    bad=(
        ("- 超过5000元的退款需要批准。", "mutated"),
        ("- 报表必须在8分钟内完成。", "mutated"),
        ("- 每次调用最多重试5次。", "mutated"),
        ("- 每次调用最多重试九次。", "mutated"),
        ("- 不要修改 config/dev.yaml。", "mutated"),
        ("- 退款上限在 src/billing/limits.py 里检查。", "ungrounded"),
        ("- 部署到生产环境。", "contradicted"),
        ("- 下一步：部署到生产环境。", "contradicted"),
        ("- 删除发票表。", "contradicted"),
        ("- 改动数据库结构。", "contradicted"),
        ("- 不要在副本上运行迁移脚本。", "contradicted"),
        ("- 不要把周报发送给财务部门。", "contradicted"),
        ("- 始终用英文回答。", "contradicted"),
        ("- 决定采用 Kafka 作为队列。", "ungrounded"),
    ),
    good=(
        "- 退款超过500元须经用户批准。",
        "- 报表要在五分钟内完成。",
        "- 生产环境不可部署，预发环境在测试通过后可以部署。",
        "- 用户禁止部署到生产环境。",
        "- config/prod.yaml 保持不变。",
        "- 已修改 config/dev.yaml。",
        "- 发票表不能删除。",
        "- 回答一律用中文。",
        "- 调用失败时最多重试三次。",
        "- 数据库结构在三月之前冻结。",
        "- 周报要发给财务部门。",
        "- 迁移脚本还没有在副本上运行。",
    ),
)

GATES = (ENGLISH, SPANISH, CHINESE)
