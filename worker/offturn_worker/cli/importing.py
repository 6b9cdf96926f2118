"""`offturn import FILE --session ID`: a transcript file becomes a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from offturn import CompactionClient
from offturn.entries import prepare
from offturn_config.errors import InvalidSetting
from offturn_config.presets import DEFAULT
from offturn_engine.files import Conversation, read
from offturn_engine.formats import get
from offturn_worker.cli.compacting import File, FormatName, numbered, read_file
from offturn_worker.cli.options import StoreUrl, Tenant, named_as_given
from offturn_worker.cli.output import out, print_json, progress
from offturn_worker.cli.store import AsJson, with_client

BATCH = 100


def import_file(
    file: File,
    session: Annotated[str, typer.Option("--session", help="Id of the new session.")],
    format_name: FormatName = None,
    policy: Annotated[str, typer.Option(help="See `offturn policies`.")] = DEFAULT,
    window: Annotated[int, typer.Option(min=1, help="Context window of the host's model, in tokens.")] = 200_000,
    index: Annotated[int | None, typer.Option(min=0, help="Which conversation of the file.")] = None,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Record a transcript file as a new session. Nothing is compacted before its trigger says so."""
    chosen = _chosen(read(read_file(file), format=format_name), index)
    prepare(chosen.messages, None, get(chosen.format), None)  # a bad message is refused before any is recorded

    async def work(client: CompactionClient) -> dict[str, object]:
        with named_as_given(policy=policy, window=window):
            handle = client.session(session, format=chosen.format, policy=policy, window=window)
        if await client.stored_config(session) is not None:
            raise InvalidSetting(f"--session {session!r}: it exists already; choose another id")
        with progress(f"recording {len(chosen.messages)} messages"):
            batches = range(0, len(chosen.messages), BATCH)
            recorded = [await handle.record(chosen.messages[i : i + BATCH]) for i in batches]
        return _facts(chosen, recorded[-1].requirement, session)

    facts = with_client(store, tenant, work, create=True)
    if as_json:
        print_json(facts)
    else:
        out.print("  ".join(f"{name} {value}" for name, value in facts.items() if value != ""), markup=False)


def _chosen(conversations: Sequence[Conversation], index: int | None) -> Conversation:
    if not conversations:
        raise InvalidSetting("FILE: the file holds no conversation")
    if index is None and len(conversations) > 1:
        raise InvalidSetting(f"FILE: the file holds {len(conversations)} conversations: choose one with --index")
    return numbered(conversations, index or 0)


def _facts(chosen: Conversation, requirement: str, session: str) -> dict[str, object]:
    return {
        "session": session,
        "messages": len(chosen.messages),
        "format": chosen.format,
        "from": chosen.source_format,
        "requirement": requirement,
        "notes": "; ".join(chosen.notes),
    }
