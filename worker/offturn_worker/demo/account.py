"""The account of a run: counted from what was sent and what the session gives back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offturn import Session
from offturn.config import ANY_WINDOW
from offturn.inspecting import Generation
from offturn_engine.messages import RawMessage
from offturn_worker.demo.play import Turn
from offturn_worker.demo.recorded import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """`lost`, `altered`: messages of the raw transcript (generation 0) that are missing, or not what was sent."""

    messages_sent: int
    lost: int
    altered: int
    generations: int
    tokens_before: int
    tokens_after: int
    longest_wait_ms: float
    compactions: list[dict[str, Any]]


async def account(session: Session, recording: Recording, turns: Sequence[Turn]) -> Account:
    """Reads the raw transcript back and compares it with what was sent."""
    raw = await session.view(generation=0, window=ANY_WINDOW)
    kept = await session.generations()
    numbers = {one.number: one for one in kept}
    return Account(
        messages_sent=len(recording.messages),
        lost=max(0, len(recording.messages) - len(raw.messages)),
        altered=sum(1 for sent, got in zip(recording.messages, raw.messages, strict=False) if sent != got),
        generations=len(kept),
        tokens_before=raw.tokens,
        tokens_after=turns[-1].view.tokens,
        longest_wait_ms=round(max(turn.waited for turn in turns), 1),
        compactions=[
            {
                "number": one.number,
                "reason": one.reason,
                "method": one.method,
                "covered": [list(pair) for pair in one.covered],
                "replaces": one.replaces,
                "update": _updates(one, numbers.get(one.replaces)),
                "provisional": one.provisional,
            }
            for one in kept
        ],
    )


def _updates(one: Generation, replaced: Generation | None) -> bool:
    """Did it update a summary: cover more than one that covered something?"""
    return replaced is not None and bool(replaced.covered) and one.covered != replaced.covered


def ours(folder: Path) -> bool:
    """Did a demo write this folder?"""
    return (folder / "account.json").is_file() and (folder / "sent.jsonl").is_file()


def write(folder: Path, recording: Recording, turns: Sequence[Turn], facts: dict[str, Any]) -> None:
    """sent.jsonl, views/NNNN.json, constraints.txt and account.json: everything a checker needs."""
    (folder / "views").mkdir(parents=True, exist_ok=True)
    for old in (folder / "views").glob("*.json"):  # an earlier demo's
        old.unlink()
    (folder / "sent.jsonl").write_text("".join(_line(message) for message in recording.messages), encoding="utf-8")
    (folder / "constraints.txt").write_text("\n".join(recording.constraints) + "\n", encoding="utf-8")
    (folder / "account.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    for turn in turns:
        value = {
            "turn": turn.number,
            "generation": turn.view.generation,
            "messages": list(turn.view.messages),
            "system": turn.view.system,
        }
        (folder / "views" / f"{turn.number:04}.json").write_text(json.dumps(value) + "\n", encoding="utf-8")


def _line(message: RawMessage) -> str:
    return json.dumps(message) + "\n"
