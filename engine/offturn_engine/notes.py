"""What code says around a summary, in the user's language: the lead-in before it, the note on the system prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offturn_engine.language import Vote, elected, votes
from offturn_engine.messages import Json, Message
from offturn_engine.path import Path
from offturn_engine.turns import humans

LOOKED_AT = 20  # newest human messages
DEFAULT = "English"

LEAD_IN: Mapping[str, str] = {
    "English": "This session carries on from an earlier one; the record of that one follows.",
    "Spanish": "Esta sesión es la continuación de otra anterior, cuyo resumen sigue.",
    "Chinese": "本次会话接续之前的会话, 其记录如下。",
    "Portuguese": "Esta sessão é a continuação de outra anterior, cujo resumo se segue.",
    "French": "Cette session fait suite à une session précédente, dont voici le résumé.",
    "German": "Diese Sitzung setzt eine frühere fort, deren Zusammenfassung folgt.",
    "Japanese": "このセッションは以前のセッションの続きです。その記録を以下に示します。",
}

SYSTEM_NOTE: Mapping[str, str] = {
    "English": "[Note: earlier messages of this conversation were replaced by a summary that stands among the messages. "
    "What it reports as done is done.]",
    "Spanish": "[Nota: los mensajes anteriores de esta conversación se sustituyeron por un resumen que está entre los "
    "mensajes. Lo que da por hecho está hecho.]",
    "Chinese": "[注: 本次对话较早的消息已由摘要代替, 摘要位于消息之中。其中记为完成的事项均已完成。]",
    "Portuguese": "[Nota: as mensagens anteriores desta conversa foram substituídas por um resumo que está entre as "
    "mensagens. O que ele dá como feito está feito.]",
    "French": "[Note : les messages précédents de cette conversation ont été remplacés par un résumé placé parmi les "
    "messages. Ce qu'il indique comme fait est fait.]",
    "German": "[Hinweis: Frühere Nachrichten dieses Gesprächs wurden durch eine Zusammenfassung ersetzt, die unter den "
    "Nachrichten steht. Was sie als erledigt nennt, ist erledigt.]",
    "Japanese": "[注: この会話の以前のメッセージは要約に置き換えられ、要約はメッセージの中にあります。"
    "完了と記された事項は完了しています。]",
}


def language_of(path: Sequence[Message]) -> str:
    """The language the notes are written in: of most human messages; where they mix, of the newest that tells; else English."""
    cast = Path.of(path).once(_cast)
    newest = (name for vote in reversed(cast) if (name := elected([vote])))
    name = elected(cast) or next(newest, DEFAULT)
    return name if name in LEAD_IN else DEFAULT


def spoken(path: Sequence[Message]) -> str:
    """The language of the last human messages; "" when unsure."""
    return elected(Path.of(path).once(_cast))


def _cast(path: Path) -> list[Vote]:
    return votes(path[i].text for i in humans(path)[-LOOKED_AT:])


def with_note(system: Json, note: str) -> Json:
    """A system prompt with the note at its end, once: text, a list of text blocks, or a message that holds either."""
    return system if not note or _told(system, note) else with_text(system, note)


def with_text(system: Json, text: str) -> Json:
    """A system prompt with more text at its end, in the shape it has; one of no known shape stays as it is."""
    if isinstance(system, str):
        return f"{system}\n\n{text}"
    if isinstance(system, list):
        return [*system, _like(system[-1] if system else None, text)]
    for name in ("content", "parts"):
        if isinstance(system, Mapping) and name in system:
            return {**system, name: with_text(system[name], text)}
    return system


def _like(block: Json, text: str) -> Json:
    """Another block of text, as this one's API has them."""
    if isinstance(block, str):
        return text
    if isinstance(block, Mapping) and "type" not in block:
        return {"text": text}
    kind = block.get("type") if isinstance(block, Mapping) else None
    return {"type": kind if kind == "input_text" else "text", "text": text}


def _told(system: Json, note: str) -> bool:
    if isinstance(system, str):
        return note in system
    if isinstance(system, list):
        return any(_told(block.get("text") if isinstance(block, Mapping) else block, note) for block in system)
    return isinstance(system, Mapping) and (_told(system.get("content"), note) or _told(system.get("parts"), note))
