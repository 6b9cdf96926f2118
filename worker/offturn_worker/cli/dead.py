"""`offturn session list --parked`: what is worked on no more, since when and why."""

from __future__ import annotations

from dataclasses import asdict

from offturn import CompactionClient
from offturn.store.dead import DeadLetter
from offturn_worker.cli.output import print_json, print_table, say, when
from offturn_worker.cli.store import with_client


def list_parked(store: str | None, tenant: str | None, as_json: bool) -> None:
    """Longest first; never content."""

    async def work(client: CompactionClient) -> list[DeadLetter]:
        return await client.parked()

    letters = with_client(store, tenant, work)
    if as_json:
        print_json([_facts(letter) for letter in letters])
        return
    print_table(
        ("session", "since", "attempts", "why", "workers"),
        [(letter.key.session, when(letter.since), letter.attempts, letter.why, _workers(letter)) for letter in letters],
    )
    for letter in letters:
        say(f"session {letter.key.session}: to try again: offturn session unblock {letter.key.session}")


def _facts(letter: DeadLetter) -> dict[str, object]:
    facts = {"session": letter.key.session, "since": letter.since, "reason": letter.reason}
    return {**facts, "attempts": letter.attempts, "why": letter.why, "ends": [asdict(end) for end in letter.ends]}


def _workers(letter: DeadLetter) -> str:
    return ", ".join(sorted({end.worker for end in letter.ends if end.worker}))
