"""Briefings on the command line, of a session or of a file: secrets masked, to a terminal, a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from offturn.wording import several
from offturn_engine.handoff import briefing
from offturn_engine.mask import mask
from offturn_worker.cli.output import plain_lines, print_json, say, write_text
from offturn_worker.offline import Result


def briefed(text: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """The facts for `--json`: the text without secrets, how many there were, and what it is about."""
    masked = mask(text)
    return {**about, "masked": masked.count, "text": masked.text}


def briefing_of(result: Result) -> dict[str, Any]:
    """Of a compacted file: what a model wrote of it, if one was asked, and the facts of all of it."""
    limits = result.read.limits
    budgets = (limits.human, limits.ledger) if limits else (0, 0)
    text = briefing(result.read.path, result.record, human_budget=budgets[0], ledger_budget=budgets[1])
    return briefed(text, {"messages": result.messages_before, "method": result.method})


def print_briefing(facts: Mapping[str, Any], what: str, output: Path | None, *, as_json: bool) -> None:
    """To stdout, or to the file that `--output` names. Raises InvalidSetting."""
    if facts["masked"]:
        say(f"{what}: {several(facts['masked'], 'secret')} masked")
    if output:
        write_text(output, facts["text"] + "\n")
    if as_json:
        print_json(facts)
    elif output:
        say(f"written to {output}")
    else:
        sys.stdout.write((plain_lines(facts["text"]) if sys.stdout.isatty() else facts["text"]) + "\n")
