"""`offturn session report ID --output PAGE.html`: the page about a session as it is shown now."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from offturn import CompactionClient
from offturn.cache import Cache
from offturn.links import Links
from offturn_engine.compaction import Compaction
from offturn_engine.fates import lineage
from offturn_engine.report import report as facts_of
from offturn_worker.cli.options import StoreUrl, Tenant
from offturn_worker.cli.output import say, write_text
from offturn_worker.cli.store import SessionId, existing, whole, with_links
from offturn_worker.reporting.page import html


def report(
    session_id: SessionId,
    output: Annotated[Path, typer.Option("--output", help="Write the page here, HTML that needs nothing else.")],
    store: StoreUrl = None,
    tenant: Tenant = None,
) -> None:
    """A page about the generation in force: sizes, summary, account, and what became of each message. Nothing changes."""

    async def work(client: CompactionClient, links: Links) -> str:
        session = await existing(client, session_id)
        cache = await whole(links, session.key)
        shown = cache.whole(await cache.pointed("adopted"))
        line = lineage(shown, await cache.records())
        return await asyncio.to_thread(_page, cache, line, session_id, cache.opened.policy.name)

    write_text(output, with_links(store, tenant, work))
    say(f"report written to {output}")


def add_to(app: typer.Typer) -> None:
    """The command joins those that look at sessions."""
    app.command("report")(report)


def _page(cache: Cache, line: tuple[Compaction, ...], session_id: str, policy: str) -> str:
    facts = facts_of(cache.path, line, cache.fmt, redacted=cache.redacted())
    number = line[0].number
    return html(
        facts,
        title=f"Session {session_id}",
        policy=policy,
        outcome="as it is shown" if number else "the transcript itself",
    )
