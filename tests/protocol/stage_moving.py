"""Steps of a stage that put another path in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from offturn.store.entries import NewEntry
from offturn_engine.ranges import in_order, seqs_of
from tests.protocol.facts import State, ancestors, chain_at, covered, gen


@dataclass
class Host:
    incarnation: int | None = None
    tail: tuple[int, str] = (0, "")
    pending: tuple[str, dict[str, Any]] | None = None  # a write whose reply was lost
    emergency: dict[str, Any] | None = None
    move: dict[str, Any] | None = None  # another path, for the state it was made for
    redactions: int = 0  # of the session when the tail was read
    marked: dict[str, Any] | None = None  # what to redact, for the state it was made for


class Stands(Protocol):
    """What the steps need of the stage."""

    state: State
    drawn: int

    def host(self, name: str) -> Host: ...

    def draw(self) -> int: ...

    def named(self, name: str) -> dict[str, Any]: ...

    def entry(self, host_id: str | None, value: str, tokens: int) -> NewEntry: ...

    def move(self, mode: str, count: int) -> dict[str, Any]: ...

    async def write(self, name: str, kind: str, fields: dict[str, Any], arguments: Sequence[str]) -> str: ...


class Moves:
    async def on_look(self: Stands, name: str, mode: str = "rewind", count: str = "1") -> str:
        """Make another path of the one that is there now."""
        self.host(name).move = self.move(mode, int(count))
        return "looked"

    async def on_undo(self: Stands, name: str, *arguments: str) -> str:
        """Move to the path looked for before, else to one of now."""
        given = [a for a in arguments if a != "lost"]
        move, self.host(name).move = self.host(name).move, None
        if move is None or given:
            mode, count = given or ("rewind", "1")
            move = self.move(mode, int(count))
        return await self.write(name, "undo", {**self.named(name), **move}, arguments)

    def move(self: Stands, mode: str, count: int) -> dict[str, Any]:
        """Less the last `count` messages, or with other ones in the place of the last but `count`.

        `amend`: one; `mirror`: two, of which the first takes over the id; `insert`: two, before it; `unfit`: the current
        generation does not hold on the path; `shadow`: it does not go in force. The first two hand over a pin.
        """
        s, entries = self.state, list[NewEntry]()
        order = list(seqs_of(s.path))
        place = max(0, len(order) - count)
        if mode in ("amend", "mirror", "insert"):
            host_id = (s.log[order[place]].host_id if mode != "insert" else None) or f"{self.draw()}"
            entries = [self.entry(host_id, f"amended {self.draw()}", 1 + count % 2)]
            if mode != "amend":
                entries.append(self.entry(f"{self.draw()}", f"more {self.drawn}", 1))
            order[place : place + (mode != "insert")] = range(len(s.log), len(s.log) + len(entries))
        else:
            order = order[:place]
        unfit = [s.current] if mode == "unfit" else []
        tokens = [item.tokens for item in s.log] + [entry.tokens for entry in entries]
        left = [n for n in ancestors(s, s.current) if gen(s, n) and n not in unfit and covered(s, n) <= set(order)]
        shown = set(order) - covered(s, left[0]) if left else set(order)
        return {
            "epoch": s.epoch,
            "length": len(s.log),
            "chain": chain_at(s, len(s.log)),
            "counter": s.counter,
            "path": in_order(order),
            "path_tokens": sum(tokens[seq] for seq in order),
            "open_calls": {},
            "unfit": unfit,
            "shown_tokens": sum(tokens[seq] for seq in shown),
            "shadow": mode == "shadow",
            "entries": entries,
            **({"config": f'{{"pins": {self.drawn}}}'} if mode in ("amend", "mirror") else {}),
        }
