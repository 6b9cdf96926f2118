"""Constraints: sentences in which a human says what must, must never, or must always be done.

The rules are tables of cues per language. Modal words alone miss positive standing orders ("End every reply with a
haiku"), so those have cues of their own; a list under a heading such as "Rules:" counts as a whole. A sentence is
returned as it was written. Every pattern is bounded, and sentences above `LONGEST` are looked at clause by clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from offturn_engine.cues import HAN, Cues, Rows, words_in
from offturn_engine.sentences import Line, told

LONGEST = 800  # characters of a sentence; a longer one is a paste, of which single clauses may count
MOST = 200  # constraints taken from one message

_MANNER = (
    r"(?:every|each|all|any|always|at all times|metric|imperial|units?|style|terse|short|brief"
    r"|concise|formal|plain|lowercase|uppercase|(?:in|into) (?:english|spanish|chinese|german|french|japanese|markdown|json|utc))"
)
_ORDER = (
    r"(?:use|keep|prefer|write|answer|reply|respond|format|name|sign|start|begin|open|end|finish|close|put|include|add|mention"
    r"|address|call|treat|show|give|cite|report|state|quote|translate|speak|refer|assume|leave|mark|tag|prefix|commit)"
)

_DEED = r"(?:deploy|push|commit|merge|publish|release|ship|send|install|work|test|build|import|query|log|store|save|edit|touch|change)"
"""What an agent does, where a word later in the sentence limits it."""

_TOLD = r"(?<!\bi )(?<!\bit )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bhas )(?<!\bhave )(?<!['\u2019]ve )(?<!\bwas )(?<!\bis )\b"
"""Not after a subject that only tells: "it never returns", "I don't have it"."""

CUES: Mapping[str, Rows] = {
    "English": (
        (
            "never always not don dont",
            rf"{_TOLD}(?:never|always|(?<!\bwe )(?:do not|don['\u2019]t|dont))\b|\bI (?:do not|don['\u2019]t) want\b",
        ),
        (
            "must mustn shall shouldn should",
            r"\b(?:must(?! have\b)|mustn['\u2019]t|shall not|shouldn['\u2019]t|should (?:not|never|always|only))\b",
        ),
        (
            "not",
            r"\bplease not\b|(?<!\bif )\bnot (?:to )?(?:touch|edit|change|modify|delete|remove|rename|use|add|commit|push|run|write|mention)\b",
        ),
        (
            "avoid refrain sure ensure forbidden prohibited mandatory allowed limits required",
            r"\b(?:avoid|refrain from|make sure|ensure|forbidden|prohibited|mandatory|not allowed|off[- ]limits|required to)\b",
        ),
        ("you", r"\byou (?:should|have to|need to|may not|may only|can only|cannot|can['\u2019]t|are to|are not)\b"),
        ("without", r"\bwithout (?:\w{2,20}ing|my|any|our|explicit|prior|approval|permission|breaking|asking)\b"),
        (
            "only just",
            r"^(?:please )?(?:and )?(?:only|just)\b|\bonly (?:use|run|touch|edit|change|write|read|answer|reply|work|in|after|when|if|the|with|on|from)\b",
        ),
        ("only", r"\b(?:use|run|touch|edit|change|write|read|answer|reply|work|allowed|and|but|please) only\b"),
        (
            "only exclusively hands stay remain",
            rf"^(?:please )?{_DEED}\b.{{1,80}}?\b(?:only|exclusively)\b|\bhands off\b|^(?:please )?(?:stay|remain) (?:in|within|inside|out|away|below|under)\b",
        ),
        (
            "most least than up instead",
            r"\b(?:at (?:most|least) (?:\d{1,9}|a\b|one|two|three|half)|no (?:more|less|fewer|later|earlier) than|up to \d{1,9}|not (?:more|less) than|instead of|rather than)\b",
        ),
        (
            "now forward all every rule circumstances exception exceptions",
            r"\b(?:from now on|going forward|in (?:all|every) (?:future|repl|answer|commit|file|case)|as a rule|under no circumstances|without exceptions?|no exceptions)\b",
        ),
        (
            "whenever every each all before after unless",
            r"^(?:please )?(?:whenever|every time|each time|for (?:every|each|all)|in (?:every|each|all)|before (?:you|any|every|each)|after (?:you|any|every|each)|unless)\b",
        ),
        (
            "when if",
            r"^(?:please )?(?:when|if) (?:you|i|we|a|an|any|there|something|the (?:user|customer|tests?|build))\b",
        ),
        (
            "every each all any always metric imperial unit units style terse short brief concise formal plain lowercase uppercase english spanish chinese german french japanese markdown json utc",
            rf"^(?:please )?{_ORDER}\b.{{0,80}}?\b{_MANNER}\b",
        ),
        (
            "prefer stick limit restrict remember be",
            r"^(?:please )?(?:prefer|stick to|limit|restrict|remember (?:to|that)|be (?:sure|careful|terse|brief|concise))\b",
        ),
        (
            "no",
            r"^(?:and |but |also )?no (?!problem|worries|idea|longer|need|thanks|one\b|wonder|matter|luck|funciona|tengo|entiendo|puedo|hay\b|es\b|est\u00e1|s\u00e9|me\b|se\b|lo\b)[a-z]",
        ),
        (
            "constraint constraints preference preferences rule rules requirement requirements important importants convention conventions policy policys safety safetys limit limits note notes goal goals decision decisions",
            r"^(?:constraint|preference|rule|requirement|important|convention|policy|safety|limit|note|goal|decision)s?(?: \w{1,20})?: {0,4}\S",
        ),
        ("prefer expect insist", r"\bI (?:prefer|expect you to|insist)\b"),
        (
            "before whenever until unless each every any one",
            r"\b(?:before|whenever|until|unless) (?:you|each|every|any)\b|\b(?:after|before|with|for|in|on|to|of) (?:each|every|any)\b|\bone .{1,30} at a time\b",
        ),
        (
            "each every any all everything anything nothing nobody no",
            r"^(?:each|every|any|all|everything|anything|nothing|nobody|no one)\b.{1,80}?\b(?:goes?|gets?|comes?|has to|have to|needs?|belongs?|stays?|starts?|ends?|runs?|leaves?|is|are)\b",
        ),
        (
            "leave keep",
            r"^(?:please )?(?:leave|keep)\b.{1,80}?\b(?:as (?:it|they|is|are)\b|alone|untouched|intact|unchanged|private|secret|confidential|to yourself|out of|away from|below|under|above|within)",
        ),
        (
            "ask check consult tell warn notify wait",
            r"^(?:please )?(?:ask|check with|consult|tell|warn|notify|wait for) (?:me|us|for)\b",
        ),
        (
            "frozen only off between private secret confidential untouched internal within",
            r"\b(?:is|are|stays?|remains?) (?:frozen|read[- ]only|off|between|private|secret|confidential|untouched|internal|within)\b",
        ),
    ),
    "Spanish": (
        (
            "nunca siempre jamás debe debes deben debéis debería deberían deberías prohibido prohibida prohibidos prohibidas obligatorio obligatoria obligatorios obligatorias únicamente solamente sólo excepción",
            r"\b(?:nunca|siempre|jamás|debes?|deben|debéis|debería[ns]?|prohibid[oa]s?|obligatori[oa]s?|únicamente|solamente|sólo|sin excepción)\b",
        ),
        (
            "tiene tienes tienen hay evita evitar evitad asegúrate asegúraos ocurra partir máximo mínimo lugar vez",
            r"\b(?:tienes? que|tienen que|hay que|evita[rd]?|asegúra(?:te|os)|ni se te ocurra|a partir de ahora|como (?:máximo|mínimo)|en lugar de|en vez de)\b",
        ),
        (
            "no",
            r"(?:^|[,;:] |\b(?:y|pero|favor|favor,) )no (?:(?:me|te|lo|la|los|las|se|le|les) )?\w{2,20}(?:es|as|éis|áis|en|an)\b",
        ),
        (
            "solo cada cuando todo todos antes después usa utiliza escribe responde contesta termina empieza acaba mantén recuerda",
            r"^(?:por favor,? )?(?:solo|cada vez que|cuando|en cada|en todos?|antes de|después de|usa|utiliza|escribe|responde|contesta|termina|empieza|acaba|mantén|recuerda)\b",
        ),
        (
            "cada cualquier todos todas vez todo toda nada nadie deja mantén guarda pregúntame consúltame avísame espera",
            r"\b(?:antes|después|dentro|fuera|al final) de (?:cada|cualquier|tod[oa]s)\b|\b(?:cada vez|en cada|con cada|para cada|a la vez)\b|^(?:cada|todo lo|toda|todos|todas|nada|nadie)\b|^(?:deja|mantén|guarda)\b.{1,60}\b(?:como está|intact[oa]|en secreto|fuera de)\b|^(?:pregúntame|consúltame|avísame|espera)\b",
        ),
        ("sin", r"\bsin \w{2,20}[aei]r(?:l[aeo]s?)?\b"),
        (
            "solo exclusivamente",
            r"^(?:por favor,? )?(?:despliega|usa|edita|modifica|cambia|trabaja|prueba|ejecuta|escribe|toca|sube|publica|instala|guarda) (?:.{1,40} )?(?:solo|exclusivamente)\b",
        ),
        (
            "regla reglas restricción restriccións requisito requisitos preferencia preferencias importante importantes nota notas",
            r"^(?:regla|restricción|requisito|preferencia|importante|nota)s?: {0,4}\S",
        ),
    ),
    "Chinese": (
        (HAN, r"不要|不得|不可(?!能|思)|不准|不許|不许|不能|不应|不應|禁止|严禁|嚴禁|切勿|请勿|請勿|勿"),
        (HAN, r"必须|必須|务必|務必|(?<!不)一定|只能|只用|只许|只許|仅限|僅限|只可|应当|應當|应该|應該"),
        (
            HAN,
            r"(?:^|[\uff0c,。\uff1b;]|请|請)(?:只|仅|僅)(?=部署|修改|更改|改动|改動|使用|提交|推送|运行|運行|测试|測試|编辑|編輯|删除|刪除|发布|發布)",
        ),
        (HAN, r"始终|始終|总是|總是|永远|永遠|从不|從不|每次|每个|每個|每条|每條|所有.{0,20}都|以后都|以後都"),
        (HAN, r"(?:^|[\uff0c,。\uff1b;\uff1a:、\s]|请|請)(?:别|別)(?!的|人|处|處)"),
        (HAN, r"至少|最多|不超过|不超過|除非|避免|确保|確保|当.{1,30}(?:时|時)|用.{1,10}(?:回答|回复|回覆|编写|撰写)"),
        (HAN, r"^(?:规则|規則|要求|约束|約束|限制|重要|注意|偏好)[:\uff1a] {0,4}\S"),
    ),
}
"""Cues by language, each after the words that it needs one of; searched without case in one sentence, `^` is its start."""

_HEADED = (
    "rule rules constraint constraints requirement requirements preference preferences convention conventions guideline"
    f" guidelines reglas restricciones requisitos preferencias {HAN}"
)
HEADING = (
    _HEADED,
    r"^\W{0,6}(?:(?:\w{1,20} ){0,4}(?:rules?|constraints?|requirements?|preferences?|conventions?|guidelines?)\b.{0,60}|(?:reglas|restricciones|requisitos|preferencias)\b.{0,60}|.{0,20}(?:规则|規則|要求|约束|約束|限制|偏好|注意事项).{0,20})[:\uff1a]?\W{0,4}$",
)
"""A line that makes the list under it constraints."""

_CUES, _HEADING = Cues(CUES), Cues([(HEADING,)])
_CLAUSE = re.compile(r"[,;:\uff0c\uff1b\uff1a](?:\s|(?<=[\uff0c\uff1b\uff1a]))|\s[-\u2013—]\s")
_REQUEST = re.compile(
    r"(?i)\b(?:can|could|would|will) (?:you|we)\b|\bplease\b|\bpor favor\b|\b(?:puedes|podr\u00edas|pod\u00e9is)\b|请|請|能不能|可以|可不可以"
)


def constraints(text: str) -> list[str]:
    """The sentences of a human message that state a constraint, verbatim, in order, without repeats; at most `MOST`.

    Code blocks, quoted log lines and plain questions hold none.
    """
    return constraints_in(told(text))


def constraints_in(lines: Iterable[tuple[Line, Sequence[str]]]) -> list[str]:
    """The same of lines and their sentences."""
    found: dict[str, None] = {}
    for sentence in _stated(lines):
        found[sentence] = None
        if len(found) == MOST:
            break
    return list(found)


def _stated(lines: Iterable[tuple[Line, Sequence[str]]]) -> Iterator[str]:
    listing = False
    for line, said in lines:
        if listing and line.bullet and len(line.body) <= LONGEST:
            yield line.body
            continue
        stated = [s for sentence in said for s in _constraining(sentence)]
        yield from stated
        heads = bool(stated) and line.bare.endswith((":", "\uff1a"))
        listing = heads or (bool(said) and len(said[-1]) <= 120 and _HEADING.found(said[-1], words_in(said[-1])))


def _constraining(sentence: str) -> Iterator[str]:
    if len(sentence) <= LONGEST:
        if is_constraint(sentence):
            yield sentence
        return
    for clause in _CLAUSE.split(sentence):
        if len(clause) <= LONGEST and is_constraint(clause.strip()):
            yield clause.strip()


def is_constraint(sentence: str) -> bool:
    """Does one sentence state a constraint? A plain question does not; "could you please not ..." does."""
    if len(sentence) < 4 or "\\n" in sentence or (sentence.endswith(("?", "\uff1f")) and not _REQUEST.search(sentence)):
        return False
    return _CUES.found(sentence, words_in(sentence))
