"""Which language a human writes in: by script, and by frequent words for Latin script. Unsure is a good answer.

Code, logs, paths and commands are taken out first, each message votes for one language with a capped weight, so that
one long paste cannot outvote the person's own sentences.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

LONGEST = 20_000
"""Characters looked at per message."""

_HEAVIEST = 12.0  # votes of one message, in frequent words
_LEAST = 2.0  # votes below which nobody can tell
_MAJORITY = 0.6

_WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "English": "the and you that this with are was were have has please what why how should would could can we they "
        "it's i'm don't what's that's let's i've you're doesn't isn't can't won't we're there which when then also only after before does did now into from your our their fix add make of to it be on but",
        "Spanish": "el los las una unos que por para con está están pero como más hay esto esta este eso cuando también porque qué cómo "
        "favor gracias hola quiero puedes debe sin sobre muy ya lo del al se y necesito ahora todo",
        "Portuguese": "não uma você para com está estão mas como mais isso esta este quando também porque obrigado olá quero pode deve sem "
        "sobre muito já do da dos das no na ao e os um em preciso agora são foi",
        "French": "le les des une et est pas que qui pour dans avec sur ce cette mais plus nous vous je il elle sont être fait merci "
        "bonjour peux dois sans très du au aux ou où c'est s'il il faut ne",
        "German": "der die das und ist nicht ein eine einen mit für auf von zu den dem wir ich sie es aber auch wie was wenn kann soll "
        "bitte danke muss noch nur sind wird werden oder bei nach im",
        "Italian": "il lo gli una che non per con è sono ma come più questo questa quando anche perché grazie ciao voglio puoi deve senza "
        "molto già del della nel di e ho adesso tutto",
        "Dutch": "het een en van niet dat met voor op zijn maar ook wij jij je ik dit deze wat als kan moet graag dank alleen nog naar bij "
        "door wordt worden zodat de er",
        "Polish": "nie jest to się na że do z co jak ale czy tak już tylko dla po jestem proszę dziękuję może trzeba bez który która oraz "
        "i w gdy są",
        "Turkish": "bir ve bu için ile değil ama çok da de ne nas\u0131l olarak var yok lütfen gibi daha şu ben sen olan sonra kadar",
        "Swedish": "och det att som en ett är inte för med på av till den jag du vi kan ska men eller om från har nu tack hur vad så",
        "Danish": "og det at som en et er ikke for med på af til den jeg du vi kan skal men eller om fra har nu tak hvad hvordan også",
        "Norwegian": "og det å som en et er ikke for med på av til den jeg du vi kan skal men eller om fra har nå takk hva hvordan også",
        "Czech": "a je to se na že do s jak ale nebo tak už jen pro po jsem prosím děkuji může bez který která které není aby při jsou",
        "Romanian": "și este nu că în la pe cu pentru de o un să mai sunt dar cum ce când după fără mulțumesc vreau te rog acum",
        "Catalan": "el els les una i és no que per amb però com més aquest aquesta quan també perquè gràcies vull pots cal sense sobre molt ja del al",
        "Indonesian": "yang dan di ini itu tidak untuk dengan dari ke pada adalah akan bisa saya anda kami sudah belum juga atau jika tolong",
        "Vietnamese": "và là của không có cho với này được một trong những tôi bạn thì đã đang khi nếu như hãy cần các",
        "Finnish": "ja on ei se että en hän mutta kuin niin myös kun jos tai ovat ole mitä miten tämä nyt kiitos voi pitää",
        "Hungarian": "és a az nem hogy is egy van ez meg de csak már kell mint ha volt vagy most kérem köszönöm lehet",
    }.items()
}
_LANGUAGES = {
    every: tuple(name for name, words in _WORDS.items() if every in words)
    for every in frozenset().union(*_WORDS.values())
}

_SCRIPTS: tuple[tuple[str, str, float], ...] = (
    ("Japanese", "[\u3040-\u30ff]", 1.0),
    ("Korean", "[\uac00-\ud7af]", 0.5),
    ("Chinese", "[\u3400-\u4dbf\u4e00-\u9fff]", 0.5),
    ("Ukrainian", "[іїєґІЇЄҐ]", 1.5),
    ("Serbian", "[јљњћђџЈЉЊЋЂЏ]", 1.5),
    ("Urdu", "[ٹڈڑںے]", 1.5),
    ("Persian", "[پچژگ]", 1.5),
    ("Russian", "[\u0400-\u04ff]", 0.2),
    ("Arabic", "[\u0620-\u06ff]", 0.2),
    ("Hebrew", "[\u05d0-\u05ea]", 0.25),
    ("Greek", "[\u0370-\u03ff]", 0.2),
    ("Hindi", "[\u0900-\u097f]", 0.25),
    ("Thai", "[\u0e00-\u0e7f]", 0.2),
)
"""Language, its letters, what one letter is worth. An earlier language that shares a script takes the later's votes."""

_PARENTS: Mapping[str, str] = {
    "Japanese": "Chinese",
    "Ukrainian": "Russian",
    "Serbian": "Russian",
    "Urdu": "Arabic",
    "Persian": "Arabic",
}
_SCRIPT_PATTERNS = tuple((name, re.compile(letters), worth) for name, letters, worth in _SCRIPTS)

_CODE_SPAN = re.compile(r"`[^`\n]*`")
_LITERAL_RUN = re.compile(r"(?<![!-~])[!-~]*?(?:[/\\_<>={}$@|#]|[A-Za-z0-9_][.:][A-Za-z0-9_])[!-~]*")
"""What stands between blanks, in ASCII, and holds a sign of code."""
_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d|(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b|Traceback|File \"|[\w.]{1,80}(?:Error|Exception|Warning)\b[:(]|[$>#%+|]|\d+[.:|]\s*\d)"
)
_KEYWORD = re.compile(r"\s*(?:at|from|import|def|class|return|if|for|while|else|try|except|raise|var|let|const)\b")
_SYMBOLS = re.compile(r"[{}()\[\];=<>|\\/_$&*\"^~#@+]")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")


Vote: TypeAlias = tuple[str, float]
"""One message's language and weight."""

_NOBODY: Vote = "", 0.0
"""No language stands out."""


def detect(texts: Sequence[str]) -> str:
    """The language of most of these human messages, by its English name; "" when unsure."""
    return elected(votes(texts))


def votes(texts: Iterable[str]) -> list[Vote]:
    """What each of these messages says about the language."""
    return [_vote(prose(text)) for text in texts]


def elected(cast: Iterable[Vote]) -> str:
    """The language that most of the votes are for; "" when unsure."""
    weights: dict[str, float] = defaultdict(float)
    for name, weight in cast:
        if name:
            weights[name] += weight
    if not weights:
        return ""
    name, weight = max(weights.items(), key=itemgetter(1))
    return name if weight >= _LEAST and weight >= _MAJORITY * sum(weights.values()) else ""


def prose(text: str) -> str:
    """The text without code blocks, code and log lines, paths, URLs, flags and names of code."""
    kept: list[str] = []
    fenced = False
    for line in text[:LONGEST].splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not _is_code(line):
            kept.append(_LITERAL_RUN.sub(" ", _CODE_SPAN.sub(" ", line) if "`" in line else line))
    return "\n".join(kept)


def _is_code(line: str) -> bool:
    bare = _CODE_SPAN.sub("", line) if "`" in line else line
    if _LOG_LINE.match(bare) or (_KEYWORD.match(bare) and bare.rstrip().endswith((":", ";", "{", "("))):
        return True
    return len(_SYMBOLS.findall(bare)) * 10 > len(bare) + 10


def _vote(text: str) -> Vote:
    points = defaultdict(float, _script_points(text))
    lower = text.lower().replace("\u2019", "'")
    for word, count in Counter(_WORD.findall(lower)).items():
        for name in _LANGUAGES.get(word, ()):
            # a word that several languages share says little about any of them
            points[name] += min(count, 3) / len(_LANGUAGES[word])
    second, best = [_NOBODY, _NOBODY, *sorted(points.items(), key=itemgetter(1))][-2:]
    if best[1] < 0.5 or best[1] < second[1] * 1.25:
        return _NOBODY
    return best[0], min(best[1], _HEAVIEST)


def _script_points(text: str) -> dict[str, float]:
    if text.isascii():
        return {}
    points = {name: len(letters.findall(text)) * worth for name, letters, worth in _SCRIPT_PATTERNS}
    for name, parent in _PARENTS.items():
        if points[name] * 6 > points[parent]:
            points[name] += points[parent]
            points[parent] = 0
    return points
