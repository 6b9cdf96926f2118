"""The judge's own reading of messages and views, in both formats. Standard library only; nothing of offturn is imported.

It repeats on purpose what the product's documents promise of a view, in other words and with other code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

SUMMARY_HEAD = "[Summary of messages "
SUMMARY_END = "[End of the summary]"
STUBS = ("[cleared: ", "[duplicate: ")
NO_RESULT = "[no result was recorded for this call"
LATE = "[result of an earlier tool call"
RESTORED = "[Restored from m"
REDACTED = "redacted"
ROLES = {"user", "assistant", "tool", "system", "developer"}

_LABEL = re.compile(re.escape(SUMMARY_HEAD) + r"([\d, .-]+) of this conversation")
_RESTORE = re.compile(
    r"\[Restored from m(\d+): file [^\n]*\]\n([`~]{3,})\n(.*?)(?:\n\[\.\.\. \d+ characters left out, recall m\1 \.\.\.\])?\n\2",
    re.DOTALL,
)
_HANDLE = re.compile(r"\[m(\d+)\]")
_SPAN = re.compile(r"\[m(\d+)\] to \[m(\d+)\]")


def texts(raw: Any) -> list[str]:
    """Every text a message shows, results included."""
    content = raw.get("content")
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for part in content if isinstance(content, list) else []:
        if part.get("type") == "text":
            found.append(part["text"])
        elif part.get("type") == "tool_result":
            inner = part.get("content", "")
            found += [inner] if isinstance(inner, str) else [p.get("text", "") for p in inner]
    return found


def calls(raw: Any) -> list[str]:
    """Ids of the calls a message makes."""
    if raw["role"] != "assistant":
        return []
    made = [call["id"] for call in raw.get("tool_calls") or ()]
    content = raw.get("content")
    return made + [p["id"] for p in (content if isinstance(content, list) else ()) if p.get("type") == "tool_use"]


def results(raw: Any) -> dict[str, str]:
    """Call id -> text of the results a message holds."""
    if raw["role"] == "tool":
        return {raw["tool_call_id"]: "\n".join(texts(raw))}
    content = raw.get("content")
    parts = content if isinstance(content, list) else ()
    found = {}
    for part in parts:
        if part.get("type") == "tool_result":
            inner = part.get("content", "")
            found[part["tool_use_id"]] = (
                inner if isinstance(inner, str) else "\n".join(p.get("text", "") for p in inner)
            )
    return found


def is_summary(raw: Any) -> bool:
    """Is this the summary message of a view?"""
    return raw["role"] == "user" and any(text.startswith(SUMMARY_HEAD) for text in texts(raw)[:1])


def is_edited(raw: Any) -> bool:
    """Results of which only a stub is left, a closing result, or a result told late."""
    told = results(raw)
    if told:
        return all(text.startswith((*STUBS, NO_RESULT)) for text in told.values())
    return raw["role"] == "user" and any(text.startswith(LATE) for text in texts(raw))


def is_restore(raw: Any) -> bool:
    """A file's content that a view shows again behind its summary."""
    return raw["role"] == "user" and any(text.startswith(RESTORED) for text in texts(raw)[:1])


def restored(raw: Any) -> tuple[int, str] | None:
    """The seq it says it is from, and the content; None where it does not say it as the documents do."""
    match = _RESTORE.fullmatch(texts(raw)[0])
    return (int(match[1]), match[3]) if match else None


def is_tombstone(raw: Any) -> bool:
    """What stands for a message that was deleted on request."""
    return REDACTED in str(raw).lower()


def covered(summary: str) -> list[tuple[int, int]] | None:
    """The half-open ranges of seqs that a summary says it is about; None where it does not name all of them."""
    match = _LABEL.match(summary)
    if match is None or "..." in match[1]:
        return None
    pairs = [part.partition("-") for part in match[1].split(", ")]
    return [(int(low), int(high or low) + 1) for low, _, high in pairs]


def named(summary: str) -> list[tuple[int, int]]:
    """First and last seq of the messages that the summary names by their handles, alone or in a span."""
    alone = [(int(number), int(number)) for number in _HANDLE.findall(summary)]
    return alone + [(int(low), int(high)) for low, high in _SPAN.findall(summary)]


def problems(view: Sequence[Any]) -> list[str]:
    """What a provider would refuse, and what a view may never be."""
    if not view:
        return ["the view is empty"]
    found = [f"message {i} has role {raw['role']!r}" for i, raw in enumerate(view) if raw["role"] not in ROLES]
    found += [f"message {i} is empty" for i, raw in enumerate(view) if not _holds_something(raw)]
    rest = [raw for raw in view if raw["role"] not in {"system", "developer"}]
    if rest and (rest[0]["role"] != "user" or results(rest[0])):
        found.append("the first message is not a user's")
    if is_summary(view[-1]) or is_restore(view[-1]):
        found.append("the last message is a summary, or what belongs to it")
    if sum(is_summary(raw) for raw in view) > 1:
        found.append("two summaries")
    return found + _unpaired(view)


def _holds_something(raw: Any) -> bool:
    return bool(calls(raw)) or any(text.strip() for text in texts(raw))


def _unpaired(view: Sequence[Any]) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    for i, raw in enumerate(view):
        answered = results(raw)
        for call in answered:
            if call in waiting:
                waiting.remove(call)
            else:
                found.append(f"message {i} answers a call that no message before it makes")
        if waiting and not answered:
            if not calls(raw):
                found.append(f"message {i} stands between a call and its result")
            else:
                found.append(f"message {i} calls while calls before it are open")
            waiting = []
        waiting += calls(raw)
    return found
