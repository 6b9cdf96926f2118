"""Cues by which a sentence is known to state a decision, what is aimed at or to be done next, or what somebody likes; by language.

Searched without case in one sentence, each after the words that it needs one of; `^` is its start. What must hold for good has cues of its own, see `constraints`.
"""

from __future__ import annotations

from collections.abc import Mapping

from offturn_engine.cues import HAN, Rows

DECISION: Mapping[str, Rows] = {
    "English": (
        (
            "decided agreed settled chose chosen picked opted concluded ruled rejected gave",
            r"\b(?:we|i|you|they|team)(?:['\u2019]ve| have| all)? (?:decided|agreed|settled on|chose|have chosen|picked|opted|concluded|ruled out|rejected|gave up on)\b",
        ),
        ("decided agreed settled", r"\b(?:it (?:was|is|has been)|has been|was) (?:decided|agreed|settled)\b"),
        (
            "let lets",
            r"^(?:ok(?:ay)?,? |so |then |alright,? )?let['\u2019]?s (?:go with|use|stick (?:with|to)|keep|drop|switch to|adopt|take|do it with)\b",
        ),
        (
            "go use stick keep switch adopt drop",
            r"\b(?:we|i)(?:['\u2019]ll| will|['\u2019]re going to| are going to|['\u2019]m going to) (?:go with|use|stick (?:with|to)|keep|switch to|adopt|drop)\b",
        ),
        (
            "going went go gone switched moved migrated reverted renamed",
            r"\b(?:going|went|go|gone) with \S|\b(?:switched|moved|migrated|reverted|renamed) (?:\S{1,40} ){0,3}(?:from \S{1,40} )?to \S.{0,80}\b(?:because|since|so that|to avoid|for)\b",
        ),
        (
            "decision resolution conclusion verdict",
            r"^(?:the )?(?:final )?(?:decision|resolution|conclusion|verdict)(?: \w{1,20}){0,3}(?: is|:)",
        ),
        (
            "cause reason culprit fix turns turned",
            r"^(?:the )?(?:root )?cause (?:is|was|of)\b|\bthe (?:reason|root cause|culprit|fix) (?:is|was)\b|\bturn(?:s|ed) out (?:that|to)\b",
        ),
        (
            "chose used kept picked avoided skipped replaced",
            r"\b(?:i|we) (?:chose|used|kept|picked|avoided|skipped|replaced)\b.{1,120}\b(?:because|since|instead of|rather than|so that|to avoid)\b",
        ),
    ),
    "Spanish": (
        (
            "decidi decidí decidimos decidímos decidido decidio decidió acordamos acordado acordo acordó quedamos optamos elegimos elegido descartamos",
            r"\b(?:decid[ií](?:mos)?|hemos decidido|se decidi[oó]|acordamos|hemos acordado|se acord[oó]|quedamos en|optamos por|elegimos|hemos elegido|descartamos)\b",
        ),
        (
            "vamos mejor decisión conclusión",
            r"\b(?:vamos a|mejor) (?:usar|usamos|ir con|quedarnos con|mantener|cambiar a)\b|^(?:la )?(?:decisión|conclusión)(?: \w{1,20}){0,3}(?: es| fue|:)",
        ),
        (
            "causa motivo razón problema resulta resultó",
            r"\b(?:la causa|el motivo|la razón|el problema) (?:es|era|fue)\b|\bresult(?:a|ó) que\b",
        ),
    ),
    "Chinese": (
        (
            HAN,
            r"决定|決定|商定|敲定|选定|選定|最终选|最終選|我们(?:改)?(?:用|采用|选)|我們(?:改)?(?:用|採用|選)|就用|还是用|還是用|改用|放弃了?|放棄了?",
        ),
        (HAN, r"(?:结论|結論|方案|原因|根因|根本原因)(?:是|为|為|[:\uff1a])"),
    ),
}

BECAUSE: Mapping[str, tuple[str, ...]] = {
    "English": (r"^(?:because|since|the reason|reason:|this is because|that is because|rationale|why:|so that)\b",),
    "Spanish": (r"^(?:porque|ya que|la razón|motivo:|razón:|puesto que|así)\b",),
    "Chinese": (r"^(?:因为|因為|由于|由於|理由|原因|这样|這樣)",),
}
"""The start of a sentence that gives the reason for the one before."""

NEXT: Mapping[str, Rows] = {
    "English": (
        (
            "next",
            r"^(?:\w{1,20}(?: \w{1,20})?, )?(?:the |my |our |your )?(?:very )?next (?:steps?|up|task|item|thing|action|milestone)\b(?: \w{1,20}){0,3}(?: (?:is|are|will be)\b|:)|^next(?: up)?:",
        ),
        (
            "do todo remaining outstanding pending left open blocked",
            r"^(?:what['\u2019]s |what is )?(?:still )?(?:to ?do|todo|remaining|outstanding|pending|left(?: to do)?|open (?:items?|questions?|points?|tasks?)|blocked)(?: \w{1,20}){0,3}:",
        ),
        (
            "still yet remain remains left",
            r"\b(?:still|yet) (?:needs? to|have to|has to|to be|to do|open|missing|pending|outstanding|unresolved|failing|broken)\b|\b(?:remains?|left) (?:to be|to do|open)\b",
        ),
        (
            "task goal objective focus priority aim milestone target job",
            r"^(?:the |my |our |your )?(?:current |main |overall |present |first )?(?:task|goal|objective|focus|priority|aim|milestone|target|job)(?: \w{1,20}){0,4}?(?: (?:is|are|remains?)\b(?! done| ready| finished)|:)",
        ),
        (
            "todo fixme waiting blocked follow",
            r"^(?:todo|fixme)\b|\b(?:are|is) (?:still )?(?:waiting|blocked) (?:for|on|by)\b|\bfollow[- ]up:",
        ),
        (
            "after once then",
            r"\b(?:after (?:this|that)|once (?:this|that|it) (?:is|works|passes)|then),? (?:we|i|you)(?:['\u2019]ll| will| need to| should| must| have to| can)\b",
        ),
    ),
    "Spanish": (
        (
            "paso pasos tarea tareas",
            r"^(?:\w{1,20}(?: \w{1,20})?, )?(?:el |los |la )?(?:próxim[oa]s?|siguientes?) (?:pasos?|tareas?)\b(?: \w{1,20}){0,3}(?: (?:es|son|será)\b|:)",
        ),
        (
            "objetivo meta tarea prioridad",
            r"^(?:el |la |mi |nuestr[oa] )?(?:objetivo|meta|tarea|prioridad)(?: \w{1,20}){0,4}? (?:es|son|sigue)\b",
        ),
        (
            "pendiente pendientes hacer falta faltan queda quedan está están todavía aún",
            r"^(?:pendientes?|por hacer|falta|faltan|queda|quedan)\b|\b(?:queda|quedan|falta|faltan|está|están) (?:pendientes?|por)\b|\b(?:todavía|aún) (?:falta|hay que|queda|no funciona|no está)\b",
        ),
    ),
    "Chinese": (
        (
            HAN,
            r"(?:目标|目標|任务|任務|重点|重點)(?:\w{0,6})(?:是|为|為|[:\uff1a])|下一步|接下来|接下來|待办|待辦|待处理|待處理|待完成|剩下(?:的|要)|还(?:要|需要|没|差)|還(?:要|需要|沒|差)|尚未|之后(?:再|要)|之後(?:再|要)|后续|後續",
        ),
    ),
}

LIKES: Mapping[str, Rows] = {
    "English": (
        (
            "want wants like likes prefer prefers love loves hate hates dislike dislikes expect expects favor favors favour favours rather",
            r"\b(?:user|customer|client|team|boss|manager|i|we) (?:\w{1,12}ly )?(?:wants?|likes?|prefers?|loves?|hates?|dislikes?|expects?|favou?rs?|would (?:like|prefer|rather))\b|\b(?:i|we)['\u2019]d (?:like|prefer|rather)\b",
        ),
        (
            "user customer client preferred favorite favourite",
            r"\b(?:for|to|with) (?:this|the|our) (?:user|customer|client)\b|\b(?:user|customer|client)['\u2019]s? (?:\w{1,20} ){1,4}(?:is|are)\b|\b(?:preferred|favou?rite) (?:\w{1,20} ){1,3}(?:is|are)\b",
        ),
        (
            "answer reply respond write speak talk send report deliver format name call address sign label tag prefix show display quote list use keep schedule plan book round indent spell wrap log store save put export render treat summarise summarize explain",
            r"^(?:please )?(?:answer|reply|respond|write|speak|talk|send|report|deliver|format|name|call|address|sign|label|tag|prefix|show|display|quote|list|use|keep|schedule|plan|book|round|indent|spell|wrap|log|store|save|put|export|render|treat|summari[sz]e|explain)\b.{0,120}?\b(?:in|as|with|on|by|at|to|under|for|using|style|format|tone|language|time ?zone|units?)\b",
        ),
        (
            "style tone format voice wording spelling unit units language time timezone",
            r"\b(?:style|tone|format|voice|wording|spelling|units?|language|time ?zone)(?: \w{1,20}){0,2}(?: (?:is|are)|:) \S",
        ),
    ),
    "Spanish": (
        (
            "quiere quieren prefiere prefieren espera esperan necesita necesitan quiero prefiero gusta gustaría queremos preferimos odio espero",
            r"\b(?:usuario|cliente|equipo|jefe)s? (?:quiere|prefiere|espera|necesita)n?\b|\b(?:quiero|prefiero|me gusta|me gustaría|queremos|preferimos|odio|espero) \S",
        ),
        (
            "preferido preferida preferidos preferidas favorito favorita favoritos favoritas usuario cliente",
            r"\b(?:mi|nuestro|nuestra) (?:\w{1,20} ){1,3}(?:preferid[oa]s?|favorit[oa]s?)\b|\bpara (?:este|el) (?:usuario|cliente)\b",
        ),
        (
            "en como con los por a al formato estilo tono",
            r"^(?:por favor,? )?(?:responde|contesta|escribe|envía|manda|usa|utiliza|muestra|llama|trata|firma|formatea|guarda|pon|reporta|informa|explica|resume|redondea)[a-z]{0,4}\b.{0,120}?\b(?:en|como|con|los|por|al?|formato|estilo|tono)\b",
        ),
    ),
    "Chinese": (
        (
            HAN,
            r"(?:我|我们|我們|用户|用戶|客户|客戶)(?:更|比较|比較)?(?:喜欢|喜歡|偏好|希望|想要|倾向|傾向|讨厌|討厭)|(?:偏好|风格|風格|语气|語氣|格式|单位|單位|语言|語言|时区|時區)(?:是|为|為|用|[:\uff1a])",
        ),
        (HAN, r"^(?:请|請)?(?:用|以|按|在).{1,20}(?:回答|回复|回覆|写|寫|发送|發送|报告|報告|显示|顯示|命名|格式)"),
    ),
}
"""What somebody likes, or an order for how to do a thing whenever it is done."""

LINK: Mapping[str, Rows] = {
    "English": (
        (
            "is are was were will equal equals means stands known called named refer referred set fixed capped limited based branched forked run runs live lives hosted located belong belongs owned assigned due expire expires start starts end ends cost costs use uses need needs require requires listen listens point points working approve approved go goes",
            r"\b(?:is|are|was|were|will be|equals?|means|stands for|known as|called|named|refer(?:red)? to|set to|set at|fixed at|capped at|limited to|based on|branched from|forked from|runs? (?:in|on|at)|lives? (?:in|at|on|under)|hosted (?:in|on|at)|located|belongs? to|owned by|assigned to|due (?:on|by)|expires?|starts?|ends?|costs?|uses?|needs?|requires?|listens? on|points? to|working on|approved? by|go(?:es)? to)\b",
        ),
        (
            "raised lowered changed moved increased reduced cut postponed extended renamed updated bumped",
            r"\b(?:raised|lowered|changed|moved|increased|reduced|cut|postponed|extended|renamed|updated|bumped) (?:from .{1,40} )?to\b",
        ),
    ),
    "Spanish": (
        (
            "es son está están era fue será serán llama llamado llamada significa cuesta vale vence pertenece corre vive usa basado basada cargo asignado asignada necesita requiere empieza termina sube baja pasa cambia subió bajó pasó cambió aumentó",
            r"\b(?:es|son|está|están|era|fue|será|serán|se llama|llamad[oa]|significa|cuesta|vale|vence|pertenece|corre en|vive en|usa|basad[oa] en|a cargo de|asignad[oa] a|necesita|requiere|empieza|termina|(?:sube|baja|pasa|cambia|subió|bajó|pasó|cambió|aumentó) a)\b",
        ),
    ),
    "Chinese": (
        (
            HAN,
            r"是|为|為|叫|在|等于|等於|位于|位於|属于|屬於|负责|負責|基于|基於|使用|需要|截止|(?:改|调|調|推迟|推遲|提高|降低|增加)到",
        ),
    ),
}
"""What ties a value to what it is the value of."""

NAMED = r"^[\w'\u2019() /-]{2,80}: \S|^[\w\u3400-\u9fff]{1,20}\uff1a\S"
"""A name, a colon and what it stands for."""

SET = r"(?i)\b(?:is|are|be|to|at|=|es|son|en|a)(?: now| ahora)? \d|(?:是|为|為|改成|改为|改為) ?\d"
"""A number where a value stands."""

NARRATED = (
    r"(?i)^(?:(?:now|next|first|then|also|ok(?:ay)?|great|good|perfect|alright|well|so)\b[,:!.]? ?){0,3}"
    r"(?:let['\u2019]?s\b(?! (?:go with|use|stick|keep|drop|switch|adopt|take))|let me\b|i['\u2019]ll (?:now |also |then |first )?(?!go with|use|keep|stick)|i need to\b|i will (?:now|also|then|first)\b|here (?:is|are)\b|here['\u2019]s\b|looking at\b)"
)
"""How agents announce the call that follows: nothing is stated by it."""
