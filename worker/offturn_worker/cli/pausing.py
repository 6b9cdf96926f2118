"""`offturn pause|resume`: keep workers from a tenant's sessions, or from all, for a while."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated

import typer

from offturn import CompactionClient, InvalidSetting
from offturn.links import Links
from offturn.store.pausing import Pause, Pauses, held
from offturn_worker.cli.options import EveryTenant, StoreUrl
from offturn_worker.cli.output import out, print_json, say
from offturn_worker.cli.store import AsJson, with_links

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
DURATION = re.compile(r"(\d{1,9})([smhd]?)\Z")


def pause(
    reason: Annotated[str, typer.Option("--reason", help="Shown wherever the pause is; no session's content.")] = "",
    duration: Annotated[
        str | None, typer.Option("--for", help="It ends by itself: 90s, 30m, 2h, 1d. Else `resume` ends it.")
    ] = None,
    store: StoreUrl = None,
    tenant: EveryTenant = None,
    as_json: AsJson = False,
) -> None:
    """Workers begin nothing from a second later on; running jobs finish. Sessions stay due, and hosts go on."""
    seconds = None if duration is None else _seconds(duration)

    async def work(_: CompactionClient, links: Links) -> Pause:
        return await Pauses(links.redis).begin(tenant, seconds=seconds, reason=reason)

    made = with_links(store, tenant, work)
    if as_json:
        print_json(asdict(made))
        return
    out.print(f"paused: {made.told}", markup=False)
    option = f" --tenant {tenant}" if tenant else ""
    say(f"running jobs finish; to go on: offturn resume{option}")


def resume(store: StoreUrl = None, tenant: EveryTenant = None, as_json: AsJson = False) -> None:
    """Workers go on; what is due begins at their next sweep, about a second later."""

    async def work(_: CompactionClient, links: Links) -> tuple[bool, list[Pause]]:
        pauses = Pauses(links.redis)
        return await pauses.end(tenant), await pauses.every()

    ended, left = with_links(store, tenant, work)
    if as_json:
        print_json({"tenant": tenant, "resumed": ended, "pauses": [asdict(one) for one in left]})
        return
    who = "all tenants" if tenant is None else f"tenant {tenant}"
    out.print(f"{who}: {'resumed' if ended else 'was not paused'}", markup=False)
    for one in left:
        if tenant is None or held([one], tenant):
            say(f"still paused: {one.told}")


def _seconds(text: str) -> float:
    if not (found := DURATION.match(text.strip().lower())):
        raise InvalidSetting(f"--for {text!r:.40}: use a number with s, m, h or d, such as 30m")
    return int(found[1]) * UNITS[found[2]]
