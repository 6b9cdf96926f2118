"""Words by which statements are compared, in English, Spanish and Chinese: tables, no logic."""

# ruff: noqa: RUF001 (Chinese text has full-width punctuation)

from __future__ import annotations

import re

COUNTED = {
    word: str(value)
    for value, words in enumerate(
        (
            "zero cero 零",
            "",  # in all three languages the word for one is an article, a pronoun or part of other words
            "two twice dos 二 两 兩",
            "three tres 三",
            "four cuatro 四",
            "five cinco 五",
            "six seis 六",
            "seven siete 七",
            "eight ocho 八",
            "nine nueve 九",
            "ten diez 十",
        )
    )
    for word in words.split()
}
"""Words for numbers, as digits."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


EMPTY = _set(
    "the a an and or of to in on at for with by from as is are was were be been it its this that these those there their "
    "them they you your we our us i me my he she his her not no do does did doing don't dont doesn't didn't never always "
    "must mustn't should shouldn't shall may can cannot can't could would will won't have has had any all every each "
    "please so if then than when while user users wants wanted asked says said also just very more most which what who how "
    "only ever anything everything nothing something thousand million millions billion billions mil millones "
    "el la los las un una unos unas y o u de del al en con por para que se lo le les su sus mi tu es son era fue ser sido "
    "esta estas este estos ese esa eso esto no nunca siempre jamas jamás debe debes deben puede puedes pueden hay muy mas "
    "más pero como cuando si favor usuario quiere pidio pidió dijo cada todo todos toda todas solo sólo ya"
)
"""Words that say nothing by themselves."""

EMPTY_HAN = re.compile("[万萬亿億的了是在到把被和与與不勿别別请請就也都要]|用户|用戶")

ENDINGS = (
    *("ciones", "ments", "mente", "ings", "cion", "ment", "ando", "iendo", "ing"),
    *("ed", "es", "as", "ar", "er", "ir", "en", "an", "s", "e", "a", "o"),
)

FORBIDDING = re.compile(
    r"(?i)\b(?:(?:do|does|must|should|shall|may|can|could|will|would) not(?: be)?|(?:do|does|must|should|wo|ca)n['’]?t(?: be)?|cannot(?: be)?"
    r"|never|not to|not|avoid|refrain from|(?:forbidden|prohibited) to|no)\b"
    r"|\b(?:nunca|jamás|evita[rd]?|prohibido)\b"
    r"|(?:绝|絕|永远|永遠|千万|千萬)?(?:不要|不得|不可以?|不准|不能|不应该?|不應該?|不许|不許|勿|[别別](?!的|人|处|處))|禁止|严禁|嚴禁|避免"
)
"""What opens a prohibition; what it forbids follows. The Spanish `no` is the English one."""

THING = re.compile(r"(?i)(?:the|an?|any|el|la|los|las|un|una|unos|unas|al|a la|con)\s")
THING_AFTER = frozenset(("never", "not", "no", "nunca", "jamás"))
"""A prohibition of a thing: an article after one of these words."""

HARDLY = re.compile(
    r"(?i)(?:only|just|merely|simply|solo|sólo|solamente|hesitate)\b|[只仅僅光]|[^.;]{0,40}?(?:\b(?:more|less|fewer) than\b|\bm[áa]s de\b|\bmenos de\b|超过|超過)"
)
"""What follows a `not` that forbids no action: "not only", and what limits an amount, as in "never run more than two"."""

TELLING = re.compile(
    r"(?i)(?:(?:^|\W)(?:i|he|she|it|they|there)\s+(?:\w+ly |still |just )?(?:do|does|can|could|will|would|wo|ca)(?:\s|n['’]?t|not)"
    r"|(?:^|\W)(?:the|my|our|its|these|those)\s(?:\w+\s){1,3}(?:do|does|could|would|will|wo)(?:\s|n['’]?t)|\bdoes(?:\s|n['’]?t))"
)
"""Somebody, or something, that does not or cannot: told, not forbidden."""

UNABLE = re.compile(
    r"(?i)\b(?:app(?:lication)?|program|page|(?:web)?site|server|service|client|browser|phone|users?|customers?|visitors?|people|admins?)"
    r"\s(?:\w+ly |still |just )?can(?: ?not|['’]t)\Z"
    r"|\b(?:aplicación|app|programa|página|sitio|web|servidor|servicio|cliente|navegador|móvil|usuarios?|clientes|gente)\s(?:\w{2,12}\s)?no\Z"
    r"|(?:应用|應用|程序|程式|软件|軟體|系统|系統|页面|頁面|网页|網頁|网站|網站|服务|服務|服务器|伺服器|客户端|浏览器|瀏覽器|手机|手機"
    r"|用户|用戶|客户|客戶|我)(?:还是|還是|现在|現在|目前|总是|總是|有时|有時|仍然?|也|都|根本)?(?:不能|不可以)\Z"
)
"""A thing or a person that is not able to, up to the negation: a problem is told, and nobody forbids it."""

UNABLE_UNLESS = re.compile(r"(?i)(?:se|debe\w*|deberí\w*)\b")
"""What follows the Spanish one where it forbids all the same."""

ADDRESSED = _set("agent agente assistant asistente bot model modelo")
"""Who is told: no part of what they must not do."""

ENSURING = re.compile(
    r"(?i)\b(?:ensure|make sure|that|so|must|should|want|expect)\b|确保|確保|保证|保證|必须|必須|务必|要求|应该|應該"
)
"""Before it what is told is wanted."""

ASSENT = re.compile(
    r"(?i)^(?:yes|yeah|yep|ok(?:ay)?|sure|go (?:ahead|on|for it)|do (?:it|that|so)|please do|approved?|confirmed|sounds good|fine|agreed"
    r"|reviewed|perfect|great|go|no problem|sí|si|vale|adelante|de acuerdo|claro|hazlo|aprobado|confirmado|perfecto|revisado)\b"
    r"|^(?:好|可以|行[,，。!！]?$|同意|批准|没问题|沒問題|是的|对[,，。]?$)"
    r"|(?i:\b(?:lgtm|looks (?:good|great|fine)|is (?:good|fine|ok(?:ay)?|approved)|approved|i like|me gusta|me parece bien|aprobad[oa])\b)|不错|不錯|没错|沒錯"
)
"""A human agrees to what was asked before."""

PERMITTING = re.compile(r"(?i)\b(?:can|you may|allowed|feel free|puedes?|permitido)\b|可以|允许|允許")
"""A human lets somebody do something."""

RELENTING = re.compile(
    r"(?i)\b(?:after all|is lifted|no longer (?:forbidden|off[- ]limits)|al final sí)\b|还是.{0,12}吧"
)
"""They have changed their mind, whatever word they have for the action."""

HAS = re.compile(
    r"(?i)\b(?:has|have|had|was|were|took|takes|contains?|holds?|got|found|exists?|finished|completed|ended|lasted|ran|used|reached"
    r"|tiene[ns]?|tarda|tardó|contiene[ns]?|terminó|acabó|duró|usó)\b|[用花]了|耗时|耗時"
)
"""Tells how many there are, not how many there may be."""

AT_MOST = re.compile(
    r"(?i)\b(?:at most|no more|not more|up to|max\w*|under|below|within|como máximo|no más)\b|最多|不超过|不超過"
)
AT_LEAST = re.compile(r"(?i)\b(?:at least|min(?:imum)?|no less|no fewer|not less|al menos|como mínimo)\b|至少")
"""What limits an amount."""

GRANTING = re.compile(
    r"(?i)\b(?:is|are|be)\s(?:now |also |fully )?(?:allowed|permitted|acceptable|authori[sz]ed|ok(?:ay)?|fine)\b|\b(?:may|can|could|must|should|(?:is|are) to) (?:now |also )?be \w{2,20}ed\b"
    r"|\b(?:approved|allowed|permitted|authori[sz]ed) (?:the|a|any)\b|\bestán? (?:permitid|autorizad)[oa]s?\b|\bse permiten?\b|允许|允許|准许|准許"
)
"""Says that somebody may."""

EXCUSING = re.compile(
    r"(?i)\b(?:needs? not|needn['’]t|(?:do|does)(?: not|n['’]t) (?:need|have) to|no need to|(?:is|are) (?:not|no longer) (?:needed|required|necessary|mandatory)"
    r"|(?:is|are) (?:unnecessary|optional))\b|\bno (?:hace falta|es necesari[oa]|son necesari[oa]s)\b|不需要|不必|无需|無需|不用(?!户)"
)
"""Says that nobody has to."""

UNASKED = re.compile(
    r"(?i)\bwithout (?:asking|(?:the user['’]s |any |further )?(?:approval|permission|confirmation))\b|\bsin (?:preguntar|permiso|aprobación|confirmación)\b"
)
"""Says that nobody has to be asked."""

OMITTING = re.compile(
    r"(?i)(?:^|\b(?:then|to|should|please|and)\s)(?:skip|omit|leave out)\b|\bwithout \w{3,20}ing\b"
    r"|^(?:omitir|omite|saltarse|sáltate)\b|\bsin \w{2,20}[aei]r\b|^(?:跳过|跳過)"
)
"""Says to do without something."""

KEEPING_OUT = re.compile(r"(?i)\bkeep (.{2,60}?) (?:out of|away from|off) (.{2,60})")
INSERTING = re.compile(r"(?i)^(?:put|write|include|add|store|show|print|log|record|save)\b")
"""A thing that is to stay out of another, and what puts it there."""

REQUIRING = re.compile(
    r"(?i)\b(?:must|ha(?:s|ve) to|always|required?s?|needs? (?:to|my)|make sure|ensure|mandatory|ask (?:me|us|first|before)|check with (?:me|us))\b"
    r"|\b(?:debe[ns]?|siempre|hay que|tienen? que|obligatori[oa]|pregúntame|consúltame)\b|必须|必須|务必|務必|一定|始终|始終|总是"
)
"""Says that somebody has to."""

STRICTLY_MOST = re.compile(
    r"(?i)\b(?:at most|no more than|not more than|como máximo|a lo sumo|no más de)\b|最多|不超过|不超過"
)
STRICTLY_LEAST = re.compile(
    r"(?i)\b(?:at least|no less than|no fewer than|al menos|como mínimo|no menos de)\b|至少|不少于"
)
"""Limits that exclude each other, but for the number itself."""

DIRECTIVE = re.compile(
    r"(?i)\b(?:do not|don['’]t|must not|mustn['’]t|should not|shouldn['’]t|may not|shall not|never|avoid)\b"
    r"|\b(?:nunca|jamás|no (?:se )?(?:debe[ns]?|puede[ns]?)|no \w+(?:ar|er|ir|es|as|en|an))\b"
    r"|不要|不得|不准|不许|不許|禁止|严禁|嚴禁|切勿|请勿|請勿"
)
"""What tells somebody not to; `was not`, `is not` only tell."""

DEMANDING = re.compile(
    r"(?i)\b(?:needs?|requires?|limits?|budget|approval|approve|cap|deadline|threshold|timeout|maximum|minimum"
    r"|necesita\w*|requiere\w*|límites?|presupuesto|máximo|mínimo|plazo|umbral)\b|需要|上限|下限|预算|預算|期限|阈值"
)
"""Words by which a sentence with an amount is a demand, though it has no other cue of a constraint."""

NEGATIVE = re.compile(
    r"(?i)\b(?:not|never|no|nor|neither|none|cannot|\w+n['’]t|dont|without|avoid\w*|forbid\w*|forbade|prohibit\w*|disallow\w*"
    r"|block\w*|fail\w*|stop\w*|skip\w*|cancel\w*|off[- ]limits|frozen|hold|held|refus\w*|reject\w*|withdr\w*|instead)\b"
    r"|\b(?:nunca|jamás|ning[uú]n\w*|sin|evita\w*|prohib\w*|bloque\w*|fall[aó]\w*|cancel\w*|rechaz\w*|congelad\w*)\b"
    r"|[不没沒禁勿别別未无無非]|避免|取消|失败|失敗|冻结|凍結"
)
"""What says no, in whatever way."""

CONDITION = re.compile(
    r"(?i)\b(?:without|unless|until|before|except|outside|sin|hasta|salvo|excepto|antes|while|during|mientras"
    r"|yet|for now|todavía|aún|por ahora|de momento)\b|除非|之前|以外|未经|未經|先不|先别|暂"
)
"""Ends what is forbidden; what follows says when it is."""

WHEN = re.compile(
    r"(?i)\b(?:(?:at|during the) (?:night|midnight)|overnight|tonight|(?:on|at|over) (?:the )?weekends?|in the (?:morning|evening)"
    r"|(?:por la|de) noche|fin(?:es)? de semana)\b|夜里|夜间|夜間|晚上|凌晨|周末|週末"
)
"""Gives a time of its own: where something is forbidden at certain times, nobody knows whether it is one of them."""

RESTRICTING = re.compile(
    r"(?i)\b(?:not|never|no|none|nor|neither|nothing|cannot|\w+n['’]t|dont|without|avoid\w*|refrain\w*|stop\w*|except\w*|unless|until"
    r"|only|before|after|once|instead|rather|forbid\w*|forbade|prohibit\w*|disallow\w*|bann?\w*|off[- ]limits|frozen|freez\w*|read[- ]only"
    r"|unchanged|untouched|intact|as[- ]is|leave|keep\w*|kept|preserv\w*|stays?|remains?|skip\w*|exclud\w*|block\w*|wait\w*|pending|postpone\w*"
    r"|approv\w*|permission|ask\w*|confirm\w*|if|whether|when|requires?|prevent\w*|protect\w*|reject\w*|refus\w*|declin\w*|revert\w*|undo"
    r"|undone|broke|violat\w*|against|despite|fail\w*|out of scope|wrong\w*|mistake\w*|late[rn]?|currently|options?|alternativ\w*)\b|\?"
    r"|\b(?:nunca|jamás|ningún\w*|ningun\w*|sin|salvo|excepto|evita\w*|solo|sólo|solamente|únicamente|hasta|antes|después|tras"
    r"|prohib\w*|congelad\w*|bloque\w*|pendiente\w*|permiso|aprob\w*|si|cuando|lugar|vez|mant[ie]\w*|intact\w*|conserv\w*|dej[ae]\w*"
    r"|rechaz\w*|pregunt\w*|espera\w*|excluy\w*|error\w*)\b"
    r"|[不没沒禁勿别別未无無非只仅僅若等前后後]|除非|除了|除外|避免|保持|保留|冻结|凍結|如果|许可|許可|失败|失敗|拒绝|拒絕|维持|維持|允许|允許"
)
"""What makes a statement anything but a plain yes: where one of these is said, nobody calls a negation dropped."""

LEADS = _set(
    "to will should must can may and then now always please just you we i shall let's also first next "
    "debe debes deben puede puedes pueden que y a para va vamos ahora siempre podemos luego hay se"
)
"""Words after which an action is to be done; a sentence starts with it too."""

DONE = re.compile(r"(?i)\b\w+(?:ado|ada|ados|adas|ido|ida|idos|idas|ó|aron|ieron)\b|[了已过過]|完成")
"""Spanish and Chinese words that tell what was done. English ones are seen by their ending."""

UNITS = _set(
    "second sec minut min hour hrs day week month year milisec byte kilobyt megabyt gigabyt segund minuto hora dia seman mes ano 分钟 小时 秒钟"
)
"""Stems of units: where one is shared, two amounts are of the same unit."""

MONEY = _set("usd eur gbp cny rmb jpy chf cent dol dollar dolar euro 美元 欧元")
"""Stems of currencies."""

FACTORS = frozenset((7.0, 12.0, 24.0, 30.0, 52.0, 60.0, 100.0, 365.0, 1_000.0, 1_024.0, 3_600.0, 86_400.0, 1_000_000.0))
"""By what an amount may differ from the same one in another unit."""

ALTERNATIVES = tuple(
    map(
        _set,
        (
            "english spanish chinese german french italian japanese portuguese korean russian",
            "ingles inglés español espanol chino aleman alemán frances francés japonés portugués",
            "英文 英语 中文 汉语 西班牙语 西语 法语 德语 日语",
            "tabs spaces",
            "metric imperial",
            "uppercase lowercase",
            "enable disable enabled disabled enabling disabling",
            "allow forbid allowed forbidden deny denied permit",
            "public private",
            "production staging development",
            "producción staging desarrollo preproducción",
            "生产 测试 开发 预发",
            "squash rebase",
            "npm pnpm yarn bun",
            "pip uv poetry conda",
            "mysql postgres postgresql sqlite mariadb mongodb",
            "redis memcached valkey",
            "increase decrease raise lower reduce",
            "aumentar reducir subir bajar",
            "增加 减少 提高 降低",
            "include exclude",
            "incluir excluir",
            "包含 排除",
            "ascending descending",
            "oldest newest",
            "synchronous asynchronous",
            "monday tuesday wednesday thursday friday saturday sunday",
            "lunes martes miércoles jueves viernes sábado domingo",
            "周一 周二 周三 周四 周五 周六 周日",
            "january february march april june july august september october november december",
            "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
            "json yaml toml xml csv",
            "dark light",
            "left right",
            "windows linux macos",
            "required optional",
        ),
    )
)
"""Words of which a sentence means one and not the others."""

ORDER = tuple(map(_set, ("before after", "antes después despues", "之前 之后")))
"""Alternatives of which what follows them is a part: A before B is B after A."""

CHOOSING = re.compile(
    r"(?i)\b(?:decid\w+|decision|chose|choose|chosen|agreed|switch\w*|migrat\w*|adopt\w*|replac\w+|prefer(?:s|red)?|instead of|in favou?r of"
    r"|rather than|selected|settled on|opted|will use|use|uses|using|moved? to|based on)\b"
    r"|\b(?:decidi\w*|decisión|eligi\w*|elegi\w*|acord\w*|migra\w*|adopta\w*|reempla\w*|prefier\w*|usa\w*|utiliza\w*|opt[óa]\w*|cambi\w+)\b"
    r"|决定|決定|选择|選擇|选用|選用|采用|採用|改用|改为|換成|换成|迁移|遷移|使用|同意"
)
"""A decision for something."""
