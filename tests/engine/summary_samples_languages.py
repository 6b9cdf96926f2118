"""Spanish and Chinese sessions, each with a summary a careful writer would give."""

# ruff: noqa: RUF001 (Chinese text has full-width punctuation)

from __future__ import annotations

from offturn_engine.compaction import Sections
from offturn_engine.templates import NINE_SECTION
from tests.engine.summary_sample import Sample

SPANISH_TEXT = """[m0 human]
Hola, el informe mensual tarda más de 40 minutos y necesito que termine en menos de 5. No puedes tocar la tabla \
ventas_2024 porque contabilidad la usa. Responde siempre en español, por favor.

[m1 assistant]
Voy a medir la consulta.
call m1.1 bash {"command": "psql -f sql/informe.sql"}

[m2 tool]
result m1.1 bash ok:
Seq Scan on ventas_2024  (cost=0.00..1843221.00 rows=48211034 width=84)
Execution Time: 2467331.221 ms

[m3 assistant]
Falta un índice, pero la tabla no se puede tocar. Propongo una vista materializada.

[m4 human]
De acuerdo, pero se tiene que refrescar solo a las 03:00. El script está en scripts/refrescar.sh.

[m5 assistant]
call m5.0 bash {"command": "bash scripts/refrescar.sh"}

[m6 tool]
result m5.0 bash failed:
psql: error: FATAL:  permission denied for schema informes
exit code 2

"""

SPANISH = Sample(
    name="spanish-first",
    language="Spanish",
    humans=("Hola, el informe mensual tarda más de 40 minutos y necesito que termine en menos de 5.",),
    transcript=SPANISH_TEXT,
    summary="""## 1. Goal:
- Que el informe mensual termine en menos de 5 minutos; ahora tarda más de 40.

## 2. Constraints and Preferences:
- No se puede tocar la tabla `ventas_2024`, porque la usa contabilidad.
- Responder siempre en español.

## 3. Done:
- Se midió la consulta de sql/informe.sql: recorre toda la tabla (48.211.034 filas) y tarda 2467331 ms.

## 4. In Progress:
- La vista materializada está acordada con el usuario, pero el script de refresco todavía falla.

## 5. Blocked:
- El script espera permisos sobre el esquema informes.

## 6. Key Decisions:
- Una vista materializada en lugar de un índice, porque la tabla no se puede cambiar.

## 7. Errors and Fixes:
- scripts/refrescar.sh: "permission denied for schema informes" (código 2), sin resolver.

## 8. Next Steps:
- Conseguir el permiso y programar el refresco a las 03:00.

## 9. Critical Details:
- Ninguno
""",
)

SPANISH_UPDATE = Sample(
    name="spanish-update",
    language="Spanish",
    humans=("Ya te di permiso, prueba otra vez y luego mira cuánto tarda el informe.",),
    previous=Sections(
        titles=NINE_SECTION.titles,
        bodies=(
            "- Que el informe mensual termine en menos de 5 minutos.",
            "- No tocar ventas_2024.",
            "- Se midió la consulta: 2467331 ms.",
            "- Vista materializada.",
            "- Faltan permisos sobre el esquema informes.",
            "",
            "",
            "- Programar el refresco a las 03:00.",
            "",
        ),
    ),
    transcript="""[m7 human]
Ya te di permiso, prueba otra vez y luego mira cuánto tarda el informe.

[m8 assistant]
call m8.0 bash {"command": "bash scripts/refrescar.sh && psql -f sql/informe.sql"}

[m9 tool]
result m8.0 bash ok:
REFRESH MATERIALIZED VIEW
Execution Time: 93177.402 ms

""",
    summary="""<think>The user gave permission, so the block is gone.</think>
## Goal
- Que el informe mensual termine en menos de 5 minutos: conseguido, ahora tarda 93177 ms.
## Constraints and Preferences
- No tocar ventas_2024.
## Done
- El usuario dio el permiso y el script de refresco funcionó con `scripts/refrescar.sh`.
- Se midió otra vez: de 2467331 ms a 93177 ms.
## In Progress
- nada
## Blocked
- nada
## Key Decisions
- nada
## Errors and Fixes
- La falta de permisos sobre el esquema informes quedó resuelta por el usuario.
## Next Steps
- Programar el refresco a las 03:00.
## Critical Details
- nada""",
)

CHINESE_TEXT = """[m20 human]
请把登录页面的验证码换成短信验证，有效期 300 秒。不要动 auth/session.py，那是另一个团队维护的。

[m21 assistant]
我先看一下现有的实现。
call m21.1 read_file {"path": "auth/captcha.py"}

[m22 tool]
result m21.1 read_file ok:
CAPTCHA_TTL = 120
def verify_captcha(token: str) -> bool: ...

[m23 assistant]
call m23.0 bash {"command": "pytest tests/test_login.py"}

[m24 tool]
result m23.0 bash failed:
E   KeyError: 'SMS_GATEWAY_URL'
3 failed, 18 passed

[m25 human]
网关地址用 https://sms.internal.example.com/v2/send ，每个手机号每小时最多 5 次。

"""

CHINESE = Sample(
    name="chinese-first",
    language="Chinese",
    humans=("请把登录页面的验证码换成短信验证，有效期 300 秒。",),
    transcript=CHINESE_TEXT,
    summary="""```markdown
## Goal
- 把登录页面的验证码换成短信验证，有效期 300 秒。

## Constraints and Preferences
- 不要改动 auth/session.py，它由另一个团队维护。
- 每个手机号每小时最多 5 次。

## Done
- 已查看 auth/captcha.py 的现有实现（CAPTCHA_TTL = 120）。

## In Progress
- 测试 tests/test_login.py 还有 3 个失败，18 个通过。

## Blocked
- 无

## Key Decisions
- 无

## Errors and Fixes
- `KeyError: 'SMS_GATEWAY_URL'`：缺少网关地址，用户随后给出了地址，尚未写入配置。

## Next Steps
- 把网关地址设为 https://sms.internal.example.com/v2/send 并重新运行测试。

## Critical Details
- 暂无
```""",
)

CHINESE_UPDATE = Sample(
    name="chinese-update",
    language="Chinese",
    humans=("好的，测试都通过了就提交吧，提交信息写中文。",),
    previous=Sections(
        titles=NINE_SECTION.titles,
        bodies=(
            "- 把登录页面的验证码换成短信验证，有效期 300 秒。",
            "- 不要改动 auth/session.py。",
            "- 已查看 auth/captcha.py。",
            "- 3 个测试失败。",
            "",
            "",
            "- `KeyError: 'SMS_GATEWAY_URL'`",
            "- 设置网关地址。",
            "",
        ),
    ),
    transcript="""[m26 assistant]
call m26.0 bash {"command": "pytest tests/test_login.py"}

[m27 tool]
result m26.0 bash ok:
21 passed in 2.11s

[m28 human]
好的，测试都通过了就提交吧，提交信息写中文。

[m29 assistant]
call m29.0 bash {"command": "git commit -am '登录改用短信验证'"}

[m30 tool]
result m29.0 bash ok:
[feature/sms-login 9be04d2] 登录改用短信验证

""",
    summary="""# 会话记录

## GOAL
- 登录页面改用短信验证，有效期 300 秒。

## CONSTRAINTS AND PREFERENCES
- 不要改动 auth/session.py；提交信息用中文。

## DONE
- 网关地址问题已解决，`tests/test_login.py` 的 21 个测试全部通过。
- 已在 feature/sms-login 分支提交，提交号 9be04d2。

## IN PROGRESS
- （无）

## BLOCKED
- （无）

## KEY DECISIONS
- （无）

## ERRORS AND FIXES
- KeyError: 'SMS_GATEWAY_URL' 已修复。

## NEXT STEPS
- （无）

## CRITICAL DETAILS
- （无）
""",
)
