"""The page of what was found, from the findings alone: no times, no places of the machine it ran on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from offturn_config.presets import names
from offturn_engine.files import NAMES
from tests.formats.run import Found

PAGE = Path(__file__).parents[2] / "docs/formats.md"

HEAD = """# Transcript files

`offturn compact FILE` and `offturn import FILE --session ID` read the session files of other hosts. Made by
`make formats`, which reads every file of a collection of recorded transcripts, compacts each conversation with every
policy (without a model), checks all invariants, and exits with 1 where one does not hold.

## How a file is recognised
By what its first 200 records hold, never by its name. Readers are asked from the most particular layout to the most
general, and the first that knows a record for its own takes the file; the file's first lines decide, so a file that holds two formats
is refused at the first line that does not belong, with its number. `--format NAME` skips the asking: {names}.

A file may be JSON, JSON lines, the SQLite database of OpenCode, an `.eval` archive of Inspect, or the folder in which
OpenHands' SDK keeps a conversation, or an [export](ops/retention.md#exports) of offturn's own; `-` reads standard input. It is read as a stream, several times where the layout
asks for it, in bounded memory: a line of more than {longest} MB, and messages of more than {largest} MB, are refused with
the number of the line or message, and with what helps. Lines that a host broke off while it wrote are skipped and
counted; text that is not UTF-8 is refused with its line (in a database its characters are replaced), a packed file with
what it is.

## What is read
The live branch of a session, each message once. What a host keeps beside messages (screen events, snapshots, repeated
results, usage) is not counted as content. What it put into the user's role is not taken for a human's words. Missing
results and calls are made up for, and each repair is counted in the notes of the command's output. Of several
conversations in a file (agents, simulations, samples) the main one comes first; `--index` chooses.

Where a host told the input tokens that its provider counted, `import` gives them to the session as a live host would:
its estimates are calibrated from the first view on.

## Compactions of the host's own
| reader | message format | its own compactions |
|---|---|---|
{compactions}

A compaction that can be one becomes a generation of the session, method `imported`: the host's summary as its prose, and
beside it the facts and the human's words, put there by code as in every generation. `offturn session show` lists it, and `offturn session rollback ID --generation N` goes back to it, or to 0, the raw transcript. It covers
what the host's summary stood for; where that would part a call from its result, up to the last place before that does
not. One is left out, with a note, where only the provider can read it, where nothing comes before what it kept, or where
the one before covers as much. `compact` starts from the newest of them, as the host's model would have.

## What was found
Tokens are estimates, before and after, the least and the most that a policy leaves; without a model the facts taken by
code are the summary.
"""
COMPACTIONS = {
    "claude-code": ("anthropic", "a boundary and the summary after it; what it names as preserved stays"),
    "pi": ("anthropic", "entries of type compaction; from the first kept entry on all stays"),
    "codex": ("openai-responses", "`compacted` lines with a text; an encrypted item is left out with a note"),
    "copilot": ("openai-chat", "the event that a compaction is complete, with its summary"),
    "kimi": ("openai-chat", "its compaction records"),
    "hermes": ("openai-chat", "summaries stand among the messages, as the host's: they stay messages"),
    "cline": ("anthropic", "its compaction messages; one at the file's beginning stays a message"),
    "opencode": ("anthropic", "a message with a compaction part, and the summary that answers it"),
    "gemini-cli": ("gemini", "a history that was replaced by a summary"),
    "qwen-code": ("gemini", "records of chat compression"),
    "openhands": ("openai-chat", "condensations with a summary"),
    "openhands-v1": ("openai-chat", "condensations with a summary"),
    "swe-agent, tau2, inspect, taubench": ("openai-chat", "none"),
    "text-observation, anthropic, gemini, openai-chat": ("the same", "none: what stands there are messages"),
}


def page(found: Sequence[Found], *, longest: int, largest: int) -> str:
    """The whole page; `longest` and `largest` in MB."""
    compactions = "\n".join(f"| {name} | {fmt} | {told} |" for name, (fmt, told) in COMPACTIONS.items())
    known = ", ".join(f"`{name}`" for name in NAMES)
    head = HEAD.format(names=known, longest=longest, largest=largest, compactions=compactions)
    rows = table(
        ("file", "reader", "conversations", "messages", "human", "calls", "results", "generations", "before", "after"),
        (_row(one) for one in found if one.conversations),
    )
    none = [f"- `{one.file}`: {one.refused or 'no conversation'}" for one in found if not one.conversations]
    parts = [head, rows, "\nWithout a conversation:\n", "\n".join(none), "\n## By policy\n", _policies(found)]
    return "\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """As markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _row(one: Found) -> Sequence[object]:
    told = f"{one.generations} of {one.told}" if one.told != one.generations else one.told
    before, after = one.before.values(), one.after.values()
    return (
        f"`{one.file}`",
        one.reader,
        one.conversations,
        one.messages,
        one.human,
        one.calls,
        one.results,
        told,
        _span(before),
        _span(after),
    )


def _span(values: Iterable[int]) -> str:
    known = [*values]
    least, most = min(known), max(known)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _policies(found: Sequence[Found]) -> str:
    return table(
        ("policy", "tokens before", "tokens after", "outcomes"),
        (
            (f"`{name}`", f"{_sum(found, name, 'before'):,}", f"{_sum(found, name, 'after'):,}", _outcomes(found, name))
            for name in names()
        ),
    )


def _sum(found: Sequence[Found], policy: str, which: str) -> int:
    return sum(getattr(one, which)[policy] for one in found)


def _outcomes(found: Sequence[Found], policy: str) -> str:
    counted = sum((one.outcomes.get(policy, Counter()) for one in found), Counter[str]())
    return ", ".join(f"{count} {name}" for name, count in counted.most_common())
