"""Another generation in force: first what it would come to, then, on a confirmation, the rollback."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from offturn import InvalidSetting, Refused
from offturn_http.page.desk import HEADERS, STEERS, Desk
from offturn_http.page.reading import NoSession


async def ask(desk: Desk) -> Response:
    """What would change."""
    desk.require(STEERS)
    return await _form(desk, desk.number("generation", 0))


async def roll(desk: Desk) -> Response:
    """Do it. Where the view is above the policy's ceiling, the form comes again and asks for more."""
    desk.require(STEERS)
    fields = await desk.form()
    number = fields.get("generation", "")
    if not number.isdecimal() or len(number) > 9:
        raise NoSession("no generation is named")
    session = await desk.session()
    try:
        await session.rollback(generation=int(number), force=fields.get("force") == "yes")
    except (Refused, InvalidSetting) as error:
        return await _form(desk, int(number), str(error))
    done = urlencode({"id": session.key.session, "done": number})
    return RedirectResponse(f"/session?{done}", 303, HEADERS)


async def _form(desk: Desk, number: int, refused: str = "") -> Response:
    read = await desk.read()
    meta, real = read.meta, read.real
    record = read.record(number)
    return desk.render(
        "rollback.html",
        409 if refused else 200,
        read=read,
        record=record,
        now=real(meta.tokens_of(meta.adopted)),
        then=real(meta.tokens_of(number)),
        ceiling=read.config.limits.ceiling,
        refused=refused,
        possible=read.can_be_in_force(number),
    )
