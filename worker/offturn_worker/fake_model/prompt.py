"""Reads the prompt the way a model would: what to write (headings outside the fences) and about what (inside them)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape

from offturn_engine.symptoms import chats, impersonates, leaks, refuses

_FENCE = re.compile(
    r"^<<<(?P<kind>\w+) (?P<mark>\w+)\n(?P<text>.*?)\n?(?P=mark) (?P=kind)>>>$", re.DOTALL | re.MULTILINE
)
_HEADING = re.compile(r"^###? +(.+?) *$", re.MULTILINE)
_TAGGED = re.compile(r'<section title="([^"]+)">\n(.*?)\n</section>', re.DOTALL)
_RECORD = re.compile(r"^\[m\d+ (\w+)\]$", re.MULTILINE)
_CALL = re.compile(r"^(call|result) (?:m[\d.]+ |of an )(.*)$")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_BUDGET = re.compile(r"(\d[\d,]*) (tokens|words)")
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+")
_CODE = re.compile(r"```|^[{\[<>#|$\\]")

LONGEST = 240  # characters of a sentence worth quoting; a longer one is a paste
SHORTEST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """`titles` in the order asked for; `previous` holds the items of the summary to update, by title."""

    titles: tuple[str, ...]
    previous: dict[str, list[str]]
    human: list[str]
    assistant: list[str]
    failures: list[str]
    budget: int | None  # tokens, as far as the instructions name a number


def read(system: str, content: str) -> Prompt:
    """The prompt of one call. Text without fences counts as a transcript of one human."""
    fences = [(m["kind"], m["text"]) for m in _FENCE.finditer(content)]
    instructions = f"{system}\n{_FENCE.sub('', content)}"
    human, assistant, failures = _said(_fenced(fences, "transcript") if fences else content)
    return Prompt(
        titles=tuple(dict.fromkeys([*map(unescape, dict(_TAGGED.findall(instructions))), *_headings(instructions)])),
        previous=_items(_fenced(fences, "record")),
        human=human,
        assistant=assistant,
        failures=failures,
        budget=_budget(instructions),
    )


def _fenced(fences: list[tuple[str, str]], kind: str) -> str:
    return "\n".join(text for found, text in fences if found == kind)


def _items(summary: str) -> dict[str, list[str]]:
    """Title -> its lines without bullets."""
    pieces = _HEADING.split(summary)
    tagged = [(unescape(title), body) for title, body in _TAGGED.findall(summary)]
    found = tagged or zip(pieces[1::2], pieces[2::2], strict=True)
    return {
        title: [_BULLET.sub("", line).strip() for line in body.splitlines() if line.strip()] for title, body in found
    }


def _headings(instructions: str) -> list[str]:
    """The headings asked for, without those that only hold others."""
    pieces = _HEADING.split(instructions)
    holders = {title for title, body in zip(pieces[1:-2:2], pieces[2:-1:2], strict=True) if not body.strip()}
    return [title for title in pieces[1::2] if title not in holders]


def _said(transcript: str) -> tuple[list[str], list[str], list[str]]:
    """Sentences of humans, sentences of the assistant, and the telling lines of failed results."""
    human: list[str] = []
    assistant: list[str] = []
    failures: list[str] = []
    pieces = _RECORD.split(transcript)
    for origin, body in zip(["human", *pieces[1::2]], pieces[0::2], strict=True):
        prose, results = _parts(body)
        failures += results
        if origin == "human":
            human += _sentences(prose)
        if origin == "assistant":
            assistant += [s for s in _sentences(prose) if not s.endswith("?")]
    return human, assistant, failures


def _parts(body: str) -> tuple[str, list[str]]:
    """A record's prose, and the last lines of its failed results that name an error."""
    prose: list[str] = []
    failed: list[list[str]] = []
    inside = ""
    for line in body.splitlines():
        if match := _CALL.match(line):
            inside = "failed" if match[1] == "result" and match[2].endswith(" failed:") else match[1]
            failed += [[]] if inside == "failed" else []
        elif not inside:
            prose.append(line)
        elif inside == "failed" and SHORTEST <= len(line.strip()) <= LONGEST:
            failed[-1].append(line.strip())
    errors = [[line for line in lines if "rror" in line or "ail" in line] or lines for lines in failed]
    return "\n".join(prose), [lines[-1] for lines in errors if lines and _is_quotable(lines[-1])]


def _sentences(prose: str) -> list[str]:
    lines = [_BULLET.sub("", line).replace("**", "").strip(" *_") for line in prose.splitlines()]
    sentences = [s.strip() for line in lines for s in _SENTENCE_END.split(line)]
    return [s for s in sentences if SHORTEST <= len(s) <= LONGEST and _is_quotable(s)]


def _is_quotable(sentence: str) -> bool:
    """A summary of quotes must not sound like a party of the session: such answers are refused."""
    if _CODE.search(sentence) or chats(sentence) or refuses(sentence, 4):
        return False
    return not impersonates(sentence) and not leaks(sentence, {"": sentence})


def _budget(instructions: str) -> int | None:
    stated = [int(n.replace(",", "")) * (4 if unit == "words" else 3) // 3 for n, unit in _BUDGET.findall(instructions)]
    return min((n for n in stated if n >= 50), default=None)
